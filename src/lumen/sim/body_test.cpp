#include "lumen/sim/body.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <queue>

#include "lumen/base/error.h"
#include "lumen/geometry/grid.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3f;
using Eigen::Vector3i;

constexpr uint64_t kBodySeed = 2;

SimulatedCt Scan(AnatomyKind kind, CtScanOptions options) {
  options.seed = kBodySeed;
  return ScanBody(*SharedAnatomy(kind, kBodySeed), options, 2);
}

CtScanOptions Near(double spacing, double around) {
  CtScanOptions options;
  options.pixel_mm = options.slice_mm = spacing;
  options.noise = 0;
  options.around = around;
  return options;
}

// Trilinear; NaN outside.
double ValueAt(const Volume& volume, const Vector3d& lps) {
  const Vector3d index = (volume.lps_from_index.inverse() * lps.homogeneous()).head<3>();
  const Vector3i low = index.array().floor().cast<int>();
  if ((low.array() < 0).any() || (low.array() + 1 >= volume.size.array()).any()) return std::nan("");
  const Vector3d t = index - low.cast<double>();
  double sum = 0;
  ForEachCell({2, 2, 2}, [&](const Vector3i& corner) {
    double weight = 1;
    for (int k = 0; k < 3; ++k) weight *= corner[k] == 1 ? t[k] : 1 - t[k];
    sum += weight * volume.At(low.x() + corner.x(), low.y() + corner.y(), low.z() + corner.z());
  });
  return sum;
}

constexpr double kWater = 18;
constexpr double kHalfway = -480;  // between air and tissue
constexpr double kFarthest = 3;    // mm along the normal at which the boundary is looked for

// How far from a place on the organ's wall the CT goes from air to tissue.
double BoundaryMiss(const Volume& volume, const Vector3d& place, const Vector3d& into_air) {
  constexpr double kStep = 0.1;
  double nearest = kFarthest;
  for (double s = -kFarthest; s < kFarthest; s += kStep) {
    const double before = ValueAt(volume, place + s * into_air) - kHalfway;
    const double after = ValueAt(volume, place + (s + kStep) * into_air) - kHalfway;
    if (!(before * after <= 0)) continue;
    const double crossing = s + kStep * before / (before - after + 1e-9);
    nearest = std::min(nearest, std::abs(crossing));
  }
  return nearest;
}

double MeanBoundaryMiss(AnatomyKind kind, const SimulatedCt& ct) {
  const auto anatomy = SharedAnatomy(kind, kBodySeed);
  const TriangleMesh surface = ExportSurface(*anatomy);
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < surface.vertices.size(); i += surface.vertices.size() / 1500) {
    const Vector3d place = ct.lps_from_anatomy * surface.vertices[i].cast<double>();
    const bool opened = std::any_of(ct.openings.begin(), ct.openings.end(), [&](const OrganOpening& opening) {
      return (place - opening.centre).norm() < opening.radius;
    });
    if (opened) continue;
    const Vector3d inwards = anatomy->Field().Gradient(surface.vertices[i]).cast<double>();
    sum += BoundaryMiss(ct.volume, place, ct.lps_from_anatomy.Rotation() * inwards.normalized());
    ++count;
  }
  EXPECT_GT(count, 800);
  return sum / count;
}

Vector3i NearestVoxel(const Volume& volume, const Vector3d& lps) {
  const Vector3d index = (volume.lps_from_index.inverse() * lps.homogeneous()).head<3>();
  return index.array().round().cast<int>();
}

// Which voxels of air hang together with those given.
std::vector<uint8_t> Flood(const Volume& volume, const std::vector<Vector3i>& seeds) {
  std::vector<uint8_t> reached(volume.values.size());
  std::queue<Vector3i> open;
  const auto visit = [&](const Vector3i& voxel) {
    if ((voxel.array() < 0).any() || (voxel.array() >= volume.size.array()).any()) return;
    const size_t index = FlatIndex(voxel, volume.size);
    if (reached[index] != 0 || volume.values[index] > -400) return;
    reached[index] = 1;
    open.push(voxel);
  };
  for (const Vector3i& seed : seeds) visit(seed);
  while (!open.empty()) {
    const Vector3i voxel = open.front();
    open.pop();
    for (int axis = 0; axis < 3; ++axis) {
      for (const int step : {-1, 1}) visit(voxel + step * Vector3i::Unit(axis));
    }
  }
  return reached;
}

// The faces of the volume that are reached from the organ's middle: bit 2 * axis, and one more for its end.
int FacesReached(AnatomyKind kind, const SimulatedCt& ct) {
  const ArcCurve& route = SharedAnatomy(kind, kBodySeed)->Routes().front();
  const Vector3d middle = ct.lps_from_anatomy * route.At(0.5F * route.Length()).position.cast<double>();
  const std::vector<uint8_t> reached = Flood(ct.volume, {NearestVoxel(ct.volume, middle)});
  int faces = 0;
  size_t index = 0;
  ForEachCell(ct.volume.size, [&](const Vector3i& voxel) {
    if (reached[index++] == 0) return;
    for (int axis = 0; axis < 3; ++axis) {
      if (voxel[axis] == 0) faces |= 1 << (2 * axis);
      if (voxel[axis] == ct.volume.size[axis] - 1) faces |= 2 << (2 * axis);
    }
  });
  return faces;
}
constexpr int kAnterior = 1 << 2, kInferior = 1 << 4, kSuperior = 2 << 4;

