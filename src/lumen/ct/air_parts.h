// Connected parts of the air in a volume, as runs along x: what a whole head or trunk falls into, without a
// second volume of labels.
#pragma once

#include <Eigen/Geometry>
#include <functional>
#include <vector>

#include "lumen/scene/volume.h"

namespace lumen {

double MlPerVoxel(const Volume& volume);

struct AirRun {
  int x, length, y, z;
};

struct AirPart {
  std::vector<AirRun> runs;  // in the order of z, then y
  int64_t voxels = 0;
  Eigen::AlignedBox3i box;
};

// Voxels that `inside` takes, as parts that share faces; largest first. At least `least` voxels each.
// `inside` is asked from several threads.
std::vector<AirPart> FindAirParts(const Eigen::Vector3i& size,
                                  const std::function<bool(int, int, int)>& inside, int64_t least,
                                  int threads);

// A piece of a volume's grid with a mark per voxel.
struct VoxelMask {
  Eigen::Vector3i first = Eigen::Vector3i::Zero(), size = Eigen::Vector3i::Zero();
  std::vector<uint8_t> marks;

  size_t Index(int x, int y, int z) const {  // from `first`
    return (static_cast<size_t>(z) * static_cast<size_t>(size.y()) + static_cast<size_t>(y)) *
               static_cast<size_t>(size.x()) +
           static_cast<size_t>(x);
  }
  bool Holds(int x, int y, int z) const {
    return x >= 0 && y >= 0 && z >= 0 && x < size.x() && y < size.y() && z < size.z();
  }
};
// The part's box grown by `margin` within the volume.
VoxelMask MaskOf(const AirPart& part, const Eigen::Vector3i& volume_size, int margin);
// Marked voxels all of whose six neighbours are marked.
VoxelMask ErodeMask(const VoxelMask& mask);
std::vector<AirPart> FindMaskParts(const VoxelMask& mask, int64_t least, int threads);  // from `first`

}  // namespace lumen
