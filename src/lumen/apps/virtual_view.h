// A virtual endoscope: the CT's wall as a camera within it would see it, to hold beside what the real one
// saw.
#pragma once

#include "lumen/geometry/sim3.h"
#include "lumen/io/run_folder.h"
#include "lumen/scene/mesh.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

class VirtualView {
 public:
  // Both must live as long; the tree is the wall's.
  VirtualView(const TriangleMesh& wall, const TriangleTree& tree);

  // Lit from the camera, exposed as an endoscope's automatic would; black where there is no wall.
  RgbImage Render(const Camera& camera, const Rigid3& ct_from_camera, int threads) const;

 private:
  Eigen::Vector3f NormalAt(const SurfaceHit& hit) const;

  const TriangleMesh& wall_;
  const TriangleTree& tree_;
  std::vector<Eigen::Vector3f> normals_;
};

// Some of the run's pictures, spread over it, above what the CT shows from the same places. Empty where the
// run keeps no pictures.
RgbImage DrawSideBySide(const RunFolder& run, const Sim3& ct_from_map, const VirtualView& view, int threads);

}  // namespace lumen
