#include "lumen/ct/airways.h"

#include <algorithm>

#include "lumen/base/parallel.h"

namespace lumen {

using Eigen::Vector3i;

namespace {

// Means over 3³ voxels, where the volume holds them: noise would make holes and leaks.
std::vector<float> Smooth(const Volume& volume, const VoxelMask& area, int threads) {
  std::vector<float> smooth(area.marks.size());
  ParallelFor(area.size.z(), threads, [&](int64_t slice) {
    const int z = static_cast<int>(slice);
    const auto low = [](int first, int i) { return std::max(first + i - 1, 0); };
    const auto high = [&](int first, int i, int axis) {
      return std::min(first + i + 1, volume.size[axis] - 1);
    };
    for (int y = 0; y < area.size.y(); ++y) {
      for (int x = 0; x < area.size.x(); ++x) {
        float sum = 0;
        int count = 0;
        for (int c = low(area.first.z(), z); c <= high(area.first.z(), z, 2); ++c)
          for (int b = low(area.first.y(), y); b <= high(area.first.y(), y, 1); ++b)
            for (int a = low(area.first.x(), x); a <= high(area.first.x(), x, 0); ++a, ++count)
              sum += volume.At(a, b, c);
        smooth[area.Index(x, y, z)] = sum / static_cast<float>(count);
      }
    }
  });
  return smooth;
}

AirPart Moved(AirPart part, const Vector3i& by) {
  for (AirRun& run : part.runs) {
    run.x += by.x();
    run.y += by.y();
    run.z += by.z();
  }
  part.box.translate(by);
  return part;
}

// Partial volumes at the airway's own wall belong to it.
AirPart GrownToWall(const Volume& volume, const VoxelMask& lungs, double threshold, const AirPart& airway,
                    int threads) {
  VoxelMask mask = lungs;
  std::fill(mask.marks.begin(), mask.marks.end(), uint8_t{0});
  for (const AirRun& run : airway.runs)
    for (int z = run.z - 1; z <= run.z + 1; ++z)
      for (int y = run.y - 1; y <= run.y + 1; ++y)
        for (int x = run.x - 1; x <= run.x + run.length; ++x)
          if (mask.Holds(x, y, z) && lungs.marks[mask.Index(x, y, z)] != 0 &&
              volume.At(x + mask.first.x(), y + mask.first.y(), z + mask.first.z()) < threshold)
            mask.marks[mask.Index(x, y, z)] = 1;
  std::vector<AirPart> parts = FindMaskParts(mask, 1, threads);
  return Moved(std::move(parts.front()), mask.first);
}

}  // namespace

double InnerLevel(const Volume& volume, const AirPart& part) {
  std::vector<float> inner;
  const size_t step = static_cast<size_t>(part.voxels) / 200'000 + 1;
  size_t at = 0;
  for (const AirRun& run : part.runs)
    for (int x = run.x + 2; x < run.x + run.length - 2; ++x)
      if (at++ % step == 0) inner.push_back(volume.At(x, run.y, run.z));
  if (inner.empty()) return volume.At(part.runs.front().x, part.runs.front().y, part.runs.front().z);
  const auto middle = inner.begin() + static_cast<std::ptrdiff_t>(inner.size() / 2);
  std::nth_element(inner.begin(), middle, inner.end());
  return *middle;
}

bool IsLung(const TissueLevels& levels, double inner_level) { return inner_level > levels.Between(0.06); }

std::optional<AirPart> FindAirway(const Volume& volume, const TissueLevels& levels, double threshold,
                                  const AirPart& lungs, double lung_level, int threads) {
  const VoxelMask mask = MaskOf(lungs, volume.size, 0);
  const std::vector<float> smooth = Smooth(volume, mask, threads);
  constexpr double kFirst = 0.3, kStep = 0.05, kLast = 0.8;  // from air to lung
  constexpr double kLeak = 1.6, kMostShare = 0.25;           // growth in one step; of the lungs
  constexpr double kMostMl = 250, kLeastMl = 2;
  std::optional<AirPart> best;
  for (double share = kFirst; share < kLast + kStep / 2; share += kStep) {
    const auto level = static_cast<float>(levels.air + share * (lung_level - levels.air));
    std::vector<AirPart> parts = FindAirParts(
        mask.size,
        [&](int x, int y, int z) {
          const size_t index = mask.Index(x, y, z);
          return mask.marks[index] != 0 && smooth[index] < level;
        },
        10, threads);
    if (parts.empty()) continue;
    const auto voxels = static_cast<double>(parts.front().voxels);
    if (voxels * MlPerVoxel(volume) > kMostMl || voxels > kMostShare * static_cast<double>(lungs.voxels))
      break;
    if (best && voxels > kLeak * static_cast<double>(best->voxels) &&
        static_cast<double>(best->voxels) * MlPerVoxel(volume) > kLeastMl)
      break;
    best = std::move(parts.front());
  }
  if (!best || static_cast<double>(best->voxels) * MlPerVoxel(volume) < kLeastMl) return std::nullopt;
  return GrownToWall(volume, mask, threshold, *best, threads);
}

AirPart Without(const AirPart& whole, const AirPart& part, const Vector3i& volume_size) {
  VoxelMask mask = MaskOf(whole, volume_size, 0);
  for (const AirRun& run : part.runs)
    std::fill_n(
        mask.marks.begin() + static_cast<std::ptrdiff_t>(mask.Index(
                                 run.x - mask.first.x(), run.y - mask.first.y(), run.z - mask.first.z())),
        run.length, uint8_t{0});
  AirPart rest;
  for (const AirPart& piece : FindMaskParts(mask, 1, 1)) {
    rest.voxels += piece.voxels;
    rest.box.extend(piece.box);
    rest.runs.insert(rest.runs.end(), piece.runs.begin(), piece.runs.end());
  }
  return Moved(std::move(rest), mask.first);
}

}  // namespace lumen
