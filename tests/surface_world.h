// A simulated sequence as a run that made no mistakes, in a map of its own unit and frame.
#pragma once

#include <filesystem>

#include "lumen/geometry/sim3.h"
#include "lumen/io/run_writer.h"
#include "lumen/sim/sequence.h"

namespace lumen {

// About what SLAM does: the first depth map's median is near 1.
inline Sim3 MapFromWorld() { return {0.05, ExpSO3({0.3, -0.8, 0.5}), {1, 2, -3}}; }

inline SequenceOptions TrueRunOptions(AnatomyKind kind = AnatomyKind::kNasal, int frames = 60) {
  SequenceOptions options{.anatomy = kind, .seed = 3, .width = 80, .height = 64};
  options.path.frames = frames;
  return options;
}

// Made once a process.
inline const SimulatedSequence& TrueSequence() {
  static const SimulatedSequence sequence(TrueRunOptions());
  return sequence;
}

inline std::filesystem::path WriteTrueRun(const std::filesystem::path& folder,
                                          const SimulatedSequence& sequence, int stride = 4) {
  Json summary = Json::MakeObject();
  summary[run_key::kDepthScale] = kRunDepthScale;
  summary[run_key::kCamera] = CameraToJson(sequence.View());
  summary[run_key::kVersion] = "1";
  summary[run_key::kFinished] = true;
  RunWriter writer(folder, "", summary);
  const Sim3 map_from_world = MapFromWorld();
  Trajectory frames, keyframes;
  for (int i = 0; i < sequence.Size(); ++i) {
    frames.push_back({sequence.Time(i), map_from_world.TransformPose(sequence.Pose(i))});
    const bool keyframe = i % stride == 0;
    Json event = Json::MakeObject();
    event["frame"] = i;
    event["time"] = sequence.Time(i);
    event["status"] = "tracked";
    event["keyframe"] = keyframe;
    writer.AppendEvent(event);
    if (!keyframe) continue;
    keyframes.push_back(frames.back());
    DepthImage depth = sequence.RenderDepth(i);
    for (size_t k = 0; k < depth.Size(); ++k) depth.Data()[k] *= static_cast<float>(map_from_world.Scale());
    writer.WriteDepth(i, depth);
    writer.WriteImage(i, RgbImage(160, 128, 3, 120));
  }
  writer.WriteTrajectories(frames, keyframes);
  return folder;
}

}  // namespace lumen
