#include "lumen/eval/overlap.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

const Camera kCamera = Camera::FromFieldOfView(90, 40, 40);

// A camera that looks along z at a wall at z = 10, from (x, 0, z).
TrueView LookAtWall(double x, double z) {
  return {DepthImage(40, 40, 1, static_cast<float>(10 - z)),
          Rigid3(Eigen::Quaterniond::Identity(), {x, 0, z})};
}

TEST(Overlap, OneViewIsItselfWholly) {
  EXPECT_DOUBLE_EQ(*ComputeOverlap(LookAtWall(0, 0), LookAtWall(0, 0), kCamera), 1);
}

TEST(Overlap, AStepAsideLosesItsShareOfTheWidth) {
  // At 90° the wall is 20 wide: a step of 5 leaves three quarters, of 20 nothing.
  EXPECT_NEAR(*ComputeOverlap(LookAtWall(0, 0), LookAtWall(5, 0), kCamera), 0.75, 0.03);
  EXPECT_EQ(*ComputeOverlap(LookAtWall(0, 0), LookAtWall(20.6, 0), kCamera), 0);
}

TEST(Overlap, ACloseUpIsWithinTheViewFromAfar) {
  EXPECT_DOUBLE_EQ(*ComputeOverlap(LookAtWall(0, 0), LookAtWall(0, 8), kCamera), 1);
}

TEST(Overlap, WhatIsBehindSomethingIsNotSeen) {
  TrueView hidden = LookAtWall(0, 0);
  hidden.depth = DepthImage(40, 40, 1, 5.0F);  // something stands before the wall
  EXPECT_EQ(*ComputeOverlap(LookAtWall(0, 0), hidden, kCamera), 0);
}

TEST(Overlap, BackToBackHasNothingInCommon) {
  TrueView back = LookAtWall(0, 0);
  back.world_from_camera = Rigid3(ExpSO3({0, 3.14159, 0}), Eigen::Vector3d::Zero());
  EXPECT_EQ(*ComputeOverlap(LookAtWall(0, 0), back, kCamera), 0);
}

TEST(Overlap, UnknownDepthSaysNothing) {
  TrueView unknown = LookAtWall(0, 0);
  unknown.depth = DepthImage(40, 40);
  EXPECT_FALSE(ComputeOverlap(unknown, LookAtWall(0, 0), kCamera));
}

}  // namespace
}  // namespace lumen
