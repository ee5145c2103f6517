#include "lumen/viewer/scene_view.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/geometry/alignment.h"
#include "lumen/viewer/bytes.h"

namespace lumen {

std::string EncodeFrames(const std::vector<ViewFrame>& frames) {
  Bytes out;
  for (const ViewFrame& frame : frames) {
    out.I32(static_cast<int32_t>(frame.index));
    out.F32(frame.time);
    out.I32(static_cast<int32_t>(frame.reference));
    out.F32(frame.reference_log_scale);
    out.U8(static_cast<uint8_t>(frame.status));
    out.U8(frame.keyframe ? 1 : 0);
    out.U8(frame.pose ? 1 : 0);
    out.U8(0);
    out.Pose(frame.pose.value_or(Rigid3()));
    out.U64(0);
  }
  return out.Take();
}

std::string EncodeKeyframes(const std::vector<ViewKeyframe>& keyframes) {
  Bytes out;
  for (const ViewKeyframe& keyframe : keyframes) {
    out.I32(static_cast<int32_t>(keyframe.id));
    out.I32(static_cast<int32_t>(keyframe.frame));
    out.I32(keyframe.submap);
    out.F32(keyframe.log_scale);
    out.Pose(keyframe.world_from_camera);
  }
  return out.Take();
}

std::string EncodeCloud(const ViewCloud& cloud) {
  LUMEN_CHECK(SameSize(cloud.depth, cloud.rgb) && cloud.rgb.Channels() == 3, "depth and colours on one grid");
  const auto pixels = static_cast<size_t>(cloud.depth.Width()) * static_cast<size_t>(cloud.depth.Height());
  float deepest = 0;
  for (size_t i = 0; i < pixels; ++i)
    if (std::isfinite(cloud.depth.Data()[i])) deepest = std::max(deepest, cloud.depth.Data()[i]);
  const float unit = deepest > 0 ? deepest / 65535 : 1;  // depth of one step
  Bytes out;
  out.U32(static_cast<uint32_t>(cloud.depth.Width()));
  out.U32(static_cast<uint32_t>(cloud.depth.Height()));
  out.F32(unit);
  for (size_t i = 0; i < pixels; ++i) {
    const float steps = cloud.depth.Data()[i] / unit;
    out.U16(std::isfinite(steps) && steps > 0 ? static_cast<uint16_t>(std::min(steps + 0.5F, 65535.0F)) : 0);
  }
  out.Text({reinterpret_cast<const char*>(cloud.rgb.Data()), 3 * pixels});
  return out.Take();
}

std::string EncodePicture(int64_t frame, ImageView<const uint8_t> rgb) {
  LUMEN_CHECK(rgb.Channels() == 3, "a picture has three channels");
  Bytes out;
  out.I32(static_cast<int32_t>(frame));
  out.U32(static_cast<uint32_t>(rgb.Width()));
  out.U32(static_cast<uint32_t>(rgb.Height()));
  out.Text({reinterpret_cast<const char*>(rgb.Data()),
            3 * static_cast<size_t>(rgb.Width()) * static_cast<size_t>(rgb.Height())});
  return out.Take();
}

std::string EncodeMesh(const TriangleMesh& mesh) {
  Bytes out;
  out.Text("MESH");
  out.U32(static_cast<uint32_t>(mesh.vertices.size()));
  out.U32(static_cast<uint32_t>(mesh.triangles.size()));
  out.U32(mesh.colors.empty() ? 0 : 1);
  for (const Eigen::Vector3f& vertex : mesh.vertices)
    for (int i = 0; i < 3; ++i) out.F32(vertex[i]);
  for (const auto& color : mesh.colors)
    for (const uint8_t value : color) out.U8(value);
  out.Pad(4);
  for (const auto& triangle : mesh.triangles)
    for (const int32_t corner : triangle) out.I32(corner);
  return out.Take();
}

std::string EncodePath(const Trajectory& path) {
  Bytes out;
  for (const TimedPose& pose : path) {
    out.F32(pose.time);
    for (int i = 0; i < 3; ++i) out.F32(pose.world_from_camera.Translation()[i]);
  }
  return out.Take();
}

Json EdgesToJson(const std::vector<ViewEdge>& edges) {
  Json json = Json::MakeArray();
  for (const ViewEdge& edge : edges) {
    Json entry = Json::MakeArray();
    entry.Append(edge.first);
    entry.Append(edge.second);
    entry.Append(static_cast<int>(edge.kind));
    entry.Append(edge.removed ? 1 : 0);
    json.Append(entry);
  }
  return json;
}

std::optional<Sim3> AlignTruth(const Trajectory& truth, const Trajectory& path) {
  std::vector<Eigen::Vector3d> from, to;
  size_t k = 0;
  for (const TimedPose& pose : path) {
    while (k < truth.size() && truth[k].time < pose.time - kRoundedTime) ++k;
    if (k == truth.size() || truth[k].time > pose.time + kRoundedTime) continue;
    from.push_back(truth[k].world_from_camera.Translation());
    to.push_back(pose.world_from_camera.Translation());
  }
  return EstimateAlignment(from, to);
}

void PutTruth(const Trajectory& truth, const Sim3& map_from_truth, ItemStore& store) {
  Trajectory path = truth;
  for (TimedPose& pose : path) pose.world_from_camera = map_from_truth.TransformPose(pose.world_from_camera);
  store.Put(ItemKind::kTruth, 0, EncodePath(path));
}

void PutFrames(const std::vector<ViewFrame>& frames, size_t first_changed, ItemStore& store) {
  for (size_t chunk = first_changed / kFramesPerItem; chunk * kFramesPerItem < frames.size(); ++chunk) {
    const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(chunk * kFramesPerItem);
    const auto end =
        frames.begin() + static_cast<std::ptrdiff_t>(std::min(frames.size(), (chunk + 1) * kFramesPerItem));
    store.Put(ItemKind::kFrames, static_cast<uint32_t>(chunk), EncodeFrames({begin, end}));
  }
}

void PutKeyframes(const std::vector<ViewKeyframe>& keyframes, ItemStore& store) {
  for (size_t chunk = 0; chunk * kKeyframesPerItem < keyframes.size(); ++chunk) {
    const auto begin = keyframes.begin() + static_cast<std::ptrdiff_t>(chunk * kKeyframesPerItem);
    const auto end = keyframes.begin() +
                     static_cast<std::ptrdiff_t>(std::min(keyframes.size(), (chunk + 1) * kKeyframesPerItem));
    store.Put(ItemKind::kKeyframes, static_cast<uint32_t>(chunk), EncodeKeyframes({begin, end}));
  }
}

}  // namespace lumen
