#include "lumen/ct/air_spaces.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/ct/air_space_notes.h"
#include "lumen/ct/airways.h"
#include "lumen/ct/body_outline.h"
#include "lumen/surface/isosurface.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3i;

namespace {

struct FoundPart {
  AirSpaceKind kind = AirSpaceKind::kCavity;
  AirPart part;
};

// A scout is a picture of the whole patient to plan the scan by; a localiser a few slices far apart.
void RequireBody(const Volume& volume, const std::string& name) {
  const double size = (volume.lps_from_index.topLeftCorner<3, 3>() * volume.size.cast<double>()).norm();
  if (size < 3) throw InputError(name, StrCat("is ", size, " mm across: are its units metres?"));
  constexpr int kLeastVoxels = 10;
  constexpr double kLeastExtent = 12, kMostSpacing = 12;  // mm
  for (int axis = 0; axis < 3; ++axis) {
    const double spacing = volume.lps_from_index.block<3, 1>(0, axis).norm();
    const int count = volume.size[axis];
    if (count < kLeastVoxels || count * spacing < kLeastExtent || spacing > kMostSpacing)
      throw InputError(name, StrCat("is no volume to register to: ", count, " slices ", spacing,
                                    " mm apart (a scout or a localiser?)"));
  }
}

void NoteSpacing(const Volume& volume, std::vector<std::string>& notes) {
  constexpr double kCoarse = 2.5;
  for (int axis = 0; axis < 3; ++axis) {
    const double spacing = volume.lps_from_index.block<3, 1>(0, axis).norm();
    if (spacing > kCoarse)
      notes.push_back(StrCat("slices are ", std::round(10 * spacing) / 10,
                             " mm apart: thinner walls and passages are lost"));
  }
}

// Lungs are two parts: what the scope can go into, and the rest.
std::vector<FoundPart> FindParts(const Volume& volume, const TissueLevels& levels, double threshold,
                                 const BodyOutline& outline, int64_t least, int threads) {
  std::vector<AirPart> air = FindAirParts(
      volume.size,
      [&](int x, int y, int z) { return volume.At(x, y, z) < threshold && outline.Encloses(x, y, z); }, least,
      threads);
  constexpr double kLeastLungMl = 100;
  std::vector<FoundPart> found;
  for (AirPart& part : air) {
    const bool large = static_cast<double>(part.voxels) * MlPerVoxel(volume) > kLeastLungMl;
    const double level = large ? InnerLevel(volume, part) : levels.air;
    if (!IsLung(levels, level)) {
      found.push_back({AirSpaceKind::kCavity, std::move(part)});
      continue;
    }
    if (auto airway = FindAirway(volume, levels, threshold, part, level, threads)) {
      found.push_back({AirSpaceKind::kLungs, Without(part, *airway, volume.size)});
      found.push_back({AirSpaceKind::kAirway, *std::move(airway)});
    } else {
      found.push_back({AirSpaceKind::kLungs, std::move(part)});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundPart& a, const FoundPart& b) { return a.part.voxels > b.part.voxels; });
  return found;
}

// The values around a part, with tissue in the place of all air that is not its own: so it is closed where it
// opens, and nowhere else does its wall differ from the volume's.
Volume Isolate(const Volume& volume, const TissueLevels& levels, double threshold, const VoxelMask& mask) {
  Volume alone;
  alone.size = mask.size;
  alone.lps_from_index = volume.lps_from_index;
  alone.lps_from_index.topRightCorner<3, 1>() +=
      volume.lps_from_index.topLeftCorner<3, 3>() * mask.first.cast<double>();
  alone.values.resize(mask.marks.size());
  size_t index = 0;
  for (int z = 0; z < mask.size.z(); ++z)
    for (int y = 0; y < mask.size.y(); ++y)
      for (int x = 0; x < mask.size.x(); ++x, ++index) {
        const float value = volume.At(x + mask.first.x(), y + mask.first.y(), z + mask.first.z());
        const bool foreign = mask.marks[index] == 0 && value < threshold;
        alone.values[index] = foreign ? static_cast<float>(levels.tissue) : value;
      }
  return alone;
}

// Noise makes specks, of tissue in the air.
TriangleMesh MakeWall(const Volume& volume, const TissueLevels& levels, double threshold,
                      const VoxelMask& mask) {
  constexpr double kSpeck = 0.002;
  return RemoveSpecks(ExtractIsosurface(Isolate(volume, levels, threshold, mask), threshold), kSpeck);
}

AirSpace Describe(const Volume& volume, const AirSpaces& all, const BodyOutline& outline,
                  const FoundPart& found, int threads) {
  AirSpace space;
  space.kind = found.kind;
  space.volume_ml = static_cast<double>(found.part.voxels) * MlPerVoxel(volume);
  const VoxelMask mask = MaskOf(found.part, volume.size, 2);
  space.wall = MakeWall(volume, all.levels, all.threshold, mask);
  space.area_cm2 = ComputeArea(space.wall) / 100;
  for (const Eigen::Vector3f& vertex : space.wall.vertices) space.box.extend(vertex.cast<double>());
  space.place = PlaceInBody(volume, outline.Box(), space.box);
  MeasureOpenings(volume, all.threshold, found.part, mask, space);
  space.widest_mm = WidestBall(volume, mask);
  if (space.kind != AirSpaceKind::kLungs) AddNotes(volume, mask, threads, space);
  return space;
}

}  // namespace

AirSpaces FindAirSpaces(const Volume& volume, const std::string& name, const AirSpaceOptions& options,
                        int threads) {
  RequireBody(volume, name);
  AirSpaces all;
  if (std::isnan(options.threshold)) {
    all.levels = FindTissueLevels(volume, name);
    all.threshold = all.levels.Threshold();
    if (!all.levels.hounsfield)
      all.notes.push_back(StrCat("values are no Hounsfield units: air at ", std::lround(all.levels.air),
                                 ", tissue at ", std::lround(all.levels.tissue)));
  } else {
    all.threshold = options.threshold;
    all.levels.air = options.threshold - 500;
    all.levels.tissue = options.threshold + 500;
  }
  NoteSpacing(volume, all.notes);
  const BodyOutline outline(volume, all.threshold);
  const auto least = static_cast<int64_t>(std::ceil(0.05 / MlPerVoxel(volume)));
  for (FoundPart& found : FindParts(volume, all.levels, all.threshold, outline, least, threads)) {
    const double ml = static_cast<double>(found.part.voxels) * MlPerVoxel(volume);
    if (ml < options.least_ml || static_cast<int>(all.spaces.size()) >= options.most) {
      ++all.small;
      all.small_ml += ml;
      continue;
    }
    all.spaces.push_back(Describe(volume, all, outline, found, threads));
    all.spaces.back().number = static_cast<int>(all.spaces.size());
  }
  NoteNeighbours(all.spaces);
  return all;
}

}  // namespace lumen
