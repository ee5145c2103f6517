// How far off what the map says may be: covariances of poses, in each camera's own frame.
#pragma once

#include <map>
#include <vector>

#include "lumen/geometry/sim3.h"
#include "lumen/scene/map.h"

namespace lumen {

// Of (position along the camera's axes, in map units | turn about them, in radians | log of the scale).
using PlaceCovariance = Matrix7d;

// After the similarity that brings the whole path of a sub-map nearest to where it was: what is left when a
// path is laid onto a truth or a CT.
struct MapCertainty {
  // One keyframe as it is seen from another.
  struct Step {
    KeyframeId from = 0, to = 0;
    PlaceCovariance covariance;
  };
  std::map<KeyframeId, PlaceCovariance> keyframes;
  std::vector<Step> steps;  // from each to the seventh after it, in order
};

inline constexpr int kCertaintyStep = 7;  // keyframes

// A frame is called weak from this probability on of being off (by more than a tenth of its view's depth, or
// five degrees): at the end, and at once, where less is known and more would be called so for nothing.
inline constexpr double kWeakFrom = 0.08;
inline constexpr double kWeakAtOnce = 0.25;

// The covariance of a camera that lies so with a keyframe (or with its host), and moves and grows with it.
PlaceCovariance CarryCovariance(const PlaceCovariance& keyframe, const Rigid3& keyframe_from_camera);

}  // namespace lumen
