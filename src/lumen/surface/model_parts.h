// The parts of a model that a surface may lie on, each by itself: the air spaces of a CT. What stands free in
// one of them, tissue with air all around, belongs to it.
#pragma once

#include <vector>

#include "lumen/scene/mesh.h"

namespace lumen {

// Largest first; those of less than `least_share` of the largest one's area are left out. One, if all hangs
// together.
std::vector<TriangleMesh> SplitModel(const TriangleMesh& model, double least_share);

}  // namespace lumen
