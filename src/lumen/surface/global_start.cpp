#include "lumen/surface/global_start.h"

#include <Eigen/Geometry>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "lumen/base/parallel.h"
#include "lumen/base/random.h"
#include "lumen/surface/point_grid.h"

namespace lumen {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

constexpr int kBins = 11;
constexpr int kChunk = 64;

int BinOf(double value, double low, double high) {
  return std::clamp(static_cast<int>((value - low) / (high - low) * kBins), 0, kBins - 1);
}

struct Neighbour {
  int index;
  double squared;
};

std::vector<std::vector<Neighbour>> FindNeighbours(const SurfacePoints& points, double radius, int threads) {
  const PointGrid grid(points.points, radius);
  std::vector<std::vector<Neighbour>> neighbours(points.Size());
  ParallelChunks(static_cast<int64_t>(points.Size()), kChunk, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      grid.ForEachWithin(points.points[i], radius, [&](int k, double squared) {
        if (static_cast<size_t>(k) != i && squared > 0) neighbours[i].push_back({k, squared});
      });
    }
  });
  return neighbours;
}

// Darboux angles of a point and its neighbours.
ShapeFeature SimpleFeature(const SurfacePoints& points, size_t i, const std::vector<Neighbour>& neighbours) {
  ShapeFeature feature = ShapeFeature::Zero();
  const Vector3d& u = points.normals[i];
  for (const Neighbour& neighbour : neighbours) {
    const auto k = static_cast<size_t>(neighbour.index);
    const Vector3d direction = (points.points[k] - points.points[i]) / std::sqrt(neighbour.squared);
    const Vector3d v = direction.cross(u).normalized();
    const Vector3d w = u.cross(v);
    const Vector3d& other = points.normals[k];
    feature[BinOf(v.dot(other), -1, 1)] += 1;
    feature[kBins + BinOf(u.dot(direction), -1, 1)] += 1;
    feature[2 * kBins + BinOf(std::atan2(w.dot(other), u.dot(other)), -std::numbers::pi, std::numbers::pi)] +=
        1;
  }
  return neighbours.empty() ? feature : ShapeFeature(feature / static_cast<float>(neighbours.size()));
}

}  // namespace

std::vector<ShapeFeature> ComputeShapeFeatures(const SurfacePoints& points, double radius, int threads) {
  const auto neighbours = FindNeighbours(points, radius, threads);
  const auto count = static_cast<int64_t>(points.Size());
  std::vector<ShapeFeature> simple(points.Size()), features(points.Size());
  ParallelChunks(count, kChunk, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      simple[i] = SimpleFeature(points, i, neighbours[i]);
  });
  ParallelChunks(count, kChunk, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      ShapeFeature around = ShapeFeature::Zero();
      float weight = 0;
      for (const Neighbour& neighbour : neighbours[i]) {
        const auto w = static_cast<float>(1 - std::sqrt(neighbour.squared) / radius);
        around += w * simple[static_cast<size_t>(neighbour.index)];
        weight += w;
      }
      features[i] = simple[i] + (weight > 0 ? ShapeFeature(around / weight) : ShapeFeature::Zero());
    }
  });
  return features;
}

namespace {

struct Match {
  size_t surface, model;
};

std::vector<Match> MatchFeatures(const std::vector<ShapeFeature>& surface,
                                 const std::vector<ShapeFeature>& model, int matches, int threads) {
  const auto best = static_cast<size_t>(matches);
  std::vector<Match> found(surface.size() * best);
  ParallelChunks(static_cast<int64_t>(surface.size()), kChunk, threads, [&](int64_t begin, int64_t end) {
    std::vector<std::pair<float, size_t>> order(model.size());
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      for (size_t k = 0; k < model.size(); ++k) order[k] = {(surface[i] - model[k]).squaredNorm(), k};
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best), order.end());
      for (size_t m = 0; m < best; ++m) found[i * best + m] = {i, order[m].second};
    }
  });
  return found;
}

