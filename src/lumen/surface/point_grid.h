// Points in a hash of cubic cells: who lies within a radius.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lumen {

class PointGrid {
 public:
  PointGrid(const std::vector<Eigen::Vector3d>& points, double cell) : points_(points), cell_(cell) {
    for (size_t i = 0; i < points.size(); ++i) cells_[Key(CellOf(points[i]))].push_back(static_cast<int>(i));
  }

  // Calls visit(index, squared distance) for each point within `radius`, in no particular order.
  template <typename Visit>
  void ForEachWithin(const Eigen::Vector3d& p, double radius, const Visit& visit) const {
    const Eigen::Vector3i low = CellOf(p - Eigen::Vector3d::Constant(radius));
    const Eigen::Vector3i high = CellOf(p + Eigen::Vector3d::Constant(radius));
    for (int z = low.z(); z <= high.z(); ++z) {
      for (int y = low.y(); y <= high.y(); ++y) {
        for (int x = low.x(); x <= high.x(); ++x) {
          const auto found = cells_.find(Key({x, y, z}));
          if (found == cells_.end()) continue;
          for (const int i : found->second) {
            const double squared = (points_[static_cast<size_t>(i)] - p).squaredNorm();
            if (squared <= radius * radius) visit(i, squared);
          }
        }
      }
    }
  }

 private:
  Eigen::Vector3i CellOf(const Eigen::Vector3d& p) const { return (p / cell_).array().floor().cast<int>(); }
  static uint64_t Key(const Eigen::Vector3i& c) {
    const auto part = [](int i) { return static_cast<uint64_t>(i + (1 << 20)) & 0x1FFFFF; };
    return part(c.x()) | part(c.y()) << 21 | part(c.z()) << 42;
  }

  const std::vector<Eigen::Vector3d>& points_;
  double cell_;
  std::unordered_map<uint64_t, std::vector<int>> cells_;
};

}  // namespace lumen
