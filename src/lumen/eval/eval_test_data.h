// Trajectories and depth maps for the tests of this room.
#pragma once

#include <cmath>

#include "lumen/base/random.h"
#include "lumen/geometry/sim3.h"
#include "lumen/image/image.h"
#include "lumen/scene/trajectory.h"

namespace lumen {

// A path that winds through space and turns on its way, at 30 poses a second.
inline Trajectory MakeWindingPath(int poses) {
  Trajectory path;
  for (int i = 0; i < poses; ++i) {
    const double s = i / 30.0;
    path.push_back({s, Rigid3(ExpSO3({0.3 * std::sin(s), 0.2 * s, 0.1 * std::cos(2 * s)}),
                              {10 * std::cos(s), 8 * std::sin(1.3 * s), 5 * s})});
  }
  return path;
}

inline Trajectory Transformed(const Sim3& b_from_a, Trajectory path) {
  for (TimedPose& pose : path) pose.world_from_camera = b_from_a.TransformPose(pose.world_from_camera);
  return path;
}

inline Sim3 SomeSimilarity() { return Sim3(0.37, ExpSO3({0.7, -1.1, 2.0}), {100, -30, 7}); }

// Positions off by normal noise of `sigma` per axis, orientations by `angle_sigma` radians per axis.
inline Trajectory Disturbed(Trajectory path, double sigma, double angle_sigma, uint64_t seed) {
  Random random(seed);
  const auto noise = [&](double s) {
    const double x = random.Normal(0, s), y = random.Normal(0, s), z = random.Normal(0, s);
    return Eigen::Vector3d(x, y, z);
  };
  for (TimedPose& pose : path) {
    const Rigid3& old = pose.world_from_camera;
    pose.world_from_camera =
        Rigid3(ExpSO3(noise(angle_sigma)) * old.Rotation(), old.Translation() + noise(sigma));
  }
  return path;
}

}  // namespace lumen
