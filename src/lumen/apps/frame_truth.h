// What is known of an input's frames beside their pictures: from the input itself, or from structure from
// motion, with dense depth from one of several hands. `lumen convert` writes it down.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "lumen/io/colmap_model.h"
#include "lumen/io/frame_source.h"
#include "lumen/scene/mesh.h"

namespace lumen {

// A depth map along z, and the camera it is seen through, which stands where the frame's does.
struct TrueDepth {
  DepthImage map;
  Camera camera;
};

struct FrameTruth {
  std::optional<Rigid3> world_from_camera;
  std::vector<SparsePoint> points;  // in the frame's own pixels
  std::optional<TrueDepth> depth;
};

class FrameTruths {
 public:
  virtual ~FrameTruths() = default;
  virtual FrameTruth Of(int64_t frame, double time) const = 0;
  // About the largest depth there is; 0: there is none.
  virtual double LargestDepth() const = 0;
};

// Dense depth of a frame whose place and points are known, where there is any.
using DenseDepth = std::function<std::optional<TrueDepth>(int64_t frame, const ColmapView& view)>;

// The input's own, poses found by time; `dense` is asked where it has no depth of its own. The source must
// outlive it.
std::unique_ptr<FrameTruths> MakeSourceTruths(const FrameSource& source, DenseDepth dense = nullptr);

struct ColmapMatch {
  std::unique_ptr<FrameTruths> truths;
  int64_t placed = 0;   // frames that the model places
  int64_t frames = 0;   // of the input
  int64_t missing = 0;  // images of the model that the input lacks
};
// Images are found by their names; the source is a folder of images or a sequence folder and must outlive
// what is made. Throws InputError where none is found.
ColmapMatch MakeColmapTruths(const FrameSource& source, ColmapModel model, DenseDepth dense);

// From COLMAP's stereo: NAME.geometric.bin, else NAME.photometric.bin, of undistorted images. Throws
// InputError where the model's camera is no pinhole, or the folder has no depth map of it.
DenseDepth DepthFromMaps(const std::filesystem::path& folder, const ColmapModel& model);
// A surface in the poses' frame, seen from them.
DenseDepth DepthFromMesh(const TriangleMesh& mesh, const Camera& camera);
// What a run's keyframes agree on in a frame, scaled to the points the frame sees; frames that see too few,
// or depth that does not go with them, are left out.
DenseDepth DepthFromRun(const std::filesystem::path& run, const Camera& camera);

}  // namespace lumen
