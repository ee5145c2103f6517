// A finished run without any SLAM: the truth of a simulated video, written as a run would have written it,
// with a loop, a lost span and a surface. For the tests of what shows runs.
#pragma once

#include <cmath>
#include <map>
#include <vector>

#include "lumen/base/text.h"
#include "lumen/geometry/sim3.h"
#include "lumen/image/resize.h"
#include "lumen/io/map_file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/run_writer.h"
#include "lumen/io/sage_hdf5.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/sim/sequence.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {

inline constexpr double kMapPerMm = 0.05;  // the run's own unit is 20 mm, as SLAM's would be about

inline SequenceOptions SmallRunOptions(int frames) {
  SequenceOptions options;
  options.anatomy = AnatomyKind::kColon;
  options.seed = 7;
  options.width = 160;
  options.height = 128;
  options.path.frames = frames;
  options.threads = 2;
  return options;
}

// Made once a process, its pictures as well: many cases write a run of it.
struct SmallVideo {
  explicit SmallVideo(int frames) : sequence(SharedAnatomy(AnatomyKind::kColon, 7), SmallRunOptions(frames)) {
    for (int i = 0; i < frames; ++i) pictures.push_back(sequence.Render(i));
  }
  SimulatedSequence sequence;
  std::vector<SimulatedFrame> pictures;
};
inline const SmallVideo& SharedSmallVideo(int frames) {
  static std::map<int, SmallVideo> made;
  return made.try_emplace(frames, frames).first->second;
}

inline Rigid3 ToMap(const Rigid3& pose) {
  return Sim3(kMapPerMm, ExpSO3({0.3, -0.2, 0.5}), {1, 2, 3}).TransformPose(pose);
}

// The grid of a depth map as triangles, where neighbours are at about the same depth.
inline void AddGrid(const DepthImage& depth, const RgbImage& image, const UnifiedCamera& camera,
                    const Rigid3& world_from_camera, TriangleMesh& mesh) {
  Image<int32_t> number(depth.Width(), depth.Height(), 1, -1);
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      if (!(depth(x, y) > 0)) continue;
      number(x, y) = static_cast<int32_t>(mesh.vertices.size());
      mesh.vertices.emplace_back(
          (world_from_camera * (depth(x, y) * camera.RayAtUnitDepth(x, y))).cast<float>());
      const uint8_t* color = image.Pixel(2 * x, 2 * y);
      mesh.colors.push_back({color[0], color[1], color[2]});
    }
  }
  for (int y = 0; y + 1 < depth.Height(); ++y) {
    for (int x = 0; x + 1 < depth.Width(); ++x) {
      const int32_t a = number(x, y), b = number(x + 1, y), c = number(x, y + 1), d = number(x + 1, y + 1);
      if (a < 0 || b < 0 || c < 0 || d < 0) continue;
      if (std::abs(depth(x, y) - depth(x + 1, y + 1)) > 0.1F * depth(x, y)) continue;
      mesh.triangles.push_back({a, c, b});
      mesh.triangles.push_back({b, c, d});
    }
  }
}

// Half the size, by every second pixel: what depth maps of a run are to its pictures.
inline DepthImage HalveDepth(const DepthImage& depth, double scale) {
  DepthImage half(depth.Width() / 2, depth.Height() / 2);
  for (int y = 0; y < half.Height(); ++y)
    for (int x = 0; x < half.Width(); ++x) half(x, y) = static_cast<float>(scale * depth(2 * x, 2 * y));
  return half;
}

// A keyframe as SLAM would have made it; its features are its colours.
inline std::shared_ptr<const Keyframe> MakeSmallKeyframe(const SimulatedFrame& shown, int64_t index,
                                                         const std::shared_ptr<const View>& view) {
  const RgbImage small = ResizeArea(shown.image.View(), view->mask.Width(), view->mask.Height());
  Image<float> colors(small.Width(), small.Height(), 3);
  for (size_t i = 0; i < small.Size(); ++i) colors.Data()[i] = static_cast<float>(small.Data()[i]) / 255;
  auto frame = std::make_shared<Frame>();
  frame->index = index;
  frame->time = shown.time;
  frame->image = shown.image;
  frame->view = view;
  Image<float> descriptors = colors;
  frame->features = MakeFeaturePyramid(std::move(colors), std::move(descriptors), view->mask, 1);
  auto keyframe = std::make_shared<Keyframe>();
  keyframe->frame = frame;
  keyframe->depth = MakeDepthBasis(HalveDepth(shown.depth, kMapPerMm),
                                   Image<float>(small.Width(), small.Height(), 1), view->mask);
  return keyframe;
}

