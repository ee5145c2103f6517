// A mesh with no more vertices than fit: what lies in the same cell of a grid becomes one.
#pragma once

#include "lumen/scene/mesh.h"

namespace lumen {

// The mesh itself where it is small enough; else positions and attributes are means of what became one, and
// normals and colours are left out. Vertices that are not finite go, with their triangles.
TriangleMesh ThinMesh(const TriangleMesh& mesh, size_t most_vertices);

}  // namespace lumen