TEST(CtScan, OrgansWallIsTheAnatomys) {
  for (const AnatomyKind kind : {AnatomyKind::kNasal, AnatomyKind::kStomach}) {
    EXPECT_LT(MeanBoundaryMiss(kind, Scan(kind, Near(1, 3))), 0.15) << AnatomyName(kind);
  }
}

TEST(CtScan, NostrilIsOpenToTheAirOutside) {
  const int faces = FacesReached(AnatomyKind::kNasal, Scan(AnatomyKind::kNasal, Near(1.5, 18)));
  EXPECT_TRUE((faces & kAnterior) != 0);
  EXPECT_TRUE((faces & kInferior) != 0);
}

TEST(CtScan, WindpipeLeavesThroughTheTopAndBellysOrgansAreShut) {
  const int airway = FacesReached(AnatomyKind::kBronchus, Scan(AnatomyKind::kBronchus, Near(3, 8)));
  EXPECT_TRUE((airway & kSuperior) != 0);
  EXPECT_EQ(FacesReached(AnatomyKind::kColon, Scan(AnatomyKind::kColon, Near(3, 8))), 0);
  EXPECT_EQ(FacesReached(AnatomyKind::kStomach, Scan(AnatomyKind::kStomach, Near(3, 8))), 0);
}

TEST(CtScan, LungsAreNotAir) {
  const SimulatedCt ct = Scan(AnatomyKind::kBronchus, Near(4, 8));
  int lung = 0;
  int air = 0;
  for (const float value : ct.volume.values) {
    if (value > -940 && value < -780) ++lung;
    if (value < -960) ++air;
  }
  EXPECT_GT(lung, 0.25 * static_cast<double>(ct.volume.values.size()));
  EXPECT_GT(lung, 10 * air);
}

TEST(CtScan, IsAFunctionOfItsSeedAloneWhateverTheThreads) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kStomach, kBodySeed);
  CtScanOptions options = Near(4, 4);
  options.noise = 20;
  const SimulatedCt one = ScanBody(*anatomy, options, 1);
  const SimulatedCt three = ScanBody(*anatomy, options, 3);
  EXPECT_EQ(one.volume.values, three.volume.values);
  EXPECT_EQ(one.lps_from_anatomy.Matrix(), three.lps_from_anatomy.Matrix());
  options.seed = 77;
  const SimulatedCt other = ScanBody(*anatomy, options, 3);
  EXPECT_GT((other.lps_from_anatomy.Translation() - one.lps_from_anatomy.Translation()).norm(), 1);
}

TEST(CtScan, OffsetAndSlopeAreWhatIsStored) {
  CtScanOptions options = Near(4, 5);
  const SimulatedCt plain = Scan(AnatomyKind::kStomach, options);
  options.offset = 1024;
  options.slope = 0.5;
  const SimulatedCt stored = Scan(AnatomyKind::kStomach, options);
  ASSERT_EQ(plain.volume.values.size(), stored.volume.values.size());
  for (size_t i = 0; i < plain.volume.values.size(); ++i)
    ASSERT_NEAR(stored.volume.values[i], 0.5 * plain.volume.values[i] + 1024, 1e-3);
}

TEST(CtScan, FluidLiesBehindAFlatLevel) {
  CtScanOptions options = Near(2, 3);
  options.fluid = true;
  const SimulatedCt ct = Scan(AnatomyKind::kStomach, options);
  const auto anatomy = SharedAnatomy(AnatomyKind::kStomach, kBodySeed);
  const Rigid3 anatomy_from_lps = ct.lps_from_anatomy.Inverse();
  double last_air = -std::numeric_limits<double>::max();
  double first_water = std::numeric_limits<double>::max();
  int air = 0;
  int water = 0;
  ForEachCell(ct.volume.size, [&](const Vector3i& voxel) {
    const Vector3d lps = (ct.volume.lps_from_index * voxel.cast<double>().homogeneous()).head<3>();
    if (anatomy->Distance((anatomy_from_lps * lps).cast<float>()) < 2.5F) return;
    const float value = ct.volume.At(voxel.x(), voxel.y(), voxel.z());
    if (value < -950) {
      last_air = std::max(last_air, lps.y());
      ++air;
    } else if (value > -50) {
      EXPECT_NEAR(value, kWater, 25);  // the wall's tissue is not far
      first_water = std::min(first_water, lps.y());
      ++water;
    }
  });
  EXPECT_LT(last_air, first_water);
  EXPECT_LT(first_water - last_air, 4.1);
  EXPECT_GT(water, 0.05 * (air + water));
  EXPECT_LT(water, 0.35 * (air + water));
}

TEST(CtScan, SpacingsThatNoScannerHasAreRefused) {
  for (const double mm : {0.0, 0.05, 30.0, std::nan("")}) {
    CtScanOptions options;
    options.slice_mm = mm;
    EXPECT_THROW(CheckCtScan(options), InputError) << mm;
  }
}

}  // namespace
}  // namespace lumen
