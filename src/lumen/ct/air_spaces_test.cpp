#include "lumen/ct/air_spaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "lumen/base/error.h"
#include "lumen/ct/ct_test_body.h"
#include "lumen/sim/body.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using testing::Contains;
using testing::HasSubstr;

constexpr double kPi = std::numbers::pi;

// A nose of a kind that opens to the front, a closed sinus on the left (+L), and a speck.
float CarveHead(const Vector3d& p, float value) {
  if (InTube(p, {0, 0, 0}, {0, -60, 0}, 6)) return kTestAir;
  if (InBall(p, {25, 0, 10}, 12)) return kTestAir;
  if (InBall(p, {-30, 0, 0}, 3)) return kTestAir;
  return value;
}

AirSpaces Find(const Volume& volume, const AirSpaceOptions& options = {}) {
  return FindAirSpaces(volume, "ct", options, 2);
}

TEST(AirSpaces, ThoseInTheBodyAreFoundWithSizeAndPlace) {
  const AirSpaces all = Find(ScanTestBody(1.25, CarveHead));
  ASSERT_EQ(all.spaces.size(), 2U);
  EXPECT_EQ(all.small, 1) << "the speck of 0.1 ml";
  const AirSpace& sinus = all.spaces[0];
  const AirSpace& nose = all.spaces[1];
  EXPECT_NEAR(sinus.volume_ml, 4.0 / 3 * kPi * 1.728, 0.3);
  EXPECT_NEAR(sinus.area_cm2, 4 * kPi * 1.44, 1.2);
  EXPECT_NEAR(sinus.widest_mm, 24, 2.5);
  EXPECT_NEAR(sinus.open_cm2, 0, 1e-9);
  EXPECT_THAT(sinus.place, HasSubstr("left"));
  EXPECT_THAT(nose.place, HasSubstr("front"));
  EXPECT_NEAR(nose.open_cm2, kPi * 0.36, 0.6) << "closed where it opens";
  EXPECT_GT(nose.volume_ml, 4);
  EXPECT_LT(nose.volume_ml, kPi * 0.36 * 5.6);
}

TEST(AirSpaces, WallsLieWhereTheyAreAndFaceTheAir) {
  const AirSpaces all = Find(ScanTestBody(1.25, CarveHead));
  const AirSpace& sinus = all.spaces.at(0);
  double sum = 0;
  for (size_t i = 0; i < sinus.wall.vertices.size(); ++i) {
    const Vector3d out = sinus.wall.vertices[i].cast<double>() - Vector3d(25, 0, 10);
    sum += std::abs(out.norm() - 12);
    EXPECT_LT(out.normalized().dot(sinus.wall.normals[i].cast<double>()), -0.7);
  }
  EXPECT_LT(sum / static_cast<double>(sinus.wall.vertices.size()), 0.1);
}

TEST(AirSpaces, AnOffsetOfTheValuesChangesNothing) {
  Volume volume = ScanTestBody(1.25, CarveHead);
  const AirSpaces plain = Find(volume);
  for (float& value : volume.values) value += 1024;
  const AirSpaces moved = Find(volume);
  EXPECT_FALSE(moved.levels.hounsfield);
  ASSERT_EQ(moved.spaces.size(), plain.spaces.size());
  for (size_t i = 0; i < plain.spaces.size(); ++i)
    EXPECT_NEAR(moved.spaces[i].volume_ml, plain.spaces[i].volume_ml, 0.05 * plain.spaces[i].volume_ml);
}

TEST(AirSpaces, AirwaysAreToldFromTheLungsAroundThem) {
  const Vector3d fork(0, 0, 0);
  const auto in_airway = [&](const Vector3d& p, double more) {
    return InTube(p, {0, 0, 60}, fork, 7 + more) || InTube(p, fork, {20, 0, -25}, 4 + more) ||
           InTube(p, fork, {-20, 0, -25}, 4 + more);
  };
  Volume volume = ScanTestBody(1, [&](const Vector3d& p, float value) {
    if (in_airway(p, 0)) return kTestAir;
    if (in_airway(p, 0.5)) return kTestTissue;  // too thin to part them
    return p.norm() < 44 ? kTestLung : value;
  });
  volume.size.z() = 105;  // the top cuts the airway
  volume.values.resize(140 * 140 * 105);
  const AirSpaces all = Find(volume);
  ASSERT_EQ(all.spaces.size(), 2U);
  EXPECT_EQ(all.spaces[0].kind, AirSpaceKind::kLungs);
  const AirSpace& airway = all.spaces[1];
  ASSERT_EQ(airway.kind, AirSpaceKind::kAirway);
  EXPECT_THAT(airway.notes, Contains(HasSubstr("ends within")));
  EXPECT_GT(airway.cut_cm2, 0.8);
  EXPECT_NEAR(airway.volume_ml, 8.1, 1.5);
  EXPECT_LT(airway.box.min().z(), -24) << "down to the ends of its branches";
}