// The nearest of many model points, looked up in one step.
class NearestLookup {
 public:
  NearestLookup(const SurfacePoints& model, double reach) : model_(model), cell_(reach / 2) {
    Eigen::AlignedBox3d box;
    for (const Vector3d& p : model.points) box.extend(p);
    low_ = box.min() - Vector3d::Constant(2 * reach);
    size_ = ((box.max() - low_) / cell_).array().cast<int>() + 5;
    nearest_.assign(
        static_cast<size_t>(size_.x()) * static_cast<size_t>(size_.y()) * static_cast<size_t>(size_.z()), -1);
    for (size_t i = 0; i < model.Size(); ++i) Spread(static_cast<int>(i));
  }

  // Whether a model point with about this normal lies within the tolerance.
  bool Agrees(const Vector3d& p, const Vector3d& n, double tolerance) const {
    const Vector3d g = (p - low_) / cell_;
    if (!(g.minCoeff() >= 0)) return false;
    const Eigen::Vector3i c = g.cast<int>();
    if ((c.array() >= size_.array()).any()) return false;
    const int nearest = nearest_[Index(c)];
    if (nearest < 0) return false;
    const Vector3d& normal = model_.normals[static_cast<size_t>(nearest)];
    const Vector3d offset = p - model_.points[static_cast<size_t>(nearest)];
    constexpr double kLeastCosine = 0.7;
    return std::abs(offset.dot(normal)) < 0.5 * tolerance && offset.norm() < 1.5 * tolerance &&
           n.dot(normal) > kLeastCosine;
  }

 private:
  size_t Index(const Eigen::Vector3i& c) const {
    return (static_cast<size_t>(c.z()) * static_cast<size_t>(size_.y()) + static_cast<size_t>(c.y())) *
               static_cast<size_t>(size_.x()) +
           static_cast<size_t>(c.x());
  }
  void Spread(int i) {
    const Vector3d& p = model_.points[static_cast<size_t>(i)];
    const Eigen::Vector3i centre = ((p - low_) / cell_).cast<int>();
    for (int z = -2; z <= 2; ++z) {
      for (int y = -2; y <= 2; ++y) {
        for (int x = -2; x <= 2; ++x) {
          const Eigen::Vector3i c = centre + Eigen::Vector3i(x, y, z);
          const Vector3d middle = low_ + cell_ * (c.cast<double>() + Vector3d::Constant(0.5));
          int& nearest = nearest_[Index(c)];
          if (nearest < 0 || (middle - p).squaredNorm() <
                                 (middle - model_.points[static_cast<size_t>(nearest)]).squaredNorm())
            nearest = i;
        }
      }
    }
  }

  const SurfacePoints& model_;
  double cell_;
  Vector3d low_;
  Eigen::Vector3i size_;
  std::vector<int> nearest_;
};

// Two oriented points, from one to the other.
struct Pair {
  Vector3d direction;
  double length;
  Vector3d first_normal, second_normal;
};

Pair MakePair(const SurfacePoints& points, size_t first, size_t second) {
  const Vector3d d = points.points[second] - points.points[first];
  const double length = d.norm();
  return {d / std::max(length, 1e-12), length, points.normals[first], points.normals[second]};
}

bool SameAngles(const Pair& a, const Pair& b) {
  constexpr double kTolerance = 0.3;  // of cosines
  return std::abs(a.first_normal.dot(a.direction) - b.first_normal.dot(b.direction)) < kTolerance &&
         std::abs(a.second_normal.dot(a.direction) - b.second_normal.dot(b.direction)) < kTolerance &&
         std::abs(a.first_normal.dot(a.second_normal) - b.first_normal.dot(b.second_normal)) < kTolerance;
}

