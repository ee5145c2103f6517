#include "lumen/sim/route.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "lumen/base/error.h"

namespace lumen {

using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

constexpr int kEntryReach = 4;  // cells around the entry that are searched for room
constexpr int kSmoothingRounds = 120;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Shortest paths from one place to all others over a grid of air, where a mm near the wall costs more.
class RouteGrid {
 public:
  RouteGrid(const DistanceField& field, float clearance)
      : field_(field), clearance_(clearance), cell_(0.6F * clearance), origin_(field.Bounds().min()) {
    size_ = (field.Bounds().sizes() / cell_).array().floor().cast<int>() + 1;
    distance_.assign(static_cast<size_t>(size_.prod()), kUnknown);
    cost_.assign(distance_.size(), std::numeric_limits<float>::infinity());
    parent_.assign(distance_.size(), -1);
  }

  // False: there is no air at the entry.
  bool SearchFrom(const Vector3f& entry);
  // From the entry to the reachable node nearest to the goal.
  std::vector<Vector3f> PathTo(const Vector3f& goal) const;

 private:
  using Entry = std::pair<float, int>;  // cost, node
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  Vector3i Node(int index) const {
    return {index % size_.x(), index / size_.x() % size_.y(), index / (size_.x() * size_.y())};
  }
  int Index(const Vector3i& node) const { return (node.z() * size_.y() + node.y()) * size_.x() + node.x(); }
  Vector3f Position(int index) const { return origin_ + cell_ * Node(index).cast<float>(); }
  float DistanceAt(int index) {
    float& value = distance_[static_cast<size_t>(index)];
    if (std::isnan(value)) value = field_.Distance(Position(index));
    return value;
  }
  int FindStart(const Vector3f& entry);
  void RelaxNeighbours(int index, Queue& queue);

  const DistanceField& field_;
  float clearance_, cell_;
  Vector3f origin_;
  Vector3i size_;
  std::vector<float> distance_, cost_;
  std::vector<int> parent_;
};

// The roomiest node within a few cells of where the shape says its entry is; -1 if there is no air.
int RouteGrid::FindStart(const Vector3f& entry) {
  const Vector3i middle = ((entry - origin_) / cell_).array().round().cast<int>();
  int best = -1;
  for (int z = -kEntryReach; z <= kEntryReach; ++z) {
    for (int y = -kEntryReach; y <= kEntryReach; ++y) {
      for (int x = -kEntryReach; x <= kEntryReach; ++x) {
        const Vector3i node =
            (middle + Vector3i(x, y, z)).cwiseMax(0).cwiseMin(size_.array().matrix() - Vector3i::Ones());
        const int index = Index(node);
        if (best < 0 || DistanceAt(index) > DistanceAt(best)) best = index;
      }
    }
  }
  return DistanceAt(best) > clearance_ ? best : -1;
}

void RouteGrid::RelaxNeighbours(int index, Queue& queue) {
  const Vector3i node = Node(index);
  const float here = cost_[static_cast<size_t>(index)];
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        const Vector3i step(x, y, z);
        const Vector3i next = node + step;
        if (step.isZero() || next.minCoeff() < 0 || (size_ - next).minCoeff() <= 0) continue;
        const int other = Index(next);
        const float d = DistanceAt(other);
        if (d < 1.25F * clearance_) continue;
        const float nearness = 3 * clearance_ / d;
        const float cost = here + cell_ * step.cast<float>().norm() * (1 + nearness * nearness);
        if (cost >= cost_[static_cast<size_t>(other)]) continue;
        cost_[static_cast<size_t>(other)] = cost;
        parent_[static_cast<size_t>(other)] = index;
        queue.emplace(cost, other);
      }
    }
  }
}

bool RouteGrid::SearchFrom(const Vector3f& entry) {
  Queue queue;
  const int start = FindStart(entry);
  if (start < 0) return false;
  cost_[static_cast<size_t>(start)] = 0;
  queue.emplace(0.0F, start);
  while (!queue.empty()) {
    const auto [cost, index] = queue.top();
    queue.pop();
    if (cost > cost_[static_cast<size_t>(index)]) continue;
    RelaxNeighbours(index, queue);
  }
  return true;
}

std::vector<Vector3f> RouteGrid::PathTo(const Vector3f& goal) const {
  int best = -1;
  float nearest = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < cost_.size(); ++i) {
    if (!std::isfinite(cost_[i])) continue;
    const float away = (Position(static_cast<int>(i)) - goal).squaredNorm();
    if (away < nearest) {
      nearest = away;
      best = static_cast<int>(i);
    }
  }
  std::vector<Vector3f> path;
  for (int i = best; i >= 0; i = parent_[static_cast<size_t>(i)]) path.push_back(Position(i));
  std::reverse(path.begin(), path.end());
  return path;
}

// A point moved up the distance until it keeps `wanted`, as far as it can.
Vector3f PushOffWall(const DistanceField& field, Vector3f p, float wanted) {
  for (int i = 0; i < 8; ++i) {
    const float lacking = wanted - field.Distance(p);
    if (lacking <= 0) break;
    const Vector3f up = field.Gradient(p);
    if (up.norm() < 1e-3F) break;
    p += up.normalized() * std::min(lacking, 0.5F * wanted);
  }
  return p;
}

// Grid paths have corners: smooth them, but never at the price of the clearance.
void SmoothRoute(const DistanceField& field, float clearance, std::vector<Vector3f>& path) {
  for (int round = 0; round < kSmoothingRounds; ++round) {
    std::vector<Vector3f> next = path;
    for (size_t i = 1; i + 1 < path.size(); ++i) {
      const Vector3f middle = 0.25F * path[i - 1] + 0.5F * path[i] + 0.25F * path[i + 1];
      next[i] = PushOffWall(field, middle, 1.3F * clearance);
      if (field.Distance(next[i]) < 1.1F * clearance) next[i] = path[i];
    }
    path = next;
  }
}

}  // namespace

std::vector<ArcCurve> PlanRoutes(const DistanceField& field, const RouteTask& task) {
  RouteGrid grid(field, task.clearance);
  std::vector<ArcCurve> routes;
  if (!grid.SearchFrom(task.entry)) return routes;
  for (const Vector3f& goal : task.goals) {
    std::vector<Vector3f> path = grid.PathTo(goal);
    if (path.size() < 3) continue;
    SmoothRoute(field, task.clearance, path);
    routes.emplace_back(path, 0.5F);
  }
  return routes;
}

}  // namespace lumen
