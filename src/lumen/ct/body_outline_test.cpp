#include "lumen/ct/body_outline.h"

#include <gtest/gtest.h>

#include "lumen/ct/ct_test_body.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3i;

Vector3i VoxelAt(const Volume& volume, const Vector3d& p) {
  const Vector3d origin = volume.lps_from_index.topRightCorner<3, 1>();
  return ((p - origin) / volume.lps_from_index(0, 0)).array().round().cast<int>();
}

class OpenBody : public testing::Test {
 protected:
  // A way in from the front (-P), 10 mm wide, that ends in the middle.
  static void SetUpTestSuite() {
    volume_ = new Volume(ScanTestBody(1, [](const Vector3d& p, float value) {
      return InTube(p, {0, 0, 0}, {0, -60, 0}, 5) ? kTestAir : value;
    }));
    outline_ = new BodyOutline(*volume_, -480);
  }
  static void TearDownTestSuite() {
    delete outline_;
    delete volume_;
  }
  static bool Encloses(const Vector3d& p) {
    const Vector3i v = VoxelAt(*volume_, p);
    return outline_->Encloses(v.x(), v.y(), v.z());
  }
  static Volume* volume_;
  static BodyOutline* outline_;
};
Volume* OpenBody::volume_ = nullptr;
BodyOutline* OpenBody::outline_ = nullptr;

TEST_F(OpenBody, TheWayInIsInsideUpToItsMouth) {
  for (const double depth : {0.0, -20.0, -35.0, -40.0}) EXPECT_TRUE(Encloses({0, depth, 0})) << depth;
  for (const double depth : {-51.0, -55.0, -65.0}) EXPECT_FALSE(Encloses({0, depth, 0})) << depth;
}

TEST_F(OpenBody, WhatLiesAroundItIsOutside) {
  EXPECT_FALSE(Encloses({53, 0, 0}));
  EXPECT_FALSE(Encloses({0, 0, 52}));
  EXPECT_FALSE(Encloses({-60, -60, 60}));
}

TEST_F(OpenBody, TheTableAndTheGapAboveItAreOutside) {
  EXPECT_FALSE(Encloses({0, 56, 0})) << "in the table";
  for (const double x : {20.0, 25.0, 40.0}) EXPECT_FALSE(Encloses({x, 48.5, 0})) << "between back and table";
}

TEST_F(OpenBody, TheBoxIsTheBodys) {
  EXPECT_NEAR(outline_->Box().min().x(), 20, 3);
  EXPECT_NEAR(outline_->Box().max().z(), 120, 3);
}

TEST(BodyOutline, WhatTheVolumeCutsIsClosed) {
  // Upwards out of the volume, which ends at 30 mm.
  Volume whole = ScanTestBody(2, [](const Vector3d& p, float value) {
    return InTube(p, {0, 0, 0}, {0, 0, 60}, 8) ? kTestAir : value;
  });
  Volume cut = whole;
  cut.size.z() = 50;
  cut.values.resize(70 * 70 * 50);
  const BodyOutline outline(cut, -480);
  EXPECT_TRUE(outline.Encloses(35, 35, 40));
  EXPECT_TRUE(outline.Encloses(35, 35, 49)) << "at the cut itself";
  EXPECT_FALSE(outline.Encloses(2, 2, 49));
}

}  // namespace
}  // namespace lumen
