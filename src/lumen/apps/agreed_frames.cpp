#include "lumen/apps/agreed_frames.h"

#include <algorithm>

#include "lumen/apps/fuse_run.h"
#include "lumen/eval/statistics.h"
#include "lumen/scene/frame.h"
#include "lumen/surface/agreed_depth.h"

namespace lumen {

namespace {

constexpr double kSameTime = 1e-3;  // seconds

std::vector<double> KnownDepths(const DepthImage& depth) {
  std::vector<double> known;
  for (size_t i = 0; i < depth.Size(); ++i) {
    if (depth.Data()[i] > 0) known.push_back(static_cast<double>(depth.Data()[i]));
  }
  return known;
}

}  // namespace

AgreedFrames::AgreedFrames(const std::filesystem::path& path) {
  const RunFolder run = ReadRunFolder(path);
  const ViewList list = ListRunViews(run);
  camera_ = *run.depth_camera;
  std::vector<double> medians;
  for (int i = 0; i < list.count; ++i) {
    views_.push_back(list.load(i));
    views_.back().image = {};
    const DepthImage& map = views_.back().depth;
    std::vector<double> known = KnownDepths(map);
    if (known.empty()) continue;
    // The maps may be larger than the camera says.
    const size_t pixels = static_cast<size_t>(camera_.Width()) * static_cast<size_t>(camera_.Height());
    content_ = std::max(content_, known.size() * pixels / map.Size());
    medians.push_back(Quantile(std::move(known), 0.5));
  }
  if (!medians.empty()) depth_ = Quantile(medians, 0.5);
  for (const RunFrameEvent& event : run.events) {
    if (const TimedPose* pose = FindPose(run.frames, event.time, kSameTime))
      places_[event.frame] = pose->world_from_camera;
  }
  frames_ = static_cast<int64_t>(run.events.size());
}

const Rigid3* AgreedFrames::PlaceOf(int64_t frame) const {
  const auto found = places_.find(frame);
  return found != places_.end() ? &found->second : nullptr;
}

std::optional<DepthImage> AgreedFrames::DepthOf(int64_t frame) const {
  constexpr size_t kAsked = 10;
  constexpr double kLeastKnown = 0.25;  // of the content
  const Rigid3* place = PlaceOf(frame);
  if (place == nullptr) return std::nullopt;
  std::vector<const DepthView*> maps;
  for (const size_t i : NearestViews(*place, views_, depth_, kAsked)) maps.push_back(&views_[i]);
  const UnifiedCamera camera = *camera_.AsUnified();
  DepthImage agreed = AgreeOnDepth(camera, camera_.Width(), camera_.Height(), *place, maps);
  const auto known =
      std::count_if(agreed.Data(), agreed.Data() + agreed.Size(), [](float depth) { return depth > 0; });
  if (static_cast<double>(known) < kLeastKnown * static_cast<double>(content_)) return std::nullopt;
  return ZOfViewDepth(std::move(agreed), camera);
}

}  // namespace lumen
