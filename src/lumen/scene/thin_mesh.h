// A mesh with no more vertices or triangles than fit: what lies in the same cell of a grid becomes one.
#pragma once

#include <limits>

#include "lumen/scene/mesh.h"

namespace lumen {

struct MeshBound {
  size_t vertices = std::numeric_limits<size_t>::max();
  size_t triangles = std::numeric_limits<size_t>::max();
};

// The mesh itself where it is small enough; else positions, colours and attributes are means of what became
// one, and normals are left out. Vertices that are not finite go, with their triangles.
TriangleMesh ThinMesh(const TriangleMesh& mesh, const MeshBound& most);

}  // namespace lumen
