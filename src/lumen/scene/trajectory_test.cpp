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

}  // namespace
}  // namespace lumen
