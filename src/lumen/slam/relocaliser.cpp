#include "lumen/slam/relocaliser.h"

#include "lumen/base/text.h"

namespace lumen {

namespace {

TrackingOptions ForRelocalisation(TrackingOptions options) {
  options.matching.matching.keypoints *= 2;
  options.matching.registration = RegistrationOptions::ForManyOutliers();
  return options;
}

}  // namespace

Relocaliser::Relocaliser(const RelocalisationOptions& options, const TrackingOptions& tracking)
    : options_(options), tracker_(ForRelocalisation(tracking)) {}

TrackResult Relocaliser::Relocalise(const LiveFrame& live, const MapSnapshot& map,
                                    const std::vector<KeyframeId>& places) {
  TrackResult best;
  best.reason = "nothing in the map looks like this";
  for (const KeyframeId id : places) {
    const auto found = map.keyframes.find(id);
    if (found == map.keyframes.end() || !found->second.IsActive()) continue;
    TrackResult result = tracker_.TrackAgainst(live, map, id, std::nullopt);
    const bool convincing = result.Placed() && result.inliers >= options_.min_inliers &&
                            result.InlierRatio() >= options_.min_inlier_ratio &&
                            result.overlap.point >= options_.min_overlap;
    if (convincing) {
      result.status = TrackStatus::kRelocalised;
      result.reason = StrCat("found again by keyframe ", id);
      return result;
    }
    if (result.inliers > best.inliers) {
      best = result;
      best.status = TrackStatus::kLost;
      if (best.reason.empty())
        best.reason = StrCat("only ", result.inliers, " of ", result.keypoints, " keypoints agree in space");
    }
  }
  return best;
}

}  // namespace lumen
