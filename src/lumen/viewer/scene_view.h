// What the page knows of a run, as items: frames, keyframes, clouds, loops, numbers. The same for a run that
// is going on and for one that is finished; what changes is who calls. Each encoder is a plain function of
// what is to be shown; ids are chosen so that an item is small and changes seldom.
#pragma once

#include <optional>

#include "lumen/base/json.h"
#include "lumen/geometry/sim3.h"
#include "lumen/scene/map.h"
#include "lumen/scene/mesh.h"
#include "lumen/scene/trajectory.h"
#include "lumen/viewer/item_store.h"

namespace lumen {

inline constexpr int kFramesPerItem = 128;
inline constexpr int kKeyframesPerItem = 32;

enum class ViewStatus : uint8_t { kTracked, kWeak, kLost, kRelocalised, kSkipped };

// A frame is either placed by its keyframe (and moves with it), or by itself, or not at all.
struct ViewFrame {
  int64_t index = 0;
  double time = 0;  // seconds
  ViewStatus status = ViewStatus::kTracked;
  bool keyframe = false;
  KeyframeId reference = -1;
  double reference_log_scale = 0;
  std::optional<Rigid3> pose =
      std::nullopt;  // reference_from_camera, or world_from_camera where there is no reference
};

struct ViewKeyframe {
  KeyframeId id = 0;
  int64_t frame = 0;
  int submap = 0;
  Rigid3 world_from_camera;
  double log_scale = 0;
};

// Depth without the keyframe's scale (depth = exp(log_scale) × this), and colours on the same grid.
struct ViewCloud {
  ImageView<const float> depth;
  ImageView<const uint8_t> rgb;
};

struct ViewEdge {
  KeyframeId first = 0, second = 0;
  EdgeKind kind = EdgeKind::kTemporal;
  bool removed = false;  // a loop that was taken back
};

std::string EncodeFrames(const std::vector<ViewFrame>& frames);           // 56 bytes each
std::string EncodeKeyframes(const std::vector<ViewKeyframe>& keyframes);  // 44 bytes each
std::string EncodeCloud(const ViewCloud& cloud);
std::string EncodePicture(int64_t frame, ImageView<const uint8_t> rgb);
// "MESH", vertices u32, triangles u32, colours u32 (0 or 1), then f32 places, u8 colours padded to 4, u32
// corners.
std::string EncodeMesh(const TriangleMesh& mesh);
std::string EncodePath(const Trajectory& path);        // time and place, 16 bytes each
Json EdgesToJson(const std::vector<ViewEdge>& edges);  // [first, second, kind as in EdgeKind, removed]

// The similarity that lays the true path onto `path`, by common times; none if they have too little in
// common.
std::optional<Sim3> AlignTruth(const Trajectory& truth, const Trajectory& path);
// The true path as it lies on the run's.
void PutTruth(const Trajectory& truth, const Sim3& map_from_truth, ItemStore& store);

// Puts them in chunks of the sizes above; a chunk that has not changed is not sent again.
void PutFrames(const std::vector<ViewFrame>& frames, size_t first_changed, ItemStore& store);
void PutKeyframes(const std::vector<ViewKeyframe>& keyframes, ItemStore& store);

}  // namespace lumen
