#include "lumen/io/run_keyframes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lumen/image/resize.h"
#include "lumen/io/image_file.h"
#include "lumen/scene/frame.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kSameTime = 1e-4;  // TUM files hold microseconds

// The frame whose time this is; -1 if there is none.
int64_t FrameAt(const std::map<double, int64_t>& frame_at, double time) {
  const auto next = frame_at.lower_bound(time - kSameTime);
  return next != frame_at.end() && next->first <= time + kSameTime ? next->second : -1;
}

void AddCloud(const KeyframePixels& pixels, const Rigid3& world_from_camera, const UnifiedCamera& camera,
              int stride, TriangleMesh& cloud) {
  const DepthImage depths = ViewDepthOfZ(pixels.depth, camera);
  for (int y = stride / 2; y < pixels.depth.Height(); y += stride) {
    for (int x = stride / 2; x < pixels.depth.Width(); x += stride) {
      const float depth = depths(x, y);
      if (!(depth > 0)) continue;
      const Eigen::Vector3d in_camera = depth * camera.RayAtUnitDepth(x, y);
      const Eigen::Vector3f in_world = (world_from_camera * in_camera).cast<float>();
      if (!in_world.allFinite()) continue;  // farther than numbers reach
      cloud.vertices.push_back(in_world);
      const uint8_t* color = pixels.image.Pixel(x, y);
      cloud.colors.push_back({color[0], color[1], color[2]});
    }
  }
}

}  // namespace

std::vector<RunKeyframe> ListRunKeyframes(const RunFolder& run) {
  std::map<double, int64_t> frame_at;
  for (const RunFrameEvent& event : run.events) frame_at[event.time] = event.frame;
  std::map<int64_t, fs::path> depth_of;
  for (const RunDepthFile& file : run.depth) depth_of[file.frame] = file.path;
  const bool in_order = frame_at.empty() && run.depth.size() == run.keyframes.size();
  std::vector<RunKeyframe> keyframes;
  for (size_t i = 0; i < run.keyframes.size(); ++i) {
    const TimedPose& pose = run.keyframes[i];
    RunKeyframe keyframe;
    keyframe.frame = in_order ? run.depth[i].frame : FrameAt(frame_at, pose.time);
    if (keyframe.frame < 0) keyframe.frame = static_cast<int64_t>(i);
    keyframe.time = pose.time;
    keyframe.world_from_camera = pose.world_from_camera;
    const auto depth = depth_of.find(keyframe.frame);
    if (depth != depth_of.end()) keyframe.depth = depth->second;
    const fs::path image = run.path / run_file::kImages / RunDepthName(keyframe.frame);
    if (fs::is_regular_file(image)) keyframe.image = image;
    keyframes.push_back(std::move(keyframe));
  }
  return keyframes;
}

KeyframePixels LoadKeyframePixels(const RunKeyframe& keyframe, double depth_scale) {
  KeyframePixels pixels;
  pixels.depth = LoadScaledDepth(keyframe.depth, depth_scale);
  const int width = pixels.depth.Width(), height = pixels.depth.Height();
  pixels.image = keyframe.image.empty() ? RgbImage(width, height, 3, 160)
                                        : ResizeArea(LoadRgb(keyframe.image), width, height);
  return pixels;
}

TriangleMesh MakeRunCloud(const RunFolder& run, size_t most_points) {
  TriangleMesh cloud;
  if (!run.depth_scale || !run.depth_camera || most_points == 0) return cloud;
  const std::vector<RunKeyframe> keyframes = ListRunKeyframes(run);
  for (const RunKeyframe& keyframe : keyframes) {
    if (keyframe.depth.empty()) continue;
    const KeyframePixels pixels = LoadKeyframePixels(keyframe, *run.depth_scale);
    const double all = static_cast<double>(pixels.depth.Size()) * static_cast<double>(keyframes.size());
    const int stride =
        std::max(1, static_cast<int>(std::ceil(std::sqrt(all / static_cast<double>(most_points)))));
    const Camera camera = run.depth_camera->Resized(pixels.depth.Width(), pixels.depth.Height());
    AddCloud(pixels, keyframe.world_from_camera, *camera.AsUnified(), stride, cloud);
  }
  return cloud;
}

}  // namespace lumen
