// The keyframes of a run's folder, each with its place, depth and picture, and the coloured points they make
// together: what a run looks like where no surface was fused.
#pragma once

#include "lumen/io/run_folder.h"
#include "lumen/scene/mesh.h"

namespace lumen {

struct RunKeyframe {
  int64_t frame = 0;  // in the input's own numbering
  double time = 0;    // seconds
  Rigid3 world_from_camera;
  std::filesystem::path depth, image;  // empty: not there
};

// In order of time. A pose finds its frame number by the time in events.jsonl; where that is missing, poses
// and depth maps are paired in their order if there are equally many.
std::vector<RunKeyframe> ListRunKeyframes(const RunFolder& run);

// The depth map, and its picture on the same grid (grey where there is none).
struct KeyframePixels {
  DepthImage depth;
  RgbImage image;
};
// Throws InputError for files that cannot be read.
KeyframePixels LoadKeyframePixels(const RunKeyframe& keyframe, double depth_scale);

// A mesh without triangles: every keyframe's pixels in the world, thinned evenly to about `most_points`.
// Empty where the camera or the scale of the depth maps is not known.
TriangleMesh MakeRunCloud(const RunFolder& run, size_t most_points);

}  // namespace lumen
