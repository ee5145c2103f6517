// `lumen convert` with what structure from motion says: poses and points of a COLMAP model, dense depth
// beside them, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/sequence_folder.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

// A short simulated nose and the model COLMAP would make of it, had it been perfect.
class ColmapConvert : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path("seq"),
                                " --anatomy nasal --seed 955 --frames 6 --size 160x128"))
                  .code,
              0);
    source_ = OpenInput(Path("seq"), {}).release();
    WriteModel(Path("colmap"), "rgb/");
  }
  static void TearDownTestSuite() {
    delete source_;
    delete folder_;
  }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }

  // Every eighth pixel of each frame is a point of its own. The last frame was not registered, and one image
  // is not in the folder.
  static void WriteModel(const fs::path& folder, const std::string& prefix, const char* camera = nullptr) {
    const SourceInfo& info = source_->Info();
    const PinholeCamera lens = *info.camera->AsPinhole();
    fs::create_directories(folder);
    WriteFileAtomically(folder / "cameras.txt",
                        camera != nullptr
                            ? std::string(camera)
                            : StrCat("1 PINHOLE ", info.width, " ", info.height, " ", FormatDouble(lens.fx),
                                     " ", FormatDouble(lens.fy), " ", FormatDouble(lens.cx + 0.5), " ",
                                     FormatDouble(lens.cy + 0.5), "\n"));
    std::string images = "9 1 0 0 0 0 0 0 1 " + prefix + "gone.png\n\n", points;
    int number = 0;
    for (int k = 0; k < 5; ++k) {
      const Rigid3& pose = (*info.truth)[static_cast<size_t>(k)].world_from_camera;
      const Rigid3 inverse = pose.Inverse();
      const auto& q = inverse.Rotation();
      const auto& t = inverse.Translation();
      images += StrCat(k + 1);
      for (const double value : {q.w(), q.x(), q.y(), q.z(), t.x(), t.y(), t.z()})
        images += " " + FormatDouble(value);
      images += StrCat(" 1 ", prefix, "00000", k, ".png\n");
      const DepthImage depth = *source_->LoadDepth(k);
      for (int y = 4; y < depth.Height(); y += 8) {
        for (int x = 4; x < depth.Width(); x += 8) {
          if (!(depth(x, y) > 0)) continue;
          const Eigen::Vector3d ray = *lens.Unproject({x, y});
          const Eigen::Vector3d place = pose * (ray * (static_cast<double>(depth(x, y)) / ray.z()));
          points += StrCat(++number, " ", FormatDouble(place.x()), " ", FormatDouble(place.y()), " ",
                           FormatDouble(place.z()), " 0 0 0 0.5 1 0 2 0\n");
          images += StrCat(x + 0.5, " ", y + 0.5, " ", number, " ");
        }
      }
      images += "\n";
    }
    WriteFileAtomically(folder / "images.txt", images);
    WriteFileAtomically(folder / "points3D.txt", points);
  }

  static CommandResult Convert(const std::string& out, const std::string& options) {
    return RunCommand(StrCat("lumen convert ", Path("seq"), " ", Path(out), " ", options));
  }

  static void ExpectFault(const std::string& options, const std::string& text) {
    const CommandResult result =
        RunCommand(StrCat("lumen -q convert ", Path("seq"), " ", Path("refused"), " ", options));
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(fs::exists(Path("refused")));
  }

  // Share of a frame's known pixels whose depth is within this much of the true one.
  static double ShareRight(const fs::path& made, int64_t frame, double tolerance) {
    const auto source = OpenInput(made, {});
    const DepthImage truth = *source_->LoadDepth(frame);
    const DepthImage depth = source->LoadDepth(frame).value();
    const double times = static_cast<double>(truth.Width()) / depth.Width();
    int right = 0, known = 0;
    for (int y = 0; y < depth.Height(); ++y) {
      for (int x = 0; x < depth.Width(); ++x) {
        const float there = truth(static_cast<int>((x + 0.5) * times), static_cast<int>((y + 0.5) * times));
        if (!(there > 0)) continue;
        ++known;
        right += std::abs(depth(x, y) / there - 1) < static_cast<float>(tolerance) ? 1 : 0;
      }
    }
    return static_cast<double>(right) / known;
  }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline const FrameSource* source_ = nullptr;
};

