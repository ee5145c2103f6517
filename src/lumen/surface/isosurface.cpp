#include "lumen/surface/isosurface.h"

#include <Eigen/Geometry>
#include <Eigen/LU>

#include "lumen/scene/surface_net.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {

using Eigen::Vector3f;

TriangleMesh ExtractIsosurface(const Volume& volume, double threshold) {
  const auto level = static_cast<float>(threshold);
  SurfaceNet net;
  std::vector<SurfaceNet::Corners> all_corners;
  for (int z = 0; z + 1 < volume.size.z(); ++z) {
    for (int y = 0; y + 1 < volume.size.y(); ++y) {
      for (int x = 0; x + 1 < volume.size.x(); ++x) {
        SurfaceNet::Corners corners;
        for (int i = 0; i < 8; ++i)
          corners[static_cast<size_t>(i)] =
              level - volume.At(x + (i & 1), y + (i >> 1 & 1), z + (i >> 2 & 1));
        if (net.AddCell({x, y, z}, corners)) all_corners.push_back(corners);
      }
    }
  }
  TriangleMesh mesh = net.Build();
  const Eigen::Affine3d lps_from_index(volume.lps_from_index);
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vector3f cell = net.Cells()[i].cast<float>();
    Vector3f gradient;
    const Vector3f index = cell + ProjectToLevel(all_corners[i], mesh.vertices[i] - cell, &gradient);
    mesh.vertices[i] = (lps_from_index * index.cast<double>()).cast<float>();
  }
  if (lps_from_index.linear().determinant() < 0) mesh = FlipTriangles(std::move(mesh));  // a mirrored grid
  mesh.normals = ComputeVertexNormals(mesh);
  return mesh;
}

}  // namespace lumen
