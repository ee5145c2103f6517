#include "lumen/coverage/way.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

// The places a path went through, told apart by a spacing, and which of them one can go between: those it
// went between, and those that are near each other.
class PlaceGraph {
 public:
  PlaceGraph(const std::vector<Vector3d>& path, double spacing);
  size_t Size() const { return places_.size(); }
  const Vector3d& At(int place) const { return places_[static_cast<size_t>(place)]; }

  // How far every place is from the nearest of `from`, and the place before it on the way there.
  struct Distances {
    std::vector<double> to;
    std::vector<int> before;
    int Farthest() const;
  };
  Distances Measure(const std::vector<int>& from) const;

 private:
  struct Edge {
    int to;
    double length;
  };
  void Join(int a, int b);
  std::vector<Vector3d> places_;
  std::vector<std::vector<Edge>> edges_;
};

PlaceGraph::PlaceGraph(const std::vector<Vector3d>& path, double spacing) {
  int before = -1;
  for (const Vector3d& p : path) {
    int nearest = -1;
    double best = spacing;
    for (size_t i = 0; i < places_.size(); ++i) {
      const double away = (places_[i] - p).norm();
      if (away < best) {
        best = away;
        nearest = static_cast<int>(i);
      }
    }
    if (nearest < 0) {
      nearest = static_cast<int>(places_.size());
      places_.push_back(p);
      edges_.emplace_back();
    }
    if (before >= 0 && before != nearest) Join(before, nearest);
    before = nearest;
  }
  constexpr double kNear = 4.5;  // spacings: as far as there is air, in and out again lead side by side
  for (size_t a = 0; a < places_.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if ((places_[a] - places_[b]).norm() < kNear * spacing) Join(static_cast<int>(a), static_cast<int>(b));
}

void PlaceGraph::Join(int a, int b) {
  const double length = (At(a) - At(b)).norm();
  edges_[static_cast<size_t>(a)].push_back({b, length});
  edges_[static_cast<size_t>(b)].push_back({a, length});
}

int PlaceGraph::Distances::Farthest() const {
  int farthest = 0;
  for (size_t i = 0; i < to.size(); ++i)
    if (std::isfinite(to[i]) && to[i] > to[static_cast<size_t>(farthest)]) farthest = static_cast<int>(i);
  return farthest;
}

PlaceGraph::Distances PlaceGraph::Measure(const std::vector<int>& from) const {
  using Open = std::pair<double, int>;
  Distances found{std::vector<double>(places_.size(), kFar), std::vector<int>(places_.size(), -1)};
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  for (const int place : from) {
    found.to[static_cast<size_t>(place)] = 0;
    open.emplace(0.0, place);
  }
  while (!open.empty()) {
    const auto [distance, place] = open.top();
    open.pop();
    if (distance > found.to[static_cast<size_t>(place)]) continue;
    for (const Edge& edge : edges_[static_cast<size_t>(place)]) {
      double& to = found.to[static_cast<size_t>(edge.to)];
      if (distance + edge.length >= to) continue;
      to = distance + edge.length;
      found.before[static_cast<size_t>(edge.to)] = place;
      open.emplace(to, edge.to);
    }
  }
  return found;
}

// From a place back to one that was measured from.
std::vector<int> Trace(const PlaceGraph::Distances& distances, int place) {
  std::vector<int> way;
  for (int at = place; at >= 0; at = distances.before[static_cast<size_t>(at)]) way.push_back(at);
  return way;
}

std::vector<Vector3f> Smooth(const std::vector<Vector3f>& points, double sigma_points) {
  const int reach = static_cast<int>(std::ceil(3 * sigma_points)), last = static_cast<int>(points.size()) - 1;
  if (reach < 1) return points;
  std::vector<Vector3f> smooth;
  for (int i = 0; i <= last; ++i) {
    const int both = std::min({reach, i, last - i});  // ends stay where they are
    Vector3f sum = points[static_cast<size_t>(i)];
    float total = 1;
    for (int k = 1; k <= both; ++k) {
      const auto weight = static_cast<float>(std::exp(-0.5 * k * k / (sigma_points * sigma_points)));
      sum += weight * (points[static_cast<size_t>(i - k)] + points[static_cast<size_t>(i + k)]);
      total += 2 * weight;
    }
    smooth.emplace_back(sum / total);
  }
  return smooth;
}

ArcCurve MakeWay(const PlaceGraph& graph, const std::vector<int>& places, const WayOptions& options) {
  std::vector<Vector3f> points;
  for (const int place : places) points.push_back(graph.At(place).cast<float>());
  const auto step = static_cast<float>(options.step);
  // Even samples first: places are a spacing apart, more or less.
  const ArcCurve rough(points, step);
  std::vector<Vector3f> even;
  for (const CurvePoint& point : rough.Points()) even.push_back(point.position);
  return {Smooth(even, options.smoothing / options.step), step};
}

}  // namespace

std::vector<ArcCurve> FindWays(const std::vector<Vector3d>& path, const WayOptions& options) {
  std::vector<ArcCurve> ways;
  const PlaceGraph graph(path, options.spacing);
  if (graph.Size() < 3) return ways;
  const int one_end = graph.Measure({0}).Farthest();
  const PlaceGraph::Distances along = graph.Measure({one_end});
  std::vector<int> trunk = Trace(along, along.Farthest());
  // Places are numbered as they were first reached: the way begins at the end that came first.
  if (trunk.front() > trunk.back()) std::reverse(trunk.begin(), trunk.end());
  ways.push_back(MakeWay(graph, trunk, options));
  std::vector<int> known = trunk;
  while (true) {
    const PlaceGraph::Distances away = graph.Measure(known);
    const int tip = away.Farthest();
    if (away.to[static_cast<size_t>(tip)] < options.least_branch) return ways;
    std::vector<int> branch = Trace(away, tip);
    std::reverse(branch.begin(), branch.end());
    if (branch.size() >= 3) ways.push_back(MakeWay(graph, branch, options));
    known.insert(known.end(), branch.begin(), branch.end());
  }
}

WayLocator::WayLocator(const std::vector<ArcCurve>& ways, float reach) {
  for (const ArcCurve& way : ways) locators_.emplace_back(way, reach);
}

std::optional<PlaceOnWay> WayLocator::Locate(const Vector3f& p) const {
  PlaceOnWay best;
  float nearest = std::numeric_limits<float>::infinity();
  for (int way = 0; way < Count(); ++way) {
    const CurveLocator::Place place = locators_[static_cast<size_t>(way)].Locate(p);
    const float away = std::hypot(place.radius, place.overshoot);
    if (away >= nearest) continue;
    nearest = away;
    best = {way, place};
  }
  if (best.way < 0 || best.place.overshoot != 0) return std::nullopt;
  return best;
}

}  // namespace lumen
