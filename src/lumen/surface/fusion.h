// Depth maps from known places become one surface: voxel size and truncation come from the maps themselves,
// so that any unit will do; specks are cleaned away.
#pragma once

#include <functional>

#include "lumen/base/config.h"
#include "lumen/surface/tsdf_volume.h"

namespace lumen {

struct FusionOptions {
  double voxel = 0;  // in the map's unit; 0: the median footprint of a pixel times voxel_factor
  double voxel_factor = 1;
  double truncation = 6;  // in voxels
  int border_pixels = 4;
  double least_cosine = 0.25;
  double farthest = 0;        // median depths beyond which a view says nothing; 0: however far
  double least_weight = 0.1;  // voxels below are not part of the surface
  double least_part = 0.02;   // parts of the surface smaller than this share of the largest are specks
  double memory_mb = 800;     // beyond it the voxels are made larger

  void Describe(ConfigVisitor& visitor);
};

enum class FusionStatus { kOk, kNoDepth };

struct FusionResult {
  FusionStatus status = FusionStatus::kNoDepth;
  TriangleMesh mesh;  // see TsdfVolume::ExtractMesh
  double voxel = 0, truncation = 0;
  size_t memory_bytes = 0;
};

// `progress(done)` is called after each view.
FusionResult FuseViews(const ViewList& views, const FusionOptions& options, int threads,
                       const std::function<void(int)>& progress = {});

}  // namespace lumen