TEST(AirSpaces, AFluidLevelIsNoted) {
  const AirSpaces all = Find(ScanTestBody(1.25, [](const Vector3d& p, float value) {
    if (!InBall(p, {0, 0, 0}, 20)) return value;
    return p.y() > 8 ? 10.0F : kTestAir;
  }));
  ASSERT_EQ(all.spaces.size(), 1U);
  EXPECT_THAT(all.spaces[0].notes, Contains(HasSubstr("fluid level")));
  EXPECT_THAT(Find(ScanTestBody(1.25, CarveHead)).spaces[0].notes,
              testing::Not(Contains(HasSubstr("fluid"))));
}

TEST(AirSpaces, NeighboursAndNarrowsAreNoted) {
  const AirSpaces apart = Find(ScanTestBody(1, [](const Vector3d& p, float value) {
    return InBall(p, {0, 0, 14}, 12) || InBall(p, {0, 0, -14}, 12) ? kTestAir : value;
  }));
  ASSERT_EQ(apart.spaces.size(), 2U);
  EXPECT_THAT(apart.spaces[0].notes, Contains(HasSubstr("mm from number 2")));
  const AirSpaces joined = Find(ScanTestBody(1, [](const Vector3d& p, float value) {
    return InBall(p, {0, 0, 14}, 12) || InBall(p, {0, 0, -14}, 12) || InTube(p, {0, 0, -5}, {0, 0, 5}, 1)
               ? kTestAir
               : value;
  }));
  ASSERT_EQ(joined.spaces.size(), 1U);
  EXPECT_THAT(joined.spaces[0].notes, Contains(HasSubstr("voxels thin")));
}

TEST(AirSpaces, ScoutsAndAirlessVolumesAreRefused) {
  Volume scout = ScanTestBody(2, CarveHead);
  scout.size.z() = 3;
  scout.values.resize(70 * 70 * 3);
  EXPECT_THROW(Find(scout), InputError);
  Volume far = ScanTestBody(2, CarveHead);
  far.lps_from_index.col(2) *= 20;
  EXPECT_THROW(Find(far), InputError);
  Volume solid = ScanTestBody(
      2, [](const Vector3d&, float) { return kTestTissue; }, 0);
  EXPECT_THROW(Find(solid), InputError);
}

TEST(AirSpaces, TheNoseOfAHeadIsOneOfThem) {
  const Anatomy nose(AnatomyKind::kNasal, 3, 2);
  CtScanOptions scan;
  scan.pixel_mm = scan.slice_mm = 1.2;
  const SimulatedCt ct = ScanBody(nose, scan, 2);
  const AirSpaces all = Find(ct.volume);
  ASSERT_GE(all.spaces.size(), 3U) << "nose, sinuses, mouth";
  const TriangleTree wall(all.spaces[0].wall);
  // Where the nose was not opened on purpose its wall is the model's.
  const TriangleMesh surface = ExportSurface(nose);
  size_t near = 0, counted = 0;
  for (size_t i = 0; i < surface.vertices.size(); i += 97) {
    const Vector3d p = ct.lps_from_anatomy * surface.vertices[i].cast<double>();
    if (std::any_of(ct.openings.begin(), ct.openings.end(), [&](const OrganOpening& opening) {
          return (p - opening.centre).norm() < opening.radius + 2;
        }))
      continue;
    ++counted;
    near += wall.FindNearest(p, 0.5) ? 1 : 0;
  }
  ASSERT_GT(counted, 300U);
  EXPECT_GT(static_cast<double>(near), 0.95 * static_cast<double>(counted));
}

}  // namespace
}  // namespace lumen
