// The distance to the wall, cached: exact shape functions are too slow to be asked per ray step. Near the
// wall, blocks of 8³ voxels hold the shape's values; elsewhere a coarse grid holds the distance to the
// nearest wall, so that rays cross empty space in a few steps. The zero level of the cached function IS
// the anatomy's surface: depth, mesh and clearance all come from it, so they agree by construction.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <vector>

#include "lumen/geometry/grid.h"

namespace lumen {

// A hollow shape as a function: about the distance in mm to the wall, positive in the air.
class HollowShape {
 public:
  virtual ~HollowShape() = default;
  virtual float Value(const Eigen::Vector3f& p) const = 0;
  // Holds all of the air; the shape is closed off at the box's faces.
  virtual Eigen::AlignedBox3f Bounds() const = 0;
};

struct Ray {
  Eigen::Vector3f origin;
  Eigen::Vector3f direction;  // unit length
};

struct RayHit {
  float distance = 0;  // along the ray to the wall, or how far it was followed
  bool hit = false;
};

class DistanceField {
 public:
  static constexpr int kBlock = 8;           // voxels along a block's edge
  static constexpr int kNodes = kBlock + 1;  // nodes along it; faces are stored on both sides
  static constexpr int kBlockValues = kNodes * kNodes * kNodes;
  static constexpr int kCoarse = 4;  // voxels per coarse cell

  DistanceField(const HollowShape& shape, float voxel, int threads);

  float Voxel() const { return voxel_; }
  Eigen::AlignedBox3f Bounds() const;
  size_t MemoryBytes() const;

  // Distance to the wall in mm, positive in the air; trilinear between nodes.
  float Distance(const Eigen::Vector3f& p) const {
    const Eigen::Vector3f g = (p - origin_) * inverse_voxel_;
    if (!(g.x() >= 0 && g.y() >= 0 && g.z() >= 0 && g.x() < limit_.x() && g.y() < limit_.y() &&
          g.z() < limit_.z())) {
      return -voxel_;  // solid all around
    }
    // Unsigned, so that dividing by the block's edge is a shift.
    const auto x = static_cast<uint32_t>(g.x());
    const auto y = static_cast<uint32_t>(g.y());
    const auto z = static_cast<uint32_t>(g.z());
    const uint32_t block = (z / kBlock * static_cast<uint32_t>(block_size_.y()) + y / kBlock) *
                               static_cast<uint32_t>(block_size_.x()) +
                           x / kBlock;
    const int32_t slot = blocks_[block];
    if (slot < 0) return CoarseDistance(g);
    const uint32_t node = ((z % kBlock) * kNodes + y % kBlock) * kNodes + x % kBlock;
    return Trilinear(
        values_.data() + static_cast<size_t>(slot) * kBlockValues + node, kNodes, kNodes * kNodes,
        {g.x() - static_cast<float>(x), g.y() - static_cast<float>(y), g.z() - static_cast<float>(z)});
  }

  // Central differences over one voxel: continuous, unlike the interpolant's own gradient.
  Eigen::Vector3f Gradient(const Eigen::Vector3f& p) const;
  // The same, and the sum of second differences: about twice the mean curvature (1/mm), positive where
  // the wall bulges into the air.
  Eigen::Vector3f Gradient(const Eigen::Vector3f& p, float* curvature) const;

  // Follows the ray to the first wall, at most `reach` far, from a `start` known to lie in the air before it.
  RayHit Trace(const Ray& ray, float reach, float start = 0) const;
  // How far all rays of the cone about `ray` run in the air (half angle in radians, small): a start for them.
  float TraceCone(const Ray& ray, float half_angle, float reach) const;
  // The share of a ball of light of this radius, `distance` along the ray, that is seen from the ray's
  // origin on a wall: 0 behind an obstacle, between 0 and 1 where one only just stands in the way.
  float Transmission(const Ray& ray, float distance, float light_radius) const;

  // For those who walk the surface: blocks near it, each with its first node and values.
  struct Block {
    Eigen::Vector3i first_node;
    const float* values;
  };
  std::vector<Block> Blocks() const;
  Eigen::Vector3f NodePosition(const Eigen::Vector3f& node) const { return origin_ + voxel_ * node; }

  // The coarse grid, for planning routes through the air.
  const Eigen::Vector3i& CoarseSize() const { return coarse_size_; }
  Eigen::Vector3f CoarsePosition(const Eigen::Vector3i& node) const {
    return origin_ + voxel_ * kCoarse * node.cast<float>();
  }
  size_t CoarseIndex(const Eigen::Vector3i& node) const { return FlatIndex(node, coarse_size_); }
  const std::vector<float>& CoarseValues() const { return coarse_; }

 private:
  static float Trilinear(const float* corner, int row, int slice, const Eigen::Vector3f& t) {
    const float a = corner[0] + t.x() * (corner[1] - corner[0]);
    const float b = corner[row] + t.x() * (corner[row + 1] - corner[row]);
    const float c = corner[slice] + t.x() * (corner[slice + 1] - corner[slice]);
    const float d = corner[slice + row] + t.x() * (corner[slice + row + 1] - corner[slice + row]);
    const float low = a + t.y() * (b - a);
    const float high = c + t.y() * (d - c);
    return low + t.z() * (high - low);
  }
  float CoarseDistance(const Eigen::Vector3f& g) const;
  float Refine(const Ray& ray, float before, float after) const;
  float ClosedValue(const HollowShape& shape, const Eigen::Vector3f& p) const;
  void SampleCoarse(const HollowShape& shape, int threads);
  void SampleBlocks(const HollowShape& shape, int threads);
  bool NearWall(const Eigen::Vector3i& block) const;
  void SpreadDistance();
  void UpdateFromNeighbours(const Eigen::Vector3i& node, const std::vector<uint8_t>& fixed);

  float voxel_ = 1;
  float inverse_voxel_ = 1;
  Eigen::Vector3f origin_;
  Eigen::Vector3f limit_;  // in voxels
  Eigen::Vector3i block_size_;
  Eigen::Vector3i coarse_size_;
  std::vector<int32_t> blocks_;  // slot in values_ / kBlockValues, or -1
  std::vector<float> values_;
  std::vector<float> coarse_;
};

}  // namespace lumen
