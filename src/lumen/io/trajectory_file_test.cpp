#include "lumen/io/trajectory_file.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/io/calibration.h"

namespace lumen {
namespace {

Trajectory RandomTrajectory(int count) {
  Random random(1);
  Trajectory trajectory;
  for (int i = 0; i < count; ++i) {
    Vector6d tangent;
    for (int k = 0; k < 6; ++k) tangent[k] = random.Normal();
    trajectory.push_back({i / 30.0, Rigid3::Exp(tangent)});
  }
  return trajectory;
}

void ExpectSame(const Trajectory& a, const Trajectory& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i].time, b[i].time, 1e-8);
    EXPECT_LT((a[i].world_from_camera.Matrix() - b[i].world_from_camera.Matrix()).norm(), 1e-7);
  }
}

std::string TrajectoryFault(const std::string& text) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "t.tum", text);
  try {
    LoadTrajectory(folder.Path() / "t.tum");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TrajectoryFile, EveryFormatReadsBack) {
  const TemporaryFolder folder;
  const Trajectory truth = RandomTrajectory(20);
  SaveTrajectory(folder.Path() / "a.tum", truth);
  ExpectSame(LoadTrajectory(folder.Path() / "a.tum"), truth);
  SaveTrajectoryKitti(folder.Path() / "a.txt", truth);
  ExpectSame(LoadTrajectory(folder.Path() / "a.txt", 30), truth);
  SaveTrajectoryColmap(folder.Path() / "model", truth, Camera::FromFieldOfView(77, 160, 128));
  ExpectSame(LoadTrajectory(folder.Path() / "model/images.txt", 30), truth);
}

TEST(TrajectoryFile, ColmapsImagesComeInTheOrderOfTheirNumbers) {
  const std::string pose = " 1 0 0 0 0 0 0 1 ";
  const Trajectory read = ParseTrajectory("1" + pose + "10.png\n\n2" + pose + "9.png\n\n", "images.txt", 10);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].time, 0.9);
  EXPECT_EQ(read[1].time, 1.0);
}

TEST(TrajectoryFile, ALineIsWholeHoweverLongItsNumbers) {
  const std::string line =
      FormatTumLine({1e300, Rigid3(Eigen::Quaterniond::Identity(), {-1e-300, 1e300, 1})});
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(TrajectoryFault(line), "");
}

// COLMAP knows no unified camera: what is written is its fisheye, and shows the same.
TEST(TrajectoryFile, AWideViewGoesToColmapAsAFisheye) {
  const TemporaryFolder folder;
  const Camera view(UnifiedCamera{35, 35, 39.5, 31.5, 0.62}, 80, 64);
  SaveTrajectoryColmap(folder.Path(), {{0, Rigid3()}}, view);
  const Camera read = LoadCalibration(folder.Path() / "cameras.txt");
  EXPECT_EQ(read.ModelName(), "kannala_brandt");
  for (int y = 0; y < 64; y += 7) {
    for (int x = 0; x < 80; x += 7) {
      const Eigen::Vector3d ray = *view.Unproject({x, y});
      if (ray.z() < 0.1) continue;
      EXPECT_LT((*read.Project(ray) - Eigen::Vector2d(x, y)).norm(), 0.01) << x << " " << y;
    }
  }
}

TEST(TrajectoryFile, FaultsNameTheLine) {
  EXPECT_NE(TrajectoryFault("0 0 0 0 0 0 0 1\n1 nan 0 0 0 0 0 1\n")
                .find("line 2: holds a number that is not finite"),
            std::string::npos);
  EXPECT_NE(TrajectoryFault("0 0 0 0 0 0 0 2\n").find("line 1: the quaternion's length is 2"),
            std::string::npos);
  EXPECT_NE(TrajectoryFault("1 0 0 0 0 0 0 1\n0 0 0 0 0 0 0 1\n").find("line 2: time goes backwards"),
            std::string::npos);
  EXPECT_NE(TrajectoryFault("0 0 0 0 0 0 0 x\n").find("\"x\" is not a number"), std::string::npos);
  EXPECT_NE(TrajectoryFault("0 0 0\n").find("3 columns"), std::string::npos);
  EXPECT_NE(TrajectoryFault("0 0 0 0 0 0 0 1\n1 0 0 0 0 0 1\n").find("line 2: 7 columns, not 8"),
            std::string::npos);
  EXPECT_NE(TrajectoryFault("# nothing\n").find("holds no poses"), std::string::npos);
  EXPECT_NE(TrajectoryFault("1 0 0 0 0 2 0 0 0 0 1 0\n").find("not a rotation"), std::string::npos);
  EXPECT_NE(TrajectoryFault("1e200 1e200 0 0 -1e200 1e200 0 0 0 0 1 0\n").find("not a rotation"),
            std::string::npos)
      << "nor if its squares are beyond numbers";
}

}  // namespace
}  // namespace lumen
