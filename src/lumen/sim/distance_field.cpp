#include "lumen/sim/distance_field.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"

namespace lumen {

using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

// Shapes are only about distances; a ray keeps this share of each step in hand.
constexpr float kCaution = 0.9F;
// A ray along a narrow slit creeps; few do, so a high limit costs nothing.
constexpr int kMaxSteps = 800;

constexpr int kShadowSteps = 32;

constexpr int kCoarsePerBlock = DistanceField::kBlock / DistanceField::kCoarse;

}  // namespace

DistanceField::DistanceField(const HollowShape& shape, float voxel, int threads)
    : voxel_(voxel), inverse_voxel_(1.0F / voxel) {
  LUMEN_CHECK(voxel > 0);
  const Eigen::AlignedBox3f box = shape.Bounds();
  origin_ = box.min();
  block_size_ = (box.sizes() / (voxel * kBlock)).array().ceil().cast<int>().max(1);
  limit_ = (block_size_ * kBlock).cast<float>();
  coarse_size_ = (block_size_ * kCoarsePerBlock).array() + 1;
  SampleCoarse(shape, threads);
  SampleBlocks(shape, threads);
  SpreadDistance();
}

Eigen::AlignedBox3f DistanceField::Bounds() const { return {origin_, origin_ + voxel_ * limit_}; }

size_t DistanceField::MemoryBytes() const {
  return blocks_.size() * sizeof(int32_t) + (values_.size() + coarse_.size()) * sizeof(float);
}

// The shape, closed off two voxels inside the box.
float DistanceField::ClosedValue(const HollowShape& shape, const Vector3f& p) const {
  const Vector3f to_far = origin_ + voxel_ * limit_ - p;
  const float to_face = std::min((p - origin_).minCoeff(), to_far.minCoeff());
  return std::min(shape.Value(p), to_face - 2 * voxel_);
}

void DistanceField::SampleCoarse(const HollowShape& shape, int threads) {
  coarse_.resize(static_cast<size_t>(coarse_size_.prod()));
  ParallelFor(coarse_size_.z(), threads, [&](int64_t z) {
    for (int y = 0; y < coarse_size_.y(); ++y) {
      for (int x = 0; x < coarse_size_.x(); ++x) {
        const Vector3i node(x, y, static_cast<int>(z));
        coarse_[CoarseIndex(node)] = ClosedValue(shape, CoarsePosition(node));
      }
    }
  });
}

// Whether the wall may run through the block, judged by the coarse nodes in and on it.
bool DistanceField::NearWall(const Vector3i& block) const {
  // A point of the block is at most half a coarse cell's diagonal from a node; half as much again because
  // values are only about distances; a voxel and a half so that gradients at the wall see fine values.
  const float reach = 1.5F * voxel_ * (0.5F * kCoarse * std::sqrt(3.0F) + 1.0F);
  bool near = false;
  ForEachCell(Vector3i::Constant(kCoarsePerBlock + 1), [&](const Vector3i& corner) {
    near = near || std::abs(coarse_[CoarseIndex(kCoarsePerBlock * block + corner)]) < reach;
  });
  return near;
}

void DistanceField::SampleBlocks(const HollowShape& shape, int threads) {
  blocks_.assign(static_cast<size_t>(block_size_.prod()), -1);
  std::vector<Vector3i> chosen;
  ForEachCell(block_size_, [&](const Vector3i& block) {
    if (!NearWall(block)) return;
    blocks_[FlatIndex(block, block_size_)] = static_cast<int32_t>(chosen.size());
    chosen.push_back(block);
  });
  values_.resize(chosen.size() * kBlockValues);
  ParallelFor(static_cast<int64_t>(chosen.size()), threads, [&](int64_t i) {
    const Vector3i first = kBlock * chosen[static_cast<size_t>(i)];
    float* value = &values_[static_cast<size_t>(i) * kBlockValues];
    ForEachCell(Vector3i::Constant(kNodes), [&](const Vector3i& node) {
      *value++ = ClosedValue(shape, NodePosition((first + node).cast<float>()));
    });
  });
}

// Far from the wall a shape's value may be anything positive; there the true distance is spread from the
// wall by fast sweeping (Zhao 2005), so that steps are long and clearance means what it says.
void DistanceField::SpreadDistance() {
  const float trusted = voxel_ * kCoarse;
  std::vector<uint8_t> fixed(coarse_.size());
  for (size_t i = 0; i < coarse_.size(); ++i) {
    fixed[i] = coarse_[i] < trusted ? 1 : 0;
    if (fixed[i] == 0) coarse_[i] = std::numeric_limits<float>::infinity();
  }
  for (unsigned sweep = 0; sweep < 8; ++sweep) {
    ForEachCell(coarse_size_, [&](Vector3i node) {
      // Each sweep runs towards another corner of the grid.
      for (int axis = 0; axis < 3; ++axis) {
        if ((sweep >> axis & 1U) != 0) node[axis] = coarse_size_[axis] - 1 - node[axis];
      }
      UpdateFromNeighbours(node, fixed);
    });
  }
}

