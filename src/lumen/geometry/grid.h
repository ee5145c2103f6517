// Cells of a grid in memory: x runs fastest.
#pragma once

#include <Eigen/Core>
#include <cstddef>

namespace lumen {

inline size_t FlatIndex(const Eigen::Vector3i& cell, const Eigen::Vector3i& size) {
  const auto at = [](int i) { return static_cast<size_t>(i); };
  return (at(cell.z()) * at(size.y()) + at(cell.y())) * at(size.x()) + at(cell.x());
}

// The cell that holds a position (in cells), or the nearest one.
inline Eigen::Vector3i NearestCell(const Eigen::Vector3f& position, const Eigen::Vector3i& size) {
  return position.array().max(0.0F).min(size.cast<float>().array() - 1.0F).cast<int>().matrix();
}

// Calls body(cell) for every cell, in memory's order.
template <typename Body>
void ForEachCell(const Eigen::Vector3i& size, const Body& body) {
  for (int z = 0; z < size.z(); ++z) {
    for (int y = 0; y < size.y(); ++y) {
      for (int x = 0; x < size.x(); ++x) body(Eigen::Vector3i(x, y, z));
    }
  }
}

}  // namespace lumen
