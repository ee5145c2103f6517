// Keeps the sharp points of the map's keyframes and where the keyframes they are connected with see them, and
// makes of each keyframe's points one factor.
#pragma once

#include <map>

#include "lumen/factors/sharp_points_factor.h"
#include "lumen/points/point_matching.h"
#include "lumen/scene/map.h"

namespace lumen {

struct PointMapOptions {
  PointOptions find;
  SharpPointsOptions factor;
  int reach = 6;   // keyframes back that points are looked for in, connected or not
  int least = 12;  // points that make a factor

  void Describe(ConfigVisitor& visitor);
};

class PointBook {
 public:
  explicit PointBook(const PointMapOptions& options) : options_(options) {}

  // Nothing to keep where the frame has no fine picture.
  void Add(KeyframeId id, const Keyframe& keyframe, double unit);
  // Each looks for its points in the other, from where the states have them.
  void Connect(KeyframeId a, const MapKeyframe& first, KeyframeId b, const MapKeyframe& second);
  void Disconnect(KeyframeId a, KeyframeId b);
  void Remove(KeyframeId id);  // which nothing is connected with any more

  // All pairs that were connected, each once.
  std::vector<std::pair<KeyframeId, KeyframeId>> Pairs() const;

  // Keyframes whose sightings changed since this was last asked.
  std::vector<KeyframeId> TakeChanged();
  // Null where too few points were seen again.
  FactorPtr MakeFactor(KeyframeId id) const;
  size_t NumSightings() const;

 private:
  struct Entry {
    PointSet points;
    double unit = 1;
    std::vector<SharpPoint> known;                        // by point, without sightings
    std::map<KeyframeId, std::vector<Sighting>> seen_by;  // by keyframe
    bool changed = false;
  };

  PointMapOptions options_;
  std::map<KeyframeId, Entry> entries_;
};

}  // namespace lumen
