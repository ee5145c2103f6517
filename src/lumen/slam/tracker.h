// Camera tracking: where is this frame, seen from the map? Predicts the pose, chooses the reference
// keyframe, matches descriptors, rejects outliers in space, refines with FM + RP.
#pragma once

#include <optional>

#include "lumen/factors/overlap.h"
#include "lumen/scene/map.h"
#include "lumen/slam/slam_options.h"

namespace lumen {

// A frame on its way through the front end.
struct LiveFrame {
  std::shared_ptr<const Frame> frame;
  mutable Image<float> average_depth;  // in a unit of its own; empty: not asked for yet
  std::function<Image<float>()> make_average_depth = nullptr;
  std::function<RgbImage()> fine = nullptr;  // see InputFrame

  const Image<float>& AverageDepth() const {
    if (average_depth.Empty()) average_depth = make_average_depth();
    return average_depth;
  }
};

enum class TrackStatus {
  kTracked,
  kWeak,         // placed, but by little evidence: the reason says which
  kLost,         // not placed
  kRelocalised,  // placed again after having been lost
  kStarted,      // the first frame of a map
};
std::string ToString(TrackStatus status);

struct TrackResult {
  TrackStatus status = TrackStatus::kLost;
  std::string reason;  // in words, unless all is well
  KeyframeId reference = -1;
  Rigid3 world_from_camera;
  Rigid3 camera_from_reference;
  int keypoints = 0;         // tried against the reference
  int consistent = 0;        // that passed the cycle check
  int inliers = 0;           // that agree in space, or lie where they were foreseen
  bool foreseen = false;     // the latter: nearly all of them do, and nothing else was asked
  double explained = 0;      // share of the cycle-checked matches the final pose explains
  double mismatch = 0;       // median distance in pixels by which it misses them
  double rest_mismatch = 0;  // what a tenth of them is beyond
  double moving = 0;        // share of the picture, where there are matches, that does not move with the rest
  double depth_spread = 0;  // of the frame's depth about the map's, over those matches; 0: too few
  double depth = 0;         // mean of the reference's, in map units: what distances here are measured in
  Overlap overlap;          // of the reference, in the frame
  double feature_error = 0;
  int iterations = 0;

  bool Placed() const { return status != TrackStatus::kLost; }
  double InlierRatio() const { return keypoints == 0 ? 0 : static_cast<double>(inliers) / keypoints; }
  double ConsistentInlierRatio() const {
    return consistent == 0 ? 0 : static_cast<double>(inliers) / consistent;
  }
};

// Where the camera was, for the prediction; poses are world_from_camera.
struct Motion {
  struct Moment {
    double time = 0;
    Rigid3 pose;
  };
  std::optional<Moment> last;
  std::optional<Moment> before_last;
  // Constant velocity, for a while; the last pose where nothing else is known.
  Rigid3 Predict(double time) const;
};

// Says what is wrong with a picture that cannot be used; empty if it can.
std::string FindImageFault(const RgbImage& image, const TrackingOptions& options);

class Tracker {
 public:
  explicit Tracker(const TrackingOptions& options) : options_(options) {}

  // How far a match may lie off along its ray, as the video shows.
  void SetDepthNoise(double share) { options_.matching.depth_noise = share; }

  // Against the closest keyframe of `map` that looks alike; `reference` is the present one.
  TrackResult Track(const LiveFrame& live, const MapSnapshot& map, KeyframeId reference,
                    const Motion& motion);
  // Against one keyframe, from a guess of camera_from_keyframe or, without one, from the matches alone.
  TrackResult TrackAgainst(const LiveFrame& live, const MapSnapshot& map, KeyframeId id,
                           const std::optional<Rigid3>& camera_from_keyframe);

 private:
  struct Reference {
    KeyframeId id = -1;
    KeyframeState state;
    std::shared_ptr<const KeyframeSamples> samples;
    DepthImage depth;
  };
  const Reference& Prepare(const MapSnapshot& map, KeyframeId id);
  // Matches that hold: those that lie where `foreseen` (camera_from_keyframe) puts them, if these are most of
  // them; otherwise those that agree in space with the frame's own depth.
  struct Matched {
    PairRegistration pair;
    bool foreseen = false;
  };
  Matched Match(const Reference& reference, const LiveFrame& live,
                const std::optional<Rigid3>& foreseen) const;
  TrackResult Align(const LiveFrame& live, const Reference& reference, const Matched& found,
                    const std::optional<Rigid3>& camera_from_keyframe) const;
  void Judge(TrackResult& result) const;

  TrackingOptions options_;
  std::vector<Reference> prepared_;  // the last few references, newest last
};

// The keyframe nearest to a pose among those of a sub-map, by distance in mean depths plus the angle
// between the optical axes.
KeyframeId FindClosestKeyframe(const MapSnapshot& map, const Rigid3& world_from_camera, int submap);
// What distances near a keyframe are measured in: the root mean square of its average depth, in map units.
double MeanDepth(const MapKeyframe& keyframe);
double PoseDistance(const MapKeyframe& keyframe, const Rigid3& world_from_camera);

}  // namespace lumen