// Godunov's upwind solution of |∇d| = 1 from the nearer neighbour along each axis.
void DistanceField::UpdateFromNeighbours(const Vector3i& node, const std::vector<uint8_t>& fixed) {
  const size_t index = CoarseIndex(node);
  if (fixed[index] != 0) return;
  const float cell = voxel_ * kCoarse;
  float near[3];
  for (int axis = 0; axis < 3; ++axis) {
    near[axis] = std::numeric_limits<float>::infinity();
    for (const int side : {-1, 1}) {
      Vector3i other = node;
      other[axis] += side;
      if (other[axis] < 0 || other[axis] >= coarse_size_[axis]) continue;
      near[axis] = std::min(near[axis], coarse_[CoarseIndex(other)]);
    }
  }
  std::sort(near, near + 3);
  if (near[0] == std::numeric_limits<float>::infinity()) return;
  float d = near[0] + cell;
  if (d > near[1]) {
    const float difference = near[0] - near[1];
    d = 0.5F * (near[0] + near[1] + std::sqrt(2 * cell * cell - difference * difference));
  }
  if (d > near[2]) {
    const float sum = near[0] + near[1] + near[2];
    const float squares = near[0] * near[0] + near[1] * near[1] + near[2] * near[2];
    d = (sum + std::sqrt(std::max(0.0F, sum * sum - 3 * (squares - cell * cell)))) / 3.0F;
  }
  coarse_[index] = std::min(coarse_[index], d);
}

float DistanceField::CoarseDistance(const Vector3f& g) const {
  const Vector3f c = g / kCoarse;
  const Vector3i node = c.cast<int>();
  return Trilinear(coarse_.data() + CoarseIndex(node), coarse_size_.x(), coarse_size_.x() * coarse_size_.y(),
                   c - node.cast<float>());
}

Vector3f DistanceField::Gradient(const Vector3f& p) const { return Gradient(p, nullptr); }

Vector3f DistanceField::Gradient(const Vector3f& p, float* curvature) const {
  const float h = voxel_;
  const float x0 = Distance({p.x() - h, p.y(), p.z()});
  const float x1 = Distance({p.x() + h, p.y(), p.z()});
  const float y0 = Distance({p.x(), p.y() - h, p.z()});
  const float y1 = Distance({p.x(), p.y() + h, p.z()});
  const float z0 = Distance({p.x(), p.y(), p.z() - h});
  const float z1 = Distance({p.x(), p.y(), p.z() + h});
  if (curvature != nullptr) {
    *curvature = (x0 + x1 + y0 + y1 + z0 + z1 - 6 * Distance(p)) * inverse_voxel_ * inverse_voxel_;
  }
  return Vector3f(x1 - x0, y1 - y0, z1 - z0) * (0.5F * inverse_voxel_);
}

RayHit DistanceField::Trace(const Ray& ray, float reach, float start) const {
  const float hit = 0.01F * voxel_;
  float before = start;
  float before_d = 0;
  float t = start;
  for (int step = 0; step < kMaxSteps && t <= reach; ++step) {
    const float d = Distance(ray.origin + t * ray.direction);
    if (d <= 0) return {t > start ? Refine(ray, before, t) : t, true};
    if (d < hit) return {t, true};
    float stride = kCaution * d;
    if (d < voxel_ && d < before_d) {
      // Near the wall the distance falls evenly along the ray: go straight to where it should reach zero, or
      // just beyond, since a sign change pins the wall down.
      stride = std::clamp(1.02F * d * (t - before) / (before_d - d), stride, 1.5F * voxel_);
    }
    before = t;
    before_d = d;
    t += std::max(stride, 2 * hit);
  }
  // Creeping along a wall at a grazing angle is as good as a hit; beyond the reach there is none.
  return {t, t <= reach};
}

float DistanceField::TraceCone(const Ray& ray, float half_angle, float reach) const {
  float t = 0;
  for (int step = 0; step < kMaxSteps && t < reach; ++step) {
    const float d = Distance(ray.origin + t * ray.direction) - t * half_angle;
    if (d < voxel_) break;
    t += kCaution * (1 - half_angle) * d;
  }
  return t;
}

// The wall lies between `before` (air) and `after` (tissue): false position, Illinois variant.
float DistanceField::Refine(const Ray& ray, float before, float after) const {
  const auto value = [&](float t) { return Distance(ray.origin + t * ray.direction); };
  float low = value(before);
  float high = value(after);
  float t = after;
  int side = 0;
  for (int i = 0; i < 12; ++i) {
    t = (before * high - after * low) / (high - low);
    const float d = value(t);
    if (std::abs(d) < 1e-3F * voxel_) break;
    if (d < 0) {
      after = t;
      high = d;
      if (side == -1) low *= 0.5F;
      side = -1;
    } else {
      before = t;
      low = d;
      if (side == 1) high *= 0.5F;
      side = 1;
    }
  }
  return t;
}

float DistanceField::Transmission(const Ray& ray, float distance, float light_radius) const {
  const float scale = distance / light_radius;
  float clear = 1;
  float t = 2.5F * voxel_;  // away from the wall the ray starts from
  for (int step = 0; step < kShadowSteps && t < distance; ++step) {
    const float d = Distance(ray.origin + t * ray.direction);
    if (d <= 0) return 0;
    clear = std::min(clear, scale * d / t);
    t += std::max({d, 0.1F * t, voxel_});
  }
  return clear * clear * (3 - 2 * clear);
}

std::vector<DistanceField::Block> DistanceField::Blocks() const {
  std::vector<Block> blocks(values_.size() / kBlockValues);
  ForEachCell(block_size_, [&](const Vector3i& block) {
    const int32_t slot = blocks_[FlatIndex(block, block_size_)];
    if (slot < 0) return;
    const auto index = static_cast<size_t>(slot);
    blocks[index] = {kBlock * block, &values_[index * kBlockValues]};
  });
  return blocks;
}

}  // namespace lumen
