// A body of a few shapes, scanned: for tests.
#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <functional>

#include "lumen/base/random.h"
#include "lumen/scene/volume.h"

namespace lumen {

inline constexpr float kTestAir = -1000, kTestTissue = 40, kTestLung = -850;

// A ball of tissue of 50 mm about the origin in air, on a table under its back (+P) that touches it; `carve`
// changes the value at a place in mm. Voxels of `spacing` mm, partial volumes by 2³ samples.
inline Volume ScanTestBody(double spacing, const std::function<float(const Eigen::Vector3d&, float)>& carve,
                           double noise = 15) {
  const int count = static_cast<int>(140 / spacing);
  Volume volume;
  volume.size = {count, count, count};
  volume.lps_from_index.topLeftCorner<3, 3>() *= spacing;
  volume.lps_from_index.topRightCorner<3, 1>().setConstant(-70 + spacing / 2);
  Random random(5);
  const auto value = [&](const Eigen::Vector3d& p) {
    const bool table = p.y() > 50 && p.y() < 62 && (p.y() < 51.5 || p.y() > 60.5);
    return carve(p, p.norm() < 50 || table ? kTestTissue : kTestAir);
  };
  for (int z = 0; z < count; ++z)
    for (int y = 0; y < count; ++y)
      for (int x = 0; x < count; ++x) {
        float sum = 0;
        for (int i = 0; i < 8; ++i) {
          const Eigen::Vector3d part(i & 1, i >> 1 & 1, i >> 2 & 1);
          const Eigen::Vector3d index =
              Eigen::Vector3d(x, y, z) + 0.5 * part - Eigen::Vector3d::Constant(0.25);
          sum += value((volume.lps_from_index * index.homogeneous()).head<3>()) / 8;
        }
        volume.values.push_back(sum + static_cast<float>(noise * random.Normal()));
      }
  return volume;
}

inline bool InBall(const Eigen::Vector3d& p, const Eigen::Vector3d& centre, double radius) {
  return (p - centre).norm() < radius;
}
// About a line from a to b.
inline bool InTube(const Eigen::Vector3d& p, const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                   double radius) {
  const double t = std::clamp((p - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
  return (p - a - t * (b - a)).norm() < radius;
}

}  // namespace lumen
