// The zero level of a distance field as a mesh (surface nets: one vertex per cell the wall runs through).
#pragma once

#include "lumen/scene/mesh.h"
#include "lumen/sim/distance_field.h"

namespace lumen {

// Closed; vertices lie on the zero level, triangles face the air.
TriangleMesh ExtractSurfaceNet(const DistanceField& field);

}  // namespace lumen
