#include "lumen/slam/point_book.h"

#include <Eigen/Cholesky>

#include "lumen/factors/bilinear.h"

namespace lumen {

namespace {

// A point with what the basis says of its depth, between the basis's pixels.
SharpPoint MakePoint(const Eigen::Vector2d& fine, const PointSet& points, const DepthBasis& depth) {
  SharpPoint point;
  point.ray = points.camera.RayAtUnitDepth(fine.x(), fine.y());
  const Eigen::Vector2d pixel = (fine.array() + 0.5) / points.times - 0.5;
  const int width = depth.average.Width();
  const auto cell = CellAt<double>(pixel.x(), pixel.y(), width, depth.average.Height());
  const auto weights = cell.Weights();
  const int first = cell.PixelIndex(width);
  point.average = Blend(depth.average.Data(), first, width, 1, weights);
  point.bases.resize(depth.NumBases());
  for (int k = 0; k < depth.NumBases(); ++k)
    point.bases[k] = Blend(depth.bases.Data() + k, first, width, depth.NumBases(), weights);
  return point;
}

// R with RᵀR = covariance⁻¹.
Eigen::Matrix2d RootOf(const Eigen::Matrix2d& covariance) {
  return covariance.llt().matrixL().solve(Eigen::Matrix2d::Identity());
}

}  // namespace

void PointMapOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("find", find);
  visitor.Group("factor", factor);
  visitor.Field("reach", reach, {.min = 0, .help = "keyframes back that points are looked for in"});
  visitor.Field("least", least, {.min = 1, .help = "points of a keyframe seen again that are of use"});
}

void PointBook::Add(KeyframeId id, const Keyframe& keyframe, double unit) {
  if (keyframe.fine.Empty() || options_.find.corners.count <= 0) return;
  Entry entry;
  entry.points = FindPoints(keyframe, options_.find);
  entry.unit = unit;
  std::erase_if(entry.points.points, [&](const Eigen::Vector2i& pixel) {
    return !(MakePoint(pixel.cast<double>(), entry.points, keyframe.depth).average > 0);
  });
  for (const Eigen::Vector2i& pixel : entry.points.points)
    entry.known.push_back(MakePoint(pixel.cast<double>(), entry.points, keyframe.depth));
  entries_.emplace(id, std::move(entry));
}

void PointBook::Connect(KeyframeId a, const MapKeyframe& first, KeyframeId b, const MapKeyframe& second) {
  const auto from = entries_.find(a), to = entries_.find(b);
  if (from == entries_.end() || to == entries_.end()) return;
  const auto depth = [](const MapKeyframe& keyframe) {
    return ComputeDepth(keyframe.keyframe->depth, keyframe.state.log_scale, keyframe.state.code);
  };
  const DepthImage first_depth = depth(first), second_depth = depth(second);
  const PointSide one{&from->second.points, &first_depth}, other{&to->second.points, &second_depth};
  const Rigid3 b_from_a = second.state.world_from_camera.Inverse() * first.state.world_from_camera;
  from->second.seen_by[b] = SeePoints(one, other, b_from_a, options_.find);
  to->second.seen_by[a] = SeePoints(other, one, b_from_a.Inverse(), options_.find);
  from->second.changed = to->second.changed = true;
}

void PointBook::Disconnect(KeyframeId a, KeyframeId b) {
  for (const auto& [id, other] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto entry = entries_.find(id);
    if (entry != entries_.end() && entry->second.seen_by.erase(other) > 0) entry->second.changed = true;
  }
}

void PointBook::Remove(KeyframeId id) {
  entries_.erase(id);
  for (auto& [other, entry] : entries_) {
    if (entry.seen_by.erase(id) > 0) entry.changed = true;
  }
}

std::vector<std::pair<KeyframeId, KeyframeId>> PointBook::Pairs() const {
  std::vector<std::pair<KeyframeId, KeyframeId>> pairs;
  for (const auto& [id, entry] : entries_) {
    for (const auto& [other, sightings] : entry.seen_by) {
      if (other > id) pairs.emplace_back(id, other);
    }
  }
  return pairs;
}

std::vector<KeyframeId> PointBook::TakeChanged() {
  std::vector<KeyframeId> changed;
  for (auto& [id, entry] : entries_) {
    if (std::exchange(entry.changed, false)) changed.push_back(id);
  }
  return changed;
}

FactorPtr PointBook::MakeFactor(KeyframeId id) const {
  const Entry& entry = entries_.at(id);
  std::vector<SharpPoint> points = entry.known;
  std::vector<MapSide> targets;
  for (const auto& [other, sightings] : entry.seen_by) {
    if (sightings.empty()) continue;
    for (const Sighting& sighting : sightings) {
      points[static_cast<size_t>(sighting.point)].sightings.push_back(
          {static_cast<int>(targets.size()), sighting.pixel, RootOf(sighting.covariance)});
    }
    targets.push_back({other, entries_.at(other).unit});
  }
  std::erase_if(points, [](const SharpPoint& point) { return point.sightings.empty(); });
  if (static_cast<int>(points.size()) < options_.least) return nullptr;
  return std::make_shared<SharpPointsFactor>(MapSide{id, entry.unit}, targets, entry.points.camera,
                                             std::move(points), options_.factor);
}

size_t PointBook::NumSightings() const {
  size_t count = 0;
  for (const auto& [id, entry] : entries_) {
    for (const auto& [other, sightings] : entry.seen_by) count += sightings.size();
  }
  return count;
}

}  // namespace lumen
