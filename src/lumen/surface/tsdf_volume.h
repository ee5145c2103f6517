// A truncated signed distance function of space (Curless and Levoy 1996) in a hash of blocks: only space
// near a surface that some view has seen takes memory. Positive on the camera's side.
#pragma once

#include <memory>
#include <unordered_map>

#include "lumen/scene/depth_view.h"
#include "lumen/scene/mesh.h"

namespace lumen {

// How much a pixel is believed.
struct PixelWeightOptions {
  double reference_depth = 1;  // a pixel this far away, seen frontally, away from borders, weighs 1
  int border_pixels = 4;       // over which the weight grows from the border of the image or mask
  double least_cosine = 0.25;  // of the angle between ray and normal; flatter pixels are left out
  double farthest = 1e9;       // in reference depths; pixels farther away are left out
  double largest_jump = 0.15;  // between neighbouring pixels, relative: beyond it there is an edge
};

class TsdfVolume {
 public:
  static constexpr int kBlock = 8;  // voxels along a block's edge
  static constexpr int kBlockVoxels = kBlock * kBlock * kBlock;

  TsdfVolume(double voxel, double truncation) : voxel_(voxel), truncation_(truncation) {}

  void Integrate(const DepthView& view, const PixelWeightOptions& options, int threads);
  size_t BlockCount() const { return blocks_.size(); }
  size_t MemoryBytes() const { return blocks_.size() * sizeof(Block); }
  // Facing the cameras; normals, colours and the attributes "confidence" (0 … 1: w / (w + 1) of the weight w,
  // and less the farther away the views were: depth errs in proportion), "observations" (views that saw it)
  // kSeenFrom, and kSigma if every view said how sure it is.
  TriangleMesh ExtractMesh(double least_weight, double reference_depth) const;

 private:
  struct Voxel {
    float distance = 0;  // in truncations
    float weight = 0;
    float color[3] = {};
    float views = 0;
    float sigma = 0;                                      // of the views' depth, along their normal, mean
    float depth = 0;                                      // from which it was seen, mean
    Eigen::Vector3f seen_from = Eigen::Vector3f::Zero();  // mean place of the cameras
  };
  struct Block {
    Eigen::Vector3i index;
    std::array<Voxel, kBlockVoxels> voxels;
  };
  struct IndexHash {
    size_t operator()(const Eigen::Vector3i& i) const {
      return static_cast<size_t>(i.x()) * 73856093U ^ static_cast<size_t>(i.y()) * 19349669U ^
             static_cast<size_t>(i.z()) * 83492791U;
    }
  };
  struct PreparedView;

  std::vector<size_t> TouchBlocks(const PreparedView& view);
  void TouchRay(const PreparedView& view, int x, int y, std::vector<size_t>& touched);
  void UpdateBlock(const PreparedView& view, Block& block) const;
  void UpdateVoxel(const PreparedView& view, const Eigen::Vector3f& x_in_camera, Voxel& voxel) const;
  // Voxels of the block and one layer of its neighbours beyond; null where there is none.
  using Neighbourhood = std::array<const Voxel*, (kBlock + 1) * (kBlock + 1) * (kBlock + 1)>;
  Neighbourhood Gather(const Block& block) const;
  struct Extraction;
  void ExtractBlock(const Block& block, const Eigen::Vector3i& low, double least_weight,
                    Extraction& extraction) const;

  double voxel_;
  double truncation_;
  bool knows_sigma_ = true;
  std::unordered_map<Eigen::Vector3i, size_t, IndexHash> index_;
  std::vector<std::unique_ptr<Block>> blocks_;  // in the order they were first seen
};

}  // namespace lumen
