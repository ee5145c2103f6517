#include "lumen/io/run_keyframes.h"

#include <gtest/gtest.h>

#include "lumen/base/file.h"
#include "lumen/io/run_writer.h"

namespace lumen {
namespace {

const Camera kCamera(PinholeCamera{20, 20, 9.5, 7.5}, 20, 16);

// Keyframes at frames 0 and 3, one unit apart, looking at a wall at depth 2.
RunFolder WriteTwoKeyframes(const std::filesystem::path& folder, bool with_events,
                            const Camera& camera = kCamera) {
  Json summary = Json::MakeObject();
  summary[run_key::kDepthScale] = kRunDepthScale;
  summary[run_key::kCamera] = CameraToJson(camera);
  RunWriter writer(folder, "", summary);
  Trajectory keyframes;
  for (const int frame : {0, 3}) {
    keyframes.push_back({frame / 30.0, Rigid3(Eigen::Quaterniond::Identity(), {frame / 3.0, 0, 0})});
    writer.WriteDepth(frame, DepthImage(20, 16, 1, 2.0F));
    RgbImage image(40, 32, 3, 0);
    for (size_t i = 0; i < image.Size(); i += 3) image.Data()[i] = 200;
    if (frame == 0) writer.WriteImage(frame, image);
  }
  writer.WriteTrajectories(keyframes, keyframes);
  for (int frame = 0; with_events && frame < 5; ++frame) {
    Json line = Json::MakeObject();
    line["frame"] = frame;
    line["time"] = frame / 30.0;
    line["status"] = "tracked";
    writer.AppendEvent(line);
  }
  return ReadRunFolder(folder);
}

TEST(RunKeyframes, FindTheirFrameByItsTimeOrElseByTheOrder) {
  for (const bool with_events : {true, false}) {
    const TemporaryFolder folder;
    const auto keyframes = ListRunKeyframes(WriteTwoKeyframes(folder.Path() / "run", with_events));
    ASSERT_EQ(keyframes.size(), 2U);
    EXPECT_EQ(keyframes[1].frame, 3);
    EXPECT_EQ(keyframes[1].depth.filename(), "000003.png");
    EXPECT_FALSE(keyframes[0].image.empty());
    EXPECT_TRUE(keyframes[1].image.empty());
  }
}

TEST(RunKeyframes, CloudLiesWhereTheDepthSays) {
  const TemporaryFolder folder;
  const RunFolder run = WriteTwoKeyframes(folder.Path() / "run", true);
  const TriangleMesh cloud = MakeRunCloud(run, 1000000);
  ASSERT_EQ(cloud.vertices.size(), 2U * 20 * 16);
  EXPECT_NEAR(cloud.vertices[0].x(), -0.95, 1e-3);
  EXPECT_NEAR(cloud.vertices[320].x(), 0.05, 1e-3);
  for (const Eigen::Vector3f& point : cloud.vertices) EXPECT_NEAR(point.z(), 2, 1e-3);
  EXPECT_EQ(cloud.colors[0], (std::array<uint8_t, 3>{200, 0, 0}));
  EXPECT_EQ(cloud.colors[320], (std::array<uint8_t, 3>{160, 160, 160}));
}

// Files hold depth along z, whatever the lens.
TEST(RunKeyframes, CloudOfAFisheyeLiesWhereTheDepthSays) {
  const TemporaryFolder folder;
  const Camera fisheye(UnifiedCamera{9, 9, 9.5, 7.5, 0.6}, 20, 16);
  const RunFolder run = WriteTwoKeyframes(folder.Path() / "run", true, fisheye);
  ASSERT_TRUE(run.depth_camera);
  EXPECT_EQ(*run.depth_camera, fisheye);
  const TriangleMesh cloud = MakeRunCloud(run, 1000000);
  ASSERT_EQ(cloud.vertices.size(), 2U * 20 * 16);
  for (const Eigen::Vector3f& point : cloud.vertices) EXPECT_NEAR(point.z(), 2, 2e-3);
  const Eigen::Vector2d corner = *fisheye.Project(cloud.vertices[0].cast<double>());
  EXPECT_LT((corner - Eigen::Vector2d(0, 0)).norm(), 1e-3);
}

TEST(RunKeyframes, CloudIsThinnedToWhatIsAskedFor) {
  const TemporaryFolder folder;
  const RunFolder run = WriteTwoKeyframes(folder.Path() / "run", true);
  const size_t points = MakeRunCloud(run, 200).vertices.size();
  EXPECT_GT(points, 50U);
  EXPECT_LE(points, 200U);
}

TEST(RunKeyframes, CloudIsEmptyWithoutACamera) {
  const TemporaryFolder folder;
  RunFolder run = WriteTwoKeyframes(folder.Path() / "run", true);
  run.depth_camera.reset();
  EXPECT_TRUE(MakeRunCloud(run, 1000).vertices.empty());
}

}  // namespace
}  // namespace lumen
