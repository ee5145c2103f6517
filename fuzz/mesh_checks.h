// What holds of every mesh that was read.
#pragma once

#include <algorithm>

#include "fuzz/fuzz.h"
#include "lumen/io/mesh_file.h"

namespace lumen::fuzz {

inline void ExpectSound(const TriangleMesh& mesh) {
  const size_t count = mesh.vertices.size();
  for (const Eigen::Vector3f& vertex : mesh.vertices) Expect(vertex.allFinite(), "vertices are finite");
  for (const auto& triangle : mesh.triangles)
    for (const int32_t corner : triangle)
      Expect(corner >= 0 && static_cast<size_t>(corner) < count, "triangles are of vertices");
  Expect(mesh.normals.empty() || mesh.normals.size() == count, "normals are of vertices");
  Expect(mesh.colors.empty() || mesh.colors.size() == count, "colours are of vertices");
  for (const VertexAttribute& attribute : mesh.attributes)
    Expect(attribute.values.size() == count, "attributes are of vertices");
}

}  // namespace lumen::fuzz