struct SmallRunChoice {
  int frames = 48;
  bool with_surface = true;
  bool finished = true;
};

// Writes the sequence with its truth to `folder`/sequence and the run to `folder`/run.
inline std::filesystem::path WriteSmallRun(const std::filesystem::path& folder,
                                           const SmallRunChoice& choice = {}) {
  const SimulatedSequence& sequence = SharedSmallVideo(choice.frames).sequence;
  SequenceWriter truth(folder / "sequence", {"small", 30, "mm", 256, sequence.View()});
  const Camera depth_camera = sequence.View().Resized(80, 64);
  Json summary = Json::MakeObject();
  summary[run_key::kVersion] = "0.1.0";
  summary[run_key::kCommit] = "test";
  summary["input"] = (folder / "sequence").string();
  summary[run_key::kDepthScale] = kRunDepthScale;
  summary[run_key::kCamera] = CameraToJson(depth_camera);
  summary[run_key::kFinished] = choice.finished;
  summary["fps"] = 31.5;
  summary["keyframes"] = (choice.frames + 5) / 6;
  RunWriter writer(folder / "run", "", summary);
  Trajectory frames, keyframes;
  TriangleMesh surface;
  StoredMap stored;
  const auto view = MakeView(sequence.View(), sequence.ContentMask());
  for (int i = 0; i < choice.frames; ++i) {
    const SimulatedFrame& frame = SharedSmallVideo(choice.frames).pictures[static_cast<size_t>(i)];
    truth.WriteFrame(i, frame.image);
    truth.WriteDepth(i, frame.depth);
    const bool lost = i >= 20 && i < 24;
    const bool keyframe = i % 6 == 0 && !lost;
    const TimedPose pose{frame.time, ToMap(frame.world_from_camera)};
    Json line = Json::MakeObject();
    line["frame"] = i;
    line["time"] = frame.time;
    line["status"] = lost ? "lost" : i == 24 ? "relocalised" : i == 30 ? "weak" : "tracked";
    line["keyframe"] = keyframe;
    line["network_ms"] = 12.5;
    line["track_ms"] = 4.5;
    writer.AppendEvent(line);
    if (!lost) frames.push_back(pose);
    if (!keyframe) continue;
    keyframes.push_back(pose);
    const DepthImage depth = HalveDepth(frame.depth, kMapPerMm);
    writer.WriteDepth(i, depth);
    writer.WriteImage(i, frame.image);
    stored.map.keyframes[i] = {
        MakeSmallKeyframe(frame, i, view), {pose.world_from_camera, 0, Eigen::VectorXd::Zero(1)}, 0};
    AddGrid(depth, frame.image, *depth_camera.AsUnified(), pose.world_from_camera, surface);
  }
  Json loop = Json::MakeObject();
  loop["event"] = "loop";
  loop["kind"] = "global";
  loop["from"] = 42;
  loop["to"] = 6;
  writer.AppendEvent(loop);
  writer.WriteTrajectories(frames, keyframes);
  if (choice.finished && HaveHdf5()) {
    for (auto it = stored.map.keyframes.begin(); std::next(it) != stored.map.keyframes.end(); ++it)
      stored.map.edges.push_back({it->first, std::next(it)->first, EdgeKind::kTemporal});
    if (choice.frames > 42) stored.map.edges.push_back({42, 6, EdgeKind::kGlobalLoop});
    SaveMap(folder / "run" / run_file::kMap, stored);
  }
  if (choice.with_surface) SaveMesh(folder / "run" / "surface.ply", surface);
  truth.WriteMask(sequence.ContentMask());
  truth.WriteTruth(sequence.GroundTruth());
  truth.WriteModel(sequence.Surface());
  truth.Finish();
  return folder / "run";
}

}  // namespace lumen
