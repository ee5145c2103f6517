#include "lumen/surface/fusion.h"

#include <algorithm>
#include <optional>

#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

void FusionOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("voxel", voxel, {.min = 0, .unit = "map", .help = "size of a voxel; 0: from the depth maps"});
  visitor.Field(
      "voxel_factor", voxel_factor,
      {.min = 0.1, .max = 10, .help = "size of a voxel in median pixel footprints, where voxel is 0"});
  visitor.Field("truncation", truncation, {.min = 2, .max = 50, .unit = "voxels", .help = "reach of a view"});
  visitor.Field(
      "border_pixels", border_pixels,
      {.min = 0, .max = 100, .unit = "px", .help = "over which weights grow from the image's border"});
  visitor.Field("least_cosine", least_cosine,
                {.min = 0, .max = 1, .help = "between ray and normal; flatter pixels are left out"});
  visitor.Field(
      "farthest", farthest,
      {.min = 0, .unit = "median depths", .help = "beyond which a view says nothing; 0: however far"});
  visitor.Field("least_weight", least_weight, {.min = 0, .help = "of a voxel that is part of the surface"});
  visitor.Field("least_part", least_part,
                {.min = 0, .max = 1, .help = "smaller parts are specks: share of the largest part's area"});
  visitor.Field("memory_mb", memory_mb, {.min = 1, .unit = "MB", .help = "beyond it voxels are made larger"});
}

namespace {

struct MapScale {
  double depth = 0;      // median
  double footprint = 0;  // of a pixel, median
};

std::optional<MapScale> MeasureScale(const ViewList& views) {
  constexpr int kLooks = 64;
  std::vector<float> depths, footprints;
  for (int i = 0; i < views.count; i += std::max(1, views.count / kLooks)) {
    const DepthView view = views.load(i);
    for (size_t k = 0; k < view.depth.Size(); k += 3) {
      const float depth = view.depth.Data()[k];
      if (!(depth > 0)) continue;
      depths.push_back(depth);
      footprints.push_back(depth / static_cast<float>(view.camera.fx));
    }
  }
  if (depths.empty()) return std::nullopt;
  return MapScale{static_cast<double>(MedianOf(depths)), static_cast<double>(MedianOf(footprints))};
}

}  // namespace

FusionResult FuseViews(const ViewList& views, const FusionOptions& options, int threads,
                       const std::function<void(int)>& progress) {
  FusionResult result;
  const auto scale = MeasureScale(views);
  if (!scale) return result;
  result.voxel = options.voxel > 0 ? options.voxel : options.voxel_factor * scale->footprint;
  result.truncation = options.truncation * result.voxel;
  const PixelWeightOptions weights{.reference_depth = scale->depth,
                                   .border_pixels = options.border_pixels,
                                   .least_cosine = options.least_cosine,
                                   .farthest = options.farthest > 0 ? options.farthest : 1e9};
  TsdfVolume volume(result.voxel, result.truncation);
  for (int i = 0; i < views.count; ++i) {
    volume.Integrate(views.load(i), weights, threads);
    if (static_cast<double>(volume.MemoryBytes()) > options.memory_mb * 1e6) {
      FusionOptions coarser = options;
      coarser.voxel = 1.3 * result.voxel;
      return FuseViews(views, coarser, threads, progress);
    }
    if (progress) progress(i + 1);
  }
  result.memory_bytes = volume.MemoryBytes();
  result.mesh = RemoveSpecks(volume.ExtractMesh(options.least_weight, scale->depth), options.least_part);
  if (!result.mesh.triangles.empty()) result.status = FusionStatus::kOk;
  return result;
}

}  // namespace lumen
