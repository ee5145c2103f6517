// A data set's folder from the outside: what it is, a run of it, a conversion, a study over all of it. The
// set is SimCol3D's layout (its files need no library), written from a simulated colon.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/png.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 30;

std::string FrameName(const char* format, int frame) {
  char text[64];
  std::snprintf(text, sizeof(text), format, frame);
  return text;
}

// Unity's world is the mirror of ours along y, in cm.
void WritePoses(const FrameSource& source, const fs::path& set, const std::string& trajectory) {
  std::ofstream positions(set / ("SavedPosition_" + trajectory + ".txt"));
  std::ofstream rotations(set / ("SavedRotationQuaternion_" + trajectory + ".txt"));
  positions.precision(17);
  rotations.precision(17);
  const Eigen::Matrix3d mirror = Eigen::Vector3d(1, -1, 1).asDiagonal();
  for (const TimedPose& pose : *source.Info().truth) {
    const Eigen::Vector3d t = mirror * pose.world_from_camera.Translation() / 10;
    const Eigen::Quaterniond q(Eigen::Matrix3d(mirror * pose.world_from_camera.RotationMatrix() * mirror));
    positions << t.x() << ' ' << t.y() << ' ' << t.z() << '\n';
    rotations << q.x() << ' ' << q.y() << ' ' << q.z() << ' ' << q.w() << '\n';
  }
}

void WriteSet(const fs::path& sequence, const fs::path& set, const std::string& trajectory) {
  const auto source = OpenInput(sequence, {});
  const fs::path frames = set / ("Frames_" + trajectory);
  fs::create_directories(frames);
  while (const auto frame = source->Next()) {
    const auto index = static_cast<int>(frame->index);
    SavePng(frames / FrameName("FrameBuffer_%04d.png", index), frame->image);
    const DepthImage depth = *source->LoadDepth(frame->index);
    Image<uint16_t> stored(depth.Width(), depth.Height());
    for (size_t i = 0; i < depth.Size(); ++i)
      stored.Data()[i] = static_cast<uint16_t>(std::lround(std::min(200.0F, depth.Data()[i]) * 65280 / 200));
    SavePng(frames / FrameName("Depth_%04d.png", index), stored);
  }
  WritePoses(*source, set, trajectory);
  const PinholeCamera& k = *source->Info().camera->AsPinhole();
  std::ofstream cam(set / "cam.txt");
  cam.precision(17);
  cam << k.fx << " 0 " << k.cx << "\n0 " << k.fy << " " << k.cy << "\n0 0 1\n";
}

class DatasetCli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const std::string sequence = (folder_->Path() / "sim").string();
    ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", sequence,
                                " --no-model --anatomy colon --seed 931 --size 160x128 "
                                "--path insertion --frames ",
                                kFrames))
                  .code,
              0);
    WriteSet(sequence, Set(), "S1");
    WriteSet(sequence, Set(), "S2");
  }
  static void TearDownTestSuite() { delete folder_; }
  static fs::path Set() { return folder_->Path() / "SyntheticColon_I"; }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }

  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(DatasetCli, InfoListsTheSequencesAndDescribesOne) {
  const CommandResult list = RunCommand(StrCat("lumen info ", Set().string()));
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_NE(list.out.find("2 sequences"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("Frames_S2"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("SimCol3D"), std::string::npos) << list.out;
  const CommandResult one = RunCommand(StrCat("lumen -q info ", Set().string(), " --sequence Frames_S1"));
  EXPECT_EQ(one.code, 0) << one.err;
  for (const char* line : {"a sequence of SimCol3D", "160x128", "pinhole", "30, a path of", " mm over "})
    EXPECT_NE(one.out.find(line), std::string::npos) << line << "\n" << one.out;
}

TEST_F(DatasetCli, SeveralSequencesAskForAChoice) {
  const CommandResult none = RunCommand(StrCat("lumen -q run ", Set().string(), " --out ", Path("none")));
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("choose with --sequence: Frames_S1, Frames_S2"), std::string::npos) << none.err;
  EXPECT_FALSE(fs::exists(Path("none")));
}

TEST_F(DatasetCli, ConvertKeepsPosesAndDepth) {
  const CommandResult result = RunCommand(
      StrCat("lumen -q convert ", Set().string(), " ", Path("converted"), " --sequence Frames_S1"));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto converted = OpenInput(Path("converted"), {}), truth = OpenInput(Path("sim"), {});
  ASSERT_EQ(converted->Info().truth->size(), static_cast<size_t>(kFrames));
  for (size_t i = 0; i < static_cast<size_t>(kFrames); i += 7) {
    const Rigid3& a = (*converted->Info().truth)[i].world_from_camera;
    const Rigid3& b = (*truth->Info().truth)[i].world_from_camera;
    EXPECT_LT((a.Translation() - b.Translation()).norm(), 1e-4);
    EXPECT_LT((a.RotationMatrix() - b.RotationMatrix()).norm(), 1e-6);
  }
  const DepthImage a = *converted->LoadDepth(3), b = *truth->LoadDepth(3);
  for (size_t i = 0; i < a.Size(); i += 97) EXPECT_NEAR(a.Data()[i], b.Data()[i], 0.01);
}

// Both sequences are the same, so both have the same grades, by our protocol and by the set's own.
TEST_F(DatasetCli, AStudyGradesAllOfItWithItsOwnProtocol) {
  const CommandResult result = RunCommand(StrCat("lumen -q study suite ", Set().string(), " --out ",
                                                 Path("study"), " --jobs 2 --run-arg=--no-surface"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("ATE, chained"), std::string::npos) << result.out;
  const Json study = Json::Load(Path("study") + "/study.json");
  const auto& entries = study.At("cells").AsArray();
  ASSERT_EQ(entries.size(), 2U);
  for (const Json& entry : entries) {
    const Json& grades = entry.At("grades");
    EXPECT_LT(grades.At("ate_percent").AsDouble(), 10);
    EXPECT_GT(grades.At("chained_ate").AsDouble(), 0);
    EXPECT_GT(grades.At("depth_l1").AsDouble(), 0);
    EXPECT_EQ(grades.At("chained_ate").AsDouble(), entries[0].At("grades").At("chained_ate").AsDouble());
  }
}

}  // namespace
}  // namespace lumen