// The rotation that best turns the pair's three directions into the other's.
Matrix3d AlignPairs(const Pair& from, const Pair& to) {
  const Matrix3d sum = 2 * to.direction * from.direction.transpose() +
                       to.first_normal * from.first_normal.transpose() +
                       to.second_normal * from.second_normal.transpose();
  const Eigen::JacobiSVD<Matrix3d> svd(sum, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Matrix3d sign = Matrix3d::Identity();
  sign(2, 2) = (svd.matrixU() * svd.matrixV().transpose()).determinant();
  return svd.matrixU() * sign * svd.matrixV().transpose();
}

bool Alike(const Sim3& a, const Sim3& b, double radius) {
  return RotationAngle(a.Rotation(), b.Rotation()) < 0.15 &&
         std::abs(std::log(a.Scale() / b.Scale())) < 0.1 &&
         (a.Translation() - b.Translation()).norm() < 0.15 * radius;
}

// The best that are unlike each other. `radius` is the surface's, in the model's unit.
std::vector<StartCandidate> KeepBest(std::vector<StartCandidate> found, double radius, int kept_count) {
  std::stable_sort(found.begin(), found.end(),
                   [](const StartCandidate& a, const StartCandidate& b) { return a.score > b.score; });
  std::vector<StartCandidate> kept;
  for (const StartCandidate& candidate : found) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const StartCandidate& other) {
      return Alike(candidate.model_from_surface, other.model_from_surface, radius);
    });
    if (!known) kept.push_back(candidate);
    if (kept.size() == static_cast<size_t>(kept_count)) break;
  }
  return kept;
}

// The share of every third point that lies on the model.
double ScoreStart(const SurfacePoints& surface, const NearestLookup& lookup, const Sim3& start,
                  double tolerance) {
  size_t agree = 0, seen = 0;
  for (size_t i = 0; i < surface.Size(); i += 3) {
    ++seen;
    agree +=
        lookup.Agrees(start * surface.points[i], start.Rotation() * surface.normals[i], tolerance) ? 1 : 0;
    if (seen == 40 && agree < 10) break;  // hopeless
  }
  return static_cast<double>(agree) * 3 / static_cast<double>(surface.Size());
}

// All that one scale hypothesis needs.
class ScaleSearch {
 public:
  ScaleSearch(const SurfacePoints& surface, const SurfacePoints& model, const SurfacePoints& dense,
              double scale, const GlobalStartOptions& options)
      : surface_(surface),
        model_(model),
        options_(options),
        scale_(scale),
        radius_(ComputeRadius(surface)),
        tolerance_(0.12 * scale * radius_),
        lookup_(dense, 1.5 * tolerance_) {}

  std::vector<StartCandidate> Run(const std::vector<ShapeFeature>& features, uint64_t stream) const {
    const auto model_features = ComputeShapeFeatures(model_, options_.feature_radius * radius_ * scale_, 1);
    const std::vector<Match> matches = MatchFeatures(features, model_features, options_.matches, 1);
    Random random = Random(options_.seed).Split(stream);
    std::vector<StartCandidate> found;
    const auto last = static_cast<int64_t>(matches.size()) - 1;
    for (int trial = 0; trial < options_.trials && !Stopped(); ++trial) {
      const Match& a = matches[static_cast<size_t>(random.UniformInt(0, last))];
      const Match& b = matches[static_cast<size_t>(random.UniformInt(0, last))];
      const auto start = Propose(a, b);
      if (start && (!options_.possible || options_.possible(*start)))
        found.push_back({*start, ScoreStart(surface_, lookup_, *start, tolerance_)});
    }
    return KeepBest(Weigh(std::move(found)), radius_ * scale_, options_.kept);
  }

 private:
  bool Stopped() const { return options_.stop != nullptr && *options_.stop; }

  // What costs more to ask is asked of the best only.
  std::vector<StartCandidate> Weigh(std::vector<StartCandidate> found) const {
    if (!options_.weigh) return found;
    found = KeepBest(std::move(found), radius_ * scale_, 5 * options_.kept);
    for (StartCandidate& start : found) start.score *= options_.weigh(start.model_from_surface);
    std::erase_if(found, [](const StartCandidate& start) { return start.score <= 0; });
    return found;
  }

