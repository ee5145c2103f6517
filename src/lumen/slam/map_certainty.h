// How sure the map is of its keyframes' places: the smoother's covariances after the path has been aligned,
// carried over to what errors are (`CertaintyOptions`).
#pragma once

#include "lumen/graph/incremental_smoother.h"
#include "lumen/scene/certainty.h"
#include "lumen/slam/frame_log.h"
#include "lumen/slam/slam_options.h"

namespace lumen {

class Mapper;

// A keyframe and how much it counts when the path is aligned: by the frames that hang on it.
struct WeightedKeyframe {
  KeyframeId id = 0;
  double weight = 1;
};

// Of keyframes of one sub-map, in order of time.
MapCertainty MeasureCertainty(const IncrementalSmoother& smoother,
                              const std::vector<WeightedKeyframe>& keyframes, const CertaintyOptions& options,
                              int threads);
// The same for a whole sub-map, keyframes that have retired included.
MapCertainty MeasureCertainty(const Mapper& mapper, const MapSnapshot& map, int submap,
                              const FrameLog& frames, const CertaintyOptions& options, int threads);

// Where a frame lies by its keyframe, and what tracking adds; nothing if it was not placed in that sub-map.
std::optional<PlaceCovariance> FrameCovariance(const PlacedFrame& frame, const MapSnapshot& map,
                                               const MapCertainty& certainty,
                                               const CertaintyOptions& options);

}  // namespace lumen
