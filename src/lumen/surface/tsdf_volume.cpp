#include "lumen/surface/tsdf_volume.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/image/mask.h"
#include "lumen/image/resize.h"
#include "lumen/scene/surface_net.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

constexpr int kBlockSide = TsdfVolume::kBlock + 1;
// Of the sigma of the views that were fused, what is left in the surface: they err alike
// (docs/uncertainty.md).
constexpr float kFusedSigma = 0.87F;

// Whether depth runs on from a pixel to its neighbour, rather than jumping.
bool Continues(float a, float b, double largest_jump) {
  return b > 0 && std::abs(a - b) <= static_cast<float>(largest_jump) * std::min(a, b);
}

Vector3f PointAt(const UnifiedCamera& camera, const DepthImage& depth, int x, int y) {
  return (camera.RayAtUnitDepth(x, y) * static_cast<double>(depth(x, y))).cast<float>();
}

// The normal's length along the ray of unit depth: turns differences in depth into distances from the tangent
// plane. 0 where the surface is too flat, or cannot be told.
float SlantAt(const DepthView& view, int x, int y, const PixelWeightOptions& options, float* cosine) {
  const DepthImage& depth = view.depth;
  const float here = depth(x, y);
  if (!(here > 0) || x == 0 || y == 0 || x + 1 == depth.Width() || y + 1 == depth.Height()) return 0;
  for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}})
    if (!Continues(here, depth(x + dx, y + dy), options.largest_jump)) return 0;
  const Vector3f across = PointAt(view.camera, depth, x + 1, y) - PointAt(view.camera, depth, x - 1, y);
  const Vector3f down = PointAt(view.camera, depth, x, y + 1) - PointAt(view.camera, depth, x, y - 1);
  const Vector3f normal = across.cross(down).normalized();
  const Vector3f ray = view.camera.RayAtUnitDepth(x, y).cast<float>();
  const float slant = std::abs(normal.dot(ray));
  *cosine = slant / ray.norm();
  return *cosine >= static_cast<float>(options.least_cosine) ? slant : 0;
}

// 1 away from the border of what is seen, less towards it.
Image<float> BorderWeight(const DepthImage& depth, int border_pixels) {
  Mask seen(depth.Width(), depth.Height());
  for (size_t i = 0; i < seen.Size(); ++i) seen.Data()[i] = depth.Data()[i] > 0 ? 255 : 0;
  Image<float> weight(depth.Width(), depth.Height());
  const float step = 1.0F / static_cast<float>(border_pixels + 1);
  for (int layer = 0; layer <= border_pixels; ++layer) {
    for (size_t i = 0; i < seen.Size(); ++i) weight.Data()[i] += seen.Data()[i] != 0 ? step : 0;
    seen = ErodeMask(seen, 1);
  }
  return weight;
}

}  // namespace

struct TsdfVolume::PreparedView {
  UnifiedCamera camera;
  Rigid3 world_from_camera, camera_from_world;
  Vector3f place;              // of the camera
  Image<float> inverse_depth;  // linear over a plane for a pinhole, and nearly so else; 0: unknown
  Image<float> slant;
  Image<float> weight;
  Image<float> sigma;  // along the normal; empty: not known
  RgbImage color;      // empty: there is none

  PreparedView(const DepthView& view, const PixelWeightOptions& options)
      : camera(view.camera),
        world_from_camera(view.world_from_camera),
        camera_from_world(view.world_from_camera.Inverse()),
        place(view.world_from_camera.Translation().cast<float>()),
        inverse_depth(view.depth.Width(), view.depth.Height()),
        slant(view.depth.Width(), view.depth.Height()),
        weight(BorderWeight(view.depth, options.border_pixels)) {
    for (int y = 0; y < slant.Height(); ++y) {
      for (int x = 0; x < slant.Width(); ++x) {
        const float depth = view.depth(x, y);
        float cosine = 0;
        slant(x, y) = SlantAt(view, x, y, options, &cosine);
        inverse_depth(x, y) = depth > 0 ? 1 / depth : 0;
        const float far = depth / static_cast<float>(options.reference_depth);
        const bool use = slant(x, y) > 0 && far < static_cast<float>(options.farthest);
        weight(x, y) *= use ? cosine * cosine * 2 / (1 + far * far) : 0;
      }
    }
    if (!view.sigma.Empty()) {
      sigma = Image<float>(slant.Width(), slant.Height());
      for (size_t i = 0; i < sigma.Size(); ++i)
        sigma.Data()[i] = view.sigma.Data()[i] * view.depth.Data()[i] * slant.Data()[i];
    }
    constexpr int kFiner = 2;  // than the depth map: voxels show no more
    const int width = kFiner * slant.Width(), height = kFiner * slant.Height();
    color = view.image.Width() > width ? ResizeArea(view.image, width, height) : view.image;
  }