TEST_F(ColmapConvert, PosesAndPointsComeByNameAndOthersAreCounted) {
  const CommandResult result = Convert("plain", "--colmap " + Path("colmap"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("5 of 6 images placed; 1 images of the model are not there"), std::string::npos)
      << result.err;
  const auto made = OpenInput(Path("plain"), {});
  ASSERT_EQ(made->Info().truth->size(), 5U);
  for (size_t k = 0; k < 5; ++k) {
    const TimedPose& pose = (*made->Info().truth)[k];
    const TimedPose& truth = (*source_->Info().truth)[k];
    EXPECT_NEAR(pose.time, truth.time, 1e-6);
    const Rigid3 off = pose.world_from_camera.Inverse() * truth.world_from_camera;
    EXPECT_LT(off.Translation().norm(), 1e-6);
    EXPECT_LT(off.Rotation().angularDistance(Eigen::Quaterniond::Identity()), 1e-6);
  }
  const DepthImage depth = *source_->LoadDepth(2);
  const std::vector<SparsePoint> points = made->LoadPoints(2);
  ASSERT_GT(points.size(), 100U);
  for (const SparsePoint& point : points) {
    EXPECT_EQ(point.uv, Eigen::Vector2d(point.uv.array().round()));
    EXPECT_NEAR(point.depth,
                static_cast<double>(depth(static_cast<int>(point.uv.x()), static_cast<int>(point.uv.y()))),
                1e-4);
    EXPECT_EQ(point.track_length, 2);
    EXPECT_EQ(point.error, 0.5);
  }
  EXPECT_TRUE(made->LoadPoints(5).empty());
  // The pictures are the same bytes.
  EXPECT_EQ(ReadFile(Path("plain/rgb/000003.png")), ReadFile(Path("seq/rgb/000003.png")));
  EXPECT_EQ(made->Info().camera, source_->Info().camera);
}

TEST_F(ColmapConvert, ASurfaceGivesDenseDepth) {
  ASSERT_EQ(Convert("meshed", StrCat("--colmap ", Path("colmap"), " --mesh ", Path("seq/model.ply"))).code,
            0);
  EXPECT_GT(ShareRight(Path("meshed"), 1, 0.03), 0.95);
  EXPECT_FALSE(OpenInput(Path("meshed"), {})->LoadDepth(5)) << "a frame without a place has no depth";
}

TEST_F(ColmapConvert, StereoDepthMapsAreTakenAtAnySize) {
  fs::create_directories(Path("maps/rgb"));
  const DepthImage truth = *source_->LoadDepth(1);
  std::string bytes = "80&64&1&";
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 80; ++x) {
      const float depth = truth(2 * x, 2 * y);
      bytes.append(reinterpret_cast<const char*>(&depth), sizeof(depth));
    }
  }
  WriteFileAtomically(Path("maps/rgb/000001.png.geometric.bin"), bytes);
  ASSERT_EQ(Convert("stereo", StrCat("--colmap ", Path("colmap"), " --depth-maps ", Path("maps"))).code, 0);
  EXPECT_GT(ShareRight(Path("stereo"), 1, 0.05), 0.9);
  EXPECT_FALSE(OpenInput(Path("stereo"), {})->LoadDepth(2));
}

TEST_F(ColmapConvert, RectifyingKeepsPosesPointsAndDepth) {
  ASSERT_EQ(Convert("small", "--rectify 80x64").code, 0);  // the sequence's own truth
  const auto own = OpenInput(Path("small"), {});
  EXPECT_EQ(own->Info().truth->size(), 6U);
  EXPECT_EQ(own->LoadDepth(0)->Width(), 80);
  ASSERT_EQ(
      Convert("view", StrCat("--rectify 80x64 --colmap ", Path("colmap"), " --mesh ", Path("seq/model.ply")))
          .code,
      0);
  const auto made = OpenInput(Path("view"), {});
  const DepthImage depth = made->LoadDepth(3).value();
  int right = 0, all = 0;
  for (const SparsePoint& point : made->LoadPoints(3)) {
    const auto x = static_cast<int>(std::lround(point.uv.x())),
               y = static_cast<int>(std::lround(point.uv.y()));
    if (!depth.Contains(x, y) || !(depth(x, y) > 0)) continue;
    ++all;
    right += std::abs(static_cast<double>(depth(x, y)) / point.depth - 1) < 0.08 ? 1 : 0;
  }
  EXPECT_GT(all, 50);
  EXPECT_GT(right, 0.9 * all);
}

TEST_F(ColmapConvert, WhatCannotBeRightIsRefusedAndNothingWritten) {
  WriteModel(Path("strange"), "other-");
  fs::rename(Path("strange/images.txt"), Path("strange/all.txt"));
  std::string images = ReadFile(Path("strange/all.txt"));
  for (size_t at = 0; (at = images.find("other-0", at)) != std::string::npos; ++at)
    images.replace(at, 7, "other-x");
  WriteFileAtomically(Path("strange/images.txt"), images);
  ExpectFault("--colmap " + Path("strange"), "none of its 6 images");
  WriteModel(Path("large"), "", "1 PINHOLE 320 256 200 200 160 128\n");
  ExpectFault("--colmap " + Path("large"), "320x256");
  WriteModel(Path("bent"), "", "1 SIMPLE_RADIAL 160 128 100 80 64 0.1\n");
  ExpectFault(StrCat("--colmap ", Path("bent"), " --depth-maps ", Path("seq")), "undistorted");
  ExpectFault(StrCat("--colmap ", Path("colmap"), " --depth-maps ", Path("seq")), "no depth map");
  ExpectFault("--depth-maps " + Path("seq"), "go with --colmap");
  ExpectFault(StrCat("--mesh a.ply --dense lumen --colmap ", Path("colmap")), "give one of");
  ExpectFault("--colmap " + Path("nowhere"), "no such folder");
  ExpectFault(StrCat("--submodel 3 --colmap ", Path("colmap")), "no COLMAP model");
}

TEST_F(ColmapConvert, AnotherRateTakesThePosesAlong) {
  ASSERT_EQ(Convert("slow", "--fps 10").code, 0);
  const auto made = OpenInput(Path("slow"), {});
  ASSERT_EQ(made->Info().truth->size(), 6U);
  for (size_t k = 0; k < 6; ++k) {
    EXPECT_NEAR((*made->Info().truth)[k].time, static_cast<double>(k) / 10, 1e-6);
    EXPECT_LT(
        ((*made->Info().truth)[k].world_from_camera.Inverse() * (*source_->Info().truth)[k].world_from_camera)
            .Translation()
            .norm(),
        1e-6);
  }
}

}  // namespace
}  // namespace lumen
