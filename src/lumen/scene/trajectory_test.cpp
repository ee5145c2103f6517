#include "lumen/scene/trajectory.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

TEST(Trajectory, PathLengthAddsTheSteps) {
  Trajectory path;
  for (const double x : {0.0, 3.0, 1.0})
    path.push_back({x, Rigid3(Eigen::Quaterniond::Identity(), {x, 0, 0})});
  EXPECT_DOUBLE_EQ(PathLength(path), 5.0);
  EXPECT_DOUBLE_EQ(PathLength({}), 0.0);
}

TEST(Trajectory, FindsThePoseNearestInTime) {
  const Trajectory path = {{0, Rigid3()}, {1, Rigid3()}, {3, Rigid3()}};
  EXPECT_EQ(FindPose(path, 0.9, 0.2), &path[1]);
  EXPECT_EQ(FindPose(path, 1.2, 0.3), &path[1]);
  EXPECT_EQ(FindPose(path, 2, 0.9), nullptr);
  EXPECT_EQ(FindPose(path, 9, 7), &path[2]);
  EXPECT_EQ(FindPose(path, -1, 1), &path[0]);
  EXPECT_EQ(FindPose({}, 0, 1), nullptr);
}

}  // namespace
}  // namespace lumen
