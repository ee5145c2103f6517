// Triangle meshes as PLY, OBJ, STL and (written only) GLB, chosen by the file's ending. Attributes of
// vertices are kept by PLY alone.
#pragma once

#include <filesystem>

#include "lumen/scene/mesh.h"

namespace lumen {

bool IsMeshFile(const std::filesystem::path& path, bool for_writing);  // by its ending
// Throws InputError with what is wrong; polygons are cut into triangles; STL's corners are merged.
TriangleMesh LoadMesh(const std::filesystem::path& path);
// `comment` goes into the header where the format has one. Binary where the format allows.
void SaveMesh(const std::filesystem::path& path, const TriangleMesh& mesh, const std::string& comment = "");

}  // namespace lumen