  const uint8_t* ColorAt(float u, float v) const {
    const float x = (u + 0.5F) * static_cast<float>(color.Width()) / static_cast<float>(slant.Width());
    const float y = (v + 0.5F) * static_cast<float>(color.Height()) / static_cast<float>(slant.Height());
    return color.Pixel(std::min(static_cast<int>(x), color.Width() - 1),
                       std::min(static_cast<int>(y), color.Height() - 1));
  }

  // The depth between four pixels that belong to one surface; 0 if they do not.
  float DepthAt(float u, float v) const {
    // Compared as they are: a voxel beside the lens projects to numbers no integer holds.
    if (!(u >= 0 && v >= 0 && u < static_cast<float>(slant.Width() - 1) &&
          v < static_cast<float>(slant.Height() - 1)))
      return 0;
    const int x = static_cast<int>(u);
    const int y = static_cast<int>(v);
    const float* top = inverse_depth.Pixel(x, y);
    const float* bottom = inverse_depth.Pixel(x, y + 1);
    const float a = u - static_cast<float>(x);
    const float b = v - static_cast<float>(y);
    const auto [low, high] = std::minmax({top[0], top[1], bottom[0], bottom[1]});
    constexpr float kSameSurface = 1.35F;
    if (!(low > 0) || high > kSameSurface * low) return 0;
    return 1 / ((1 - b) * (top[0] + a * (top[1] - top[0])) + b * (bottom[0] + a * (bottom[1] - bottom[0])));
  }
};

void TsdfVolume::Integrate(const DepthView& view, const PixelWeightOptions& options, int threads) {
  LUMEN_CHECK(view.depth.Width() > 2 && view.depth.Height() > 2);
  LUMEN_CHECK(view.sigma.Empty() || view.sigma.Size() == view.depth.Size());
  knows_sigma_ &= !view.sigma.Empty();
  const PreparedView prepared(view, options);
  const std::vector<size_t> touched = TouchBlocks(prepared);
  ParallelChunks(static_cast<int64_t>(touched.size()), 16, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) UpdateBlock(prepared, *blocks_[touched[static_cast<size_t>(i)]]);
  });
}