  std::optional<Sim3> Propose(const Match& a, const Match& b) const {
    const Pair from = MakePair(surface_, a.surface, b.surface);
    if (from.length < 0.7 * radius_) return std::nullopt;
    const Pair to = MakePair(model_, a.model, b.model);
    const double ratio = to.length / (from.length * scale_);
    if (ratio > options_.scale_step || ratio < 1 / options_.scale_step || !SameAngles(from, to))
      return std::nullopt;
    const Eigen::Quaterniond rotation(AlignPairs(from, to));
    const double scale = to.length / from.length;
    const Vector3d middle = 0.5 * (surface_.points[a.surface] + surface_.points[b.surface]);
    const Vector3d target = 0.5 * (model_.points[a.model] + model_.points[b.model]);
    return Sim3(scale, rotation, target - scale * (rotation * middle));
  }

  const SurfacePoints& surface_;
  const SurfacePoints& model_;
  const GlobalStartOptions& options_;
  double scale_, radius_, tolerance_;
  NearestLookup lookup_;
};

double DiagonalOf(const SurfacePoints& points) {
  Eigen::AlignedBox3d box;
  for (const Vector3d& p : points.points) box.extend(p);
  return box.diagonal().norm();
}

}  // namespace

std::vector<StartCandidate> FindStarts(const SurfacePoints& surface, const SurfacePoints& model,
                                       const SurfacePoints& dense, const GlobalStartOptions& options,
                                       int threads) {
  const double most =
      options.most_scale > 0 ? options.most_scale : 1.1 * DiagonalOf(model) / DiagonalOf(surface);
  const double least = options.least_scale > 0 ? options.least_scale : most / 10;
  const auto steps =
      static_cast<int64_t>(std::max(1.0, std::ceil(std::log(most / least) / std::log(options.scale_step))));
  const auto features =
      ComputeShapeFeatures(surface, options.feature_radius * ComputeRadius(surface), threads);
  std::vector<std::vector<StartCandidate>> by_scale(static_cast<size_t>(steps));
  ParallelFor(steps, threads, [&](int64_t i) {
    const double scale =
        least * std::pow(most / least, (static_cast<double>(i) + 0.5) / static_cast<double>(steps));
    const ScaleSearch search(surface, model, dense, scale, options);
    by_scale[static_cast<size_t>(i)] = search.Run(features, static_cast<uint64_t>(i));
  });
  std::vector<StartCandidate> all;
  for (const auto& candidates : by_scale) all.insert(all.end(), candidates.begin(), candidates.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const StartCandidate& a, const StartCandidate& b) { return a.score > b.score; });
  if (all.size() > kMostStarts) all.resize(kMostStarts);
  return all;
}

std::vector<StartCandidate> FindStartsNear(const SurfacePoints& surface, const SurfacePoints& dense,
                                           const Sim3& guess, const GuessRange& range,
                                           const GlobalStartOptions& options) {
  const double radius = ComputeRadius(surface) * guess.Scale();
  const double tolerance = 0.12 * radius;
  const NearestLookup lookup(dense, 1.5 * tolerance);
  const Vector3d centre = guess * ComputeCentre(surface);
  const Sim3 to(1, Eigen::Quaterniond::Identity(), centre);
  Random random = Random(options.seed).Split("near");
  const auto draw = [&] {
    const double x = random.Normal(), y = random.Normal(), z = random.Normal();
    return Vector3d(Vector3d(x, y, z).normalized() * std::cbrt(random.Uniform()));
  };
  std::vector<StartCandidate> found;
  constexpr int kDraws = 6000;
  for (int i = 0; i < kDraws; ++i) {
    const Vector3d turn = draw() * range.degrees * std::numbers::pi / 180;
    const Vector3d move = draw() * range.distance;
    const double scale = std::pow(range.scale, random.Uniform(-1, 1));
    const Sim3 start = to * Sim3(scale, ExpSO3(turn), move) * to.Inverse() * guess;
    found.push_back({start, ScoreStart(surface, lookup, start, tolerance)});
  }
  if (options.weigh) {
    found = KeepBest(std::move(found), radius, 3 * options.near_kept);
    for (StartCandidate& start : found) start.score *= options.weigh(start.model_from_surface);
  }
  found = KeepBest(std::move(found), radius, options.near_kept);
  found.push_back({guess, ScoreStart(surface, lookup, guess, tolerance)});
  return found;
}

}  // namespace lumen
