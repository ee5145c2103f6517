// `lumen export` from the outside: every format read again, by another reader where there is one.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lumen/apps/climb_files.h"
#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/calibration.h"
#include "lumen/io/colmap_model.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/trajectory_file.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class ExportCli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(
        RunCommand(
            StrCat("lumen -q simulate ", Path("seq"),
                   " --no-model --anatomy nasal --seed 941 --path insertion --size 320x256 --frames 60"))
            .code,
        0);
    const CommandResult run = RunCommand(
        StrCat("lumen -q run ", Path("seq"), " --out ", Path("run"), " --deterministic --no-surface"));
    ASSERT_EQ(run.code, 0) << run.err;
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }
  // Exports to a new folder and returns it.
  static fs::path Export(const std::string& to, const std::string& more = "") {
    const std::string out = Path(StrCat("out-", to, more.size()));
    const CommandResult result =
        RunCommand(StrCat("lumen -q export ", Path("run"), " --to ", to, " --out ", out, " ", more));
    EXPECT_EQ(result.code, 0) << result.err;
    return out;
  }
  static void ExpectFault(const std::string& arguments, const std::string& text) {
    const CommandResult result = RunCommand("lumen -q export " + arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }

  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(ExportCli, ColmapsModelHasTheRunsPoses) {
  const fs::path out = Export("colmap");
  const ColmapModel model = LoadColmapModel(out / "sparse");
  const RunFolder run = ReadRunFolder(Path("run"));
  ASSERT_EQ(model.views.size(), run.keyframes.size());
  for (size_t i = 0; i < model.views.size(); ++i) {
    const Rigid3 off = model.views[i].world_from_camera.Inverse() * run.keyframes[i].world_from_camera;
    EXPECT_LT(off.Translation().norm(), 1e-9);
    EXPECT_LT((off.RotationMatrix() - Eigen::Matrix3d::Identity()).norm(), 1e-9);
    EXPECT_TRUE(fs::exists(out / "images" / model.views[i].name));
  }
}

// Sightings by the simulator's truth: what one picture shows at a pixel, where does another show it?
TEST_F(ExportCli, ColmapsSightingsWereMeasured) {
  const fs::path model = Export("colmap", "--no-images") / "sparse" / "0";
  const auto truth = OpenInput(Path("seq"), {});
  const PinholeCamera& camera = *truth->Info().camera->AsPinhole();
  const Camera exported = LoadCalibration(model / "cameras.txt");
  ASSERT_NE(exported.AsPinhole(), nullptr);
  struct Seen {
    int64_t frame;
    Eigen::Vector2d pixel;
  };
  std::map<int64_t, std::vector<Seen>> tracks;
  const std::vector<std::string> lines = Split(ReadFile(model / "images.txt"), '\n');
  for (size_t i = 1; i + 1 < lines.size(); i += 2) {
    const std::vector<std::string> head = SplitWords(lines[i]), pixels = SplitWords(lines[i + 1]);
    const int64_t frame = *ParseInteger(fs::path(head[9]).stem().string());
    for (size_t k = 0; k + 2 < pixels.size(); k += 3) {
      const Eigen::Vector2d at(*ParseDouble(pixels[k]) - 0.5, *ParseDouble(pixels[k + 1]) - 0.5);
      const auto ray = exported.Unproject(at);
      ASSERT_TRUE(ray);
      tracks[*ParseInteger(pixels[k + 2])].push_back({frame, *camera.Project(*ray)});
    }
  }
  ASSERT_GT(tracks.size(), 50U);
  double sum = 0;
  int count = 0;
  std::vector<size_t> lengths;
  for (const auto& [point, seen] : tracks) {
    lengths.push_back(seen.size());
    const DepthImage depth = *truth->LoadDepth(seen[0].frame);
    const auto x = static_cast<int>(std::lround(seen[0].pixel.x())),
               y = static_cast<int>(std::lround(seen[0].pixel.y()));
    if (!depth.Contains(x, y) || !(depth(x, y) > 0)) continue;
    const Eigen::Vector3d in_first(depth(x, y) * (seen[0].pixel.x() - camera.cx) / camera.fx,
                                   depth(x, y) * (seen[0].pixel.y() - camera.cy) / camera.fy, depth(x, y));
    const auto pose = [&](int64_t frame) {
      return (*truth->Info().truth)[static_cast<size_t>(frame)].world_from_camera;
    };
    for (size_t k = 1; k < seen.size(); ++k) {
      const auto there = camera.Project(pose(seen[k].frame).Inverse() * (pose(seen[0].frame) * in_first));
      if (!there) continue;
      sum += (*there - seen[k].pixel).norm();
      ++count;
    }
  }
  std::sort(lengths.begin(), lengths.end());
  std::printf("[ MEASURED ] %zu points, median track %zu, %.3f px from the truth\n", lengths.size(),
              lengths[lengths.size() / 2], sum / count);
  EXPECT_GE(lengths[lengths.size() / 2], 3U);
  EXPECT_LE(sum / count, 1);
}

TEST_F(ExportCli, ColmapItselfReadsTheModel) {
  if (RunCommand("command -v colmap").code != 0) GTEST_SKIP() << "needs COLMAP";
  const fs::path model = Export("colmap", "--no-images ") / "sparse" / "0";
  const CommandResult result = RunCommand(StrCat("colmap model_analyzer --path ", model.string()));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE((result.out + result.err).find("Mean reprojection error"), std::string::npos);
}

TEST_F(ExportCli, NerfstudiosCamerasLookBackwards) {
  const fs::path out = Export("nerfstudio");
  const Json json = Json::Load(out / "transforms.json");
  const RunFolder run = ReadRunFolder(Path("run"));
  ASSERT_EQ(json.At("frames").AsArray().size(), run.keyframes.size());
  for (size_t i = 0; i < run.keyframes.size(); ++i) {
    const Json& frame = json.At("frames").AsArray()[i];
    EXPECT_TRUE(fs::exists(out / frame.At("file_path").AsString()));
    EXPECT_TRUE(fs::exists(out / frame.At("depth_file_path").AsString()));
    EXPECT_TRUE(fs::exists(out / frame.At("mask_path").AsString()));
    const auto& rows = frame.At("transform_matrix").AsArray();
    const Eigen::Matrix4d expected = run.keyframes[i].world_from_camera.Matrix();
    for (size_t y = 0; y < 3; ++y) {
      EXPECT_NEAR(rows[y].AsArray()[0].AsDouble(), expected(static_cast<int>(y), 0), 1e-9);
      EXPECT_NEAR(rows[y].AsArray()[1].AsDouble(), -expected(static_cast<int>(y), 1), 1e-9);
      EXPECT_NEAR(rows[y].AsArray()[2].AsDouble(), -expected(static_cast<int>(y), 2), 1e-9);
      EXPECT_NEAR(rows[y].AsArray()[3].AsDouble(), expected(static_cast<int>(y), 3), 1e-9);
    }
  }
  EXPECT_GT(LoadMesh(out / "points.ply").vertices.size(), 50U);
}

TEST_F(ExportCli, TrajectoriesAndTables) {
  const RunFolder run = ReadRunFolder(Path("run"));
  EXPECT_EQ(LoadTrajectory(Export("tum") / "trajectory.tum").size(), run.frames.size());
  EXPECT_EQ(LoadTrajectory(Export("tum", "--keyframes") / "trajectory.tum").size(), run.keyframes.size());
  EXPECT_EQ(LoadTrajectory(Export("kitti") / "poses.txt").size(), run.frames.size());
  EXPECT_EQ(Split(Trim(ReadFile(Export("csv") / "frames.csv")), '\n').size(), run.frames.size() + 1);
  EXPECT_GT(LoadMesh(Export("ply") / "points.ply").vertices.size(), 1000U);
}

TEST_F(ExportCli, TheChallengesFolderKeepsItsRules) {
  const std::string out = Path("climb");
  const std::string run = Path("run");
  ASSERT_EQ(
      RunCommand(StrCat("lumen -q export ", run, " ", run, " --to climb --name Seq_001_a --out ", out)).code,
      0);
  const RunFolder read = ReadRunFolder(run);
  for (const char* number : {"1", "2"}) {
    const ClimbRun climb = CheckClimbRun(fs::path(out) / "Seq_001_a" / number);
    ASSERT_EQ(climb.maps.size(), 1U);
    ASSERT_EQ(climb.maps.at(1).size(), read.frames.size());
    EXPECT_EQ(climb.maps.at(1).begin()->first, 1) << "frames are counted from 1";
    EXPECT_LT((climb.maps.at(1).at(1).Translation() - read.frames[0].world_from_camera.Translation()).norm(),
              1e-6);
    EXPECT_GT(climb.init_seconds, 0);
    EXPECT_GT(climb.processing_seconds, 0);
  }
}

TEST_F(ExportCli, SeparateMapsStayApart) {
  const std::string run = Path("apart");
  fs::copy(Path("run"), run, fs::copy_options::recursive);
  const Trajectory frames = ReadRunFolder(run).frames;
  for (const char* number : {"1", "4"}) {
    const fs::path submap = fs::path(run) / "submaps" / number;
    fs::create_directories(submap);
    const auto first = frames.begin() + (number[0] == '1' ? 0 : 10);
    SaveTrajectory(submap / "frames.tum", Trajectory(first, first + 5));
    SaveTrajectory(submap / "keyframes.tum", Trajectory(first, first + 1));
  }
  const std::string out = Path("climb-apart");
  ASSERT_EQ(RunCommand(StrCat("lumen -q export ", run, " --to climb --name x --out ", out)).code, 0);
  const ClimbRun climb = CheckClimbRun(fs::path(out) / "x" / "1");
  ASSERT_EQ(climb.maps.size(), 3U);
  EXPECT_EQ(climb.maps.at(1).size(), frames.size());
  EXPECT_EQ(climb.maps.at(3).size(), 5U);
  EXPECT_EQ(climb.maps.at(3).begin()->first, 11) << "counted from 1";
}

TEST_F(ExportCli, WhatCannotBeExportedIsALine) {
  ExpectFault(StrCat(Path("seq"), " --to tum --out ", Path("x1")), "");
  ExpectFault(StrCat(Path("run"), " ", Path("run"), " --to tum --out ", Path("x2")), "takes one run");
  ExpectFault(StrCat(Path("run"), " --to obj --out ", Path("x3")), "--to");
  std::string six;
  for (int i = 0; i < 6; ++i) six += Path("run") + " ";
  ExpectFault(StrCat(six, "--to climb --out ", Path("x4")), "takes 5 runs");
}

}  // namespace
}  // namespace lumen