std::vector<size_t> TsdfVolume::TouchBlocks(const PreparedView& view) {
  std::vector<size_t> touched;
  for (int y = 0; y < view.slant.Height(); ++y)
    for (int x = 0; x < view.slant.Width(); ++x)
      if (view.weight(x, y) > 0) TouchRay(view, x, y, touched);
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

// Blocks along the part of a pixel's ray that lies within the truncation of the surface.
void TsdfVolume::TouchRay(const PreparedView& view, int x, int y, std::vector<size_t>& touched) {
  const Vector3d ray = view.camera.RayAtUnitDepth(x, y);
  const double depth = 1.0 / static_cast<double>(view.inverse_depth(x, y));
  const double reach = truncation_ / std::max(0.25, static_cast<double>(view.slant(x, y)));
  const double step = 0.5 * kBlock * voxel_ / ray.norm();
  const double edge = kBlock * voxel_;
  Vector3i last(1 << 20, 0, 0);
  for (double z = std::max(depth - reach, 0.1 * depth); z < depth + reach + step; z += step) {
    const Vector3d p = view.world_from_camera * (ray * std::min(z, depth + reach));
    const Vector3i index = (p / edge).array().floor().cast<int>();
    if (index == last) continue;
    last = index;
    const auto [found, added] = index_.try_emplace(index, blocks_.size());
    if (added) {
      blocks_.push_back(std::make_unique<Block>());
      blocks_.back()->index = index;
    }
    touched.push_back(found->second);
  }
}

void TsdfVolume::UpdateBlock(const PreparedView& view, Block& block) const {
  const Eigen::Matrix3f rotation = view.camera_from_world.RotationMatrix().cast<float>();
  const Vector3d first = (block.index * kBlock).cast<double>() * voxel_;
  const Vector3f origin = (view.camera_from_world * first).cast<float>();
  const Eigen::Matrix3f step = rotation * static_cast<float>(voxel_);
  size_t i = 0;
  for (int z = 0; z < kBlock; ++z) {
    for (int y = 0; y < kBlock; ++y) {
      const Vector3f row = origin + step.col(2) * static_cast<float>(z) + step.col(1) * static_cast<float>(y);
      for (int x = 0; x < kBlock; ++x, ++i)
        UpdateVoxel(view, row + step.col(0) * static_cast<float>(x), block.voxels[i]);
    }
  }
}

void TsdfVolume::UpdateVoxel(const PreparedView& view, const Vector3f& x_in_camera, Voxel& voxel) const {
  const auto alpha = static_cast<float>(view.camera.alpha);
  float z = x_in_camera.z();  // its depth, as the view measures it
  if (alpha > 0) {
    const float distance = x_in_camera.norm();
    if (!(z + static_cast<float>(view.camera.Reach()) * distance > 0)) return;
    z = (1 - alpha) * z + alpha * distance;
  }
  if (!(z > 0)) return;
  const float u =
      static_cast<float>(view.camera.fx) * x_in_camera.x() / z + static_cast<float>(view.camera.cx);
  const float v =
      static_cast<float>(view.camera.fy) * x_in_camera.y() / z + static_cast<float>(view.camera.cy);
  const float depth = view.DepthAt(u, v);
  if (!(depth > 0)) return;
  const int x = static_cast<int>(u + 0.5F);
  const int y = static_cast<int>(v + 0.5F);
  float weight = view.weight(x, y);
  if (!(weight > 0)) return;
  const float distance = (depth - z) * view.slant(x, y) / static_cast<float>(truncation_);
  if (distance < -1) return;
  // Views disagree. The farther from what a view takes for the surface, the less it counts there, before it
  // as behind it: were only what lies behind discounted, the deepest view would have its way.
  constexpr float kFarthest = 0.2F;
  weight *= std::max(kFarthest, 1 - (1 - kFarthest) * std::abs(distance));
  const float total = voxel.weight + weight;
  const float share = weight / total;
  voxel.distance += share * (std::min(distance, 1.0F) - voxel.distance);
  if (!view.color.Empty()) {
    const uint8_t* color = view.ColorAt(u, v);
    for (int c = 0; c < 3; ++c) voxel.color[c] += share * (static_cast<float>(color[c]) - voxel.color[c]);
  }
  if (!view.sigma.Empty()) voxel.sigma += share * (view.sigma(x, y) - voxel.sigma);
  voxel.depth += share * (z - voxel.depth);
  voxel.seen_from += share * (view.place - voxel.seen_from);
  voxel.weight = total;
  voxel.views += 1;
}

TsdfVolume::Neighbourhood TsdfVolume::Gather(const Block& block) const {
  const Block* around[8] = {};
  for (int i = 0; i < 8; ++i) {
    const auto found = index_.find(block.index + Vector3i(i & 1, i >> 1 & 1, i >> 2 & 1));
    if (found != index_.end()) around[i] = blocks_[found->second].get();
  }
  Neighbourhood nodes{};
  size_t node = 0;
  for (int z = 0; z < kBlockSide; ++z) {
    for (int y = 0; y < kBlockSide; ++y) {
      for (int x = 0; x < kBlockSide; ++x, ++node) {
        const Block* holder = around[x / kBlock + 2 * (y / kBlock) + 4 * (z / kBlock)];
        const int inner = ((z % kBlock) * kBlock + y % kBlock) * kBlock + x % kBlock;
        nodes[node] = holder != nullptr ? &holder->voxels[static_cast<size_t>(inner)] : nullptr;
      }
    }
  }
  return nodes;
}

// The mesh as it grows: what the net does not know of its vertices.
struct TsdfVolume::Extraction {
  SurfaceNet net;
  std::vector<SurfaceNet::Corners> corners;
  TriangleMesh mesh;
  float reference_depth;
  bool knows_sigma;

  Extraction(double reference, bool sigma)
      : reference_depth(static_cast<float>(reference)), knows_sigma(sigma) {
    mesh.attributes = {{"confidence", {}}, {"observations", {}}};
    for (const char* name : kSeenFrom) mesh.attributes.push_back({name, {}});
    if (knows_sigma) mesh.attributes.push_back({kSigma, {}});
  }

  void AddCell(const Vector3i& cell, const std::array<const Voxel*, 8>& voxels) {
    SurfaceNet::Corners values;
    for (size_t i = 0; i < 8; ++i) values[i] = voxels[i]->distance;
    if (!net.AddCell(cell, values)) return;
    corners.push_back(values);
    Voxel mean;
    for (const Voxel* voxel : voxels) {
      mean.weight += voxel->weight / 8;
      mean.sigma += voxel->sigma / 8;
      mean.depth += voxel->depth / 8;
      mean.seen_from += voxel->seen_from / 8;
      mean.views = std::max(mean.views, voxel->views);
      for (int c = 0; c < 3; ++c) mean.color[c] += voxel->color[c] / 8;
    }
    const auto channel = [&](int c) { return static_cast<uint8_t>(mean.color[c] + 0.5F); };
    mesh.colors.push_back({channel(0), channel(1), channel(2)});
    const float far = mean.depth / reference_depth;
    mesh.attributes[0].values.push_back(mean.weight / (mean.weight + 1) / (1 + far * far));
    mesh.attributes[1].values.push_back(mean.views);
    for (size_t k = 0; k < kSeenFrom.size(); ++k)
      mesh.attributes[2 + k].values.push_back(mean.seen_from[static_cast<Eigen::Index>(k)]);
    if (knows_sigma) mesh.attributes.back().values.push_back(kFusedSigma * mean.sigma);
  }

  // `first_node`: where the net's cell 0 lies, in voxels.
  TriangleMesh Finish(const Vector3i& first_node, double voxel) {
    TriangleMesh shape = net.Build();
    mesh.triangles = std::move(shape.triangles);
    for (size_t i = 0; i < corners.size(); ++i) {
      const Vector3f cell = net.Cells()[i].cast<float>();
      Vector3f gradient;
      const Vector3f within = ProjectToLevel(corners[i], shape.vertices[i] - cell, &gradient);
      mesh.vertices.push_back((within + cell + first_node.cast<float>()) * static_cast<float>(voxel));
      mesh.normals.push_back(gradient.norm() > 0 ? gradient.normalized() : Vector3f::UnitZ());
    }
    return std::move(mesh);
  }
};

void TsdfVolume::ExtractBlock(const Block& block, const Vector3i& low, double least_weight,
                              Extraction& extraction) const {
  const Neighbourhood nodes = Gather(block);
  for (int z = 0; z < kBlock; ++z) {
    for (int y = 0; y < kBlock; ++y) {
      for (int x = 0; x < kBlock; ++x) {
        std::array<const Voxel*, 8> voxels{};
        bool seen = true;
        for (int i = 0; i < 8 && seen; ++i) {
          const int node = ((z + (i >> 2 & 1)) * kBlockSide + y + (i >> 1 & 1)) * kBlockSide + x + (i & 1);
          const Voxel* voxel = nodes[static_cast<size_t>(node)];
          seen = voxel != nullptr && static_cast<double>(voxel->weight) > least_weight;
          voxels[static_cast<size_t>(i)] = voxel;
        }
        if (seen) extraction.AddCell((block.index - low) * kBlock + Vector3i(x, y, z), voxels);
      }
    }
  }
}

TriangleMesh TsdfVolume::ExtractMesh(double least_weight, double reference_depth) const {
  Vector3i low = Vector3i::Constant(1 << 20);
  for (const auto& block : blocks_) low = low.cwiseMin(block->index);
  Extraction extraction(reference_depth, knows_sigma_);
  for (const auto& block : blocks_) ExtractBlock(*block, low, least_weight, extraction);
  return extraction.Finish(low * kBlock, voxel_);
}

}  // namespace lumen
