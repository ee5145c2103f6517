// A wall as a mesh that says of each triangle whether it was seen: OBJ as C3VD has it, coverage_mesh.obj. Two
// texture places stand for the two answers, 0 0 for seen and 1 1 for missed, and each face names one of them.
#pragma once

#include <filesystem>
#include <vector>

#include "lumen/scene/mesh.h"

namespace lumen {

inline constexpr const char* kCoverageMeshFile = "coverage_mesh.obj";

struct CoverageMesh {
  TriangleMesh mesh;
  std::vector<char> seen;  // one for each triangle
};

// Throws InputError with what is wrong; faces that do not tell are a fault.
CoverageMesh LoadCoverageMesh(const std::filesystem::path& path);
void SaveCoverageMesh(const std::filesystem::path& path, const CoverageMesh& coverage);

}  // namespace lumen
