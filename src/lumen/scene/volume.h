// A scalar volume on a regular grid, and where it lies.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace lumen {

struct Volume {
  Eigen::Vector3i size = Eigen::Vector3i::Zero();
  std::vector<float> values;  // x runs fastest; Hounsfield units for a CT
  Eigen::Matrix4d lps_from_index =
      Eigen::Matrix4d::Identity();  // voxel centres, millimetres; left, posterior, superior

  float At(int x, int y, int z) const {
    return values[(static_cast<size_t>(z) * static_cast<size_t>(size.y()) + static_cast<size_t>(y)) *
                      static_cast<size_t>(size.x()) +
                  static_cast<size_t>(x)];
  }
  float Least() const { return values.empty() ? 0 : *std::min_element(values.begin(), values.end()); }
  float Most() const { return values.empty() ? 0 : *std::max_element(values.begin(), values.end()); }
};

}  // namespace lumen
