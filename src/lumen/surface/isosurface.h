// The surface between air and tissue in a volume.
#pragma once

#include "lumen/scene/mesh.h"
#include "lumen/scene/volume.h"

namespace lumen {

// Where the volume crosses the threshold; triangles face what lies below it, the air. In LPS, with normals.
TriangleMesh ExtractIsosurface(const Volume& volume, double threshold);

}  // namespace lumen
