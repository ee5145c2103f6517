// A small sequence with its truth, and a run on it, for the tests of evaluation.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>

#include "lumen/base/random.h"
#include "lumen/geometry/sim3.h"
#include "lumen/io/png.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

inline constexpr int kFrames = 40;

inline Trajectory MakePath() {
  Trajectory path;
  for (int i = 0; i < kFrames; ++i) {
    const double s = i / 30.0;
    path.push_back(
        {s, Rigid3(ExpSO3({0.2 * s, 0.1, -s}), {10 * std::cos(3 * s), 10 * std::sin(3 * s), 4 * s})});
  }
  return path;
}

// Depth of frame i: i + 10 everywhere, but for a corner that is not known.
inline std::filesystem::path WriteTruth(const std::filesystem::path& folder, bool with_depth = true) {
  SequenceWriter writer(folder, {"path", 30, "mm", 256, Camera::FromFieldOfView(77, 40, 32)});
  for (int i = 0; i < kFrames; ++i) {
    writer.WriteFrame(i, RgbImage(40, 32, 3, 90).View());
    DepthImage depth(40, 32, 1, static_cast<float>(i + 10));
    for (int x = 0; x < 8; ++x) depth(x, 0) = 0;
    if (with_depth) writer.WriteDepth(i, depth);
  }
  writer.WriteTruth(MakePath());
  writer.Finish();
  return folder;
}

// A run that is the truth in a map of half its size, positions off by `noise` mm, with a keyframe every other
// frame.
inline std::filesystem::path WriteRun(const std::filesystem::path& folder, double noise = 0,
                                      uint64_t seed = 1) {
  std::filesystem::create_directories(folder / run_file::kDepth);
  const Sim3 map_from_world(0.5, ExpSO3({1, 2, 3}), {5, 6, 7});
  Trajectory frames = MakePath(), keyframes;
  Random random(seed);
  for (TimedPose& pose : frames) {
    const double x = random.Normal(0, noise), y = random.Normal(0, noise), z = random.Normal(0, noise);
    const Rigid3& truth = pose.world_from_camera;
    pose.world_from_camera = map_from_world.TransformPose(
        Rigid3(truth.Rotation(), truth.Translation() + Eigen::Vector3d(x, y, z)));
  }
  for (int i = 0; i < kFrames; i += 2) {
    keyframes.push_back(frames[static_cast<size_t>(i)]);
    SavePng(folder / run_file::kDepth / RunDepthName(i),
            Image<uint16_t>(20, 16, 1, static_cast<uint16_t>(50 * (i + 10))).View());
  }
  SaveTrajectory(folder / run_file::kFrames, frames);
  SaveTrajectory(folder / run_file::kKeyframes, keyframes);
  std::ofstream(folder / run_file::kSummary) << R"({"depth_scale": 100, "version": "1", "finished": true})";
  return folder;
}

}  // namespace lumen
