// Where an endoscope went, as ways: a line from where it came in to the farthest place it reached, and one
// for each branch it turned into. Paths go in and out, stop and come back; the ways do not.
#pragma once

#include <optional>
#include <vector>

#include "lumen/geometry/curve.h"

namespace lumen {

struct WayOptions {
  double spacing = 1;       // between the places that are told apart; a quarter of the room about them
  double smoothing = 0;     // standard deviation along a way
  double least_branch = 8;  // shorter ones are no ways of their own, but for the first
  double step = 0.5;        // between the samples of a way
};

// The longest first; it begins at the end where the path began. None if the path hardly moves.
std::vector<ArcCurve> FindWays(const std::vector<Eigen::Vector3d>& path, const WayOptions& options);

// Where a place lies along ways.
struct PlaceOnWay {
  int way = -1;
  CurveLocator::Place place;
};

class WayLocator {
 public:
  // `reach`: how far from a way places are asked for, at most about.
  WayLocator(const std::vector<ArcCurve>& ways, float reach);
  // On the way it is nearest to; nothing for what lies beyond a way's ends.
  std::optional<PlaceOnWay> Locate(const Eigen::Vector3f& p) const;
  const ArcCurve& Way(int way) const { return locators_[static_cast<size_t>(way)].Curve(); }
  int Count() const { return static_cast<int>(locators_.size()); }

 private:
  std::vector<CurveLocator> locators_;
};

}  // namespace lumen
