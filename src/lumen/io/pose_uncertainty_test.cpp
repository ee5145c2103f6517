#include "lumen/io/pose_uncertainty.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

namespace lumen {
namespace {

TEST(PoseUncertainty, ComesBackAsItWasWritten) {
  const TemporaryFolder folder;
  PlaceCovariance covariance = PlaceCovariance::Zero();
  covariance.diagonal() << 0.01, 0.04, 0.09, 1e-4, 4e-4, 9e-4, 0.25;
  const PoseSigma sigma = MakePoseSigma(1.5, covariance);
  EXPECT_NEAR(sigma.position.z(), 0.3, 1e-12);
  EXPECT_NEAR(sigma.turn_degrees.x(), 0.01 * 57.29578, 1e-6);
  SavePoseSigmas(folder.Path() / "poses.csv", {sigma, sigma});
  const std::vector<PoseSigma> poses = LoadPoseSigmas(folder.Path() / "poses.csv");
  ASSERT_EQ(poses.size(), 2U);
  EXPECT_EQ(poses[1].time, 1.5);
  EXPECT_LT((poses[1].position - sigma.position).norm(), 1e-6);
  EXPECT_LT((poses[1].turn_degrees - sigma.turn_degrees).norm(), 1e-5);
  EXPECT_NEAR(poses[1].scale, 0.5, 1e-6);
  PoseSigma doubtful = sigma;
  doubtful.off_probability = 0.125;
  EXPECT_LT(poses[0].off_probability, 0);  // not told
  SavePoseSigmas(folder.Path() / "frames.csv", {doubtful});
  EXPECT_EQ(LoadPoseSigmas(folder.Path() / "frames.csv").at(0).off_probability, 0.125);
  SaveStepSigmas(folder.Path() / "steps.csv", {{0.25, sigma}});
  const std::vector<StepSigma> steps = LoadStepSigmas(folder.Path() / "steps.csv");
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].from, 0.25);
  EXPECT_EQ(steps[0].sigma.time, 1.5);
}

TEST(PoseUncertainty, LinesThatMakeNoSenseAreRefused) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.Path() / "poses.csv";
  for (const char* line : {"1,2,3", "1,2,3,4,5,6,7,8,9", "1,2,3,4,5,6,7,8,-0.5", "1,2,3,4,5,6,7,8,0.5,1",
                           "1,2,3,4,x,6,7,8", "1,2,3,4,nan,6,7,8", "1,2,-3,4,5,6,7,8"}) {
    WriteFileAtomically(path, std::string("time\n") + line + "\n");
    EXPECT_THROW(LoadPoseSigmas(path), InputError) << line;
  }
  WriteFileAtomically(path, "");
  EXPECT_TRUE(LoadPoseSigmas(path).empty());
}

}  // namespace
}  // namespace lumen
