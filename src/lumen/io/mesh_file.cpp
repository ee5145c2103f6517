#include "lumen/io/mesh_file.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_formats.h"

namespace lumen {

namespace {

constexpr const char* kUnknown = "is not a mesh format Lumen knows (.ply, .obj, .stl; .glb for writing)";

void CheckMesh(const TriangleMesh& mesh, const std::filesystem::path& path) {
  const auto count = static_cast<int64_t>(mesh.vertices.size());
  for (const Eigen::Vector3f& vertex : mesh.vertices) {
    if (!vertex.allFinite()) throw InputError(path, "holds a vertex that is not finite");
  }
  for (const auto& triangle : mesh.triangles) {
    for (const int32_t index : triangle) {
      if (index < 0 || index >= count)
        throw InputError(path, StrCat("a triangle names vertex ", index, " of ", count));
    }
  }
}

}  // namespace

bool IsMeshFile(const std::filesystem::path& path, bool for_writing) {
  const std::string ending = ToLower(path.extension().string());
  return ending == ".ply" || ending == ".obj" || ending == ".stl" || (for_writing && ending == ".glb");
}

TriangleMesh LoadMesh(const std::filesystem::path& path) {
  const std::string bytes = ReadFile(path);
  const std::string ending = ToLower(path.extension().string());
  TriangleMesh mesh;
  if (ending == ".ply")
    mesh = mesh_formats::ParsePly(bytes, path.string());
  else if (ending == ".obj")
    mesh = mesh_formats::ParseObj(bytes, path.string());
  else if (ending == ".stl")
    mesh = mesh_formats::ParseStl(bytes, path.string());
  else
    throw InputError(path, kUnknown);
  CheckMesh(mesh, path);
  return mesh;
}

void SaveMesh(const std::filesystem::path& path, const TriangleMesh& mesh, const std::string& comment) {
  const std::string ending = ToLower(path.extension().string());
  if (ending == ".ply")
    WriteFileAtomically(path, mesh_formats::FormatPly(mesh, comment));
  else if (ending == ".obj")
    WriteFileAtomically(path, mesh_formats::FormatObj(mesh, comment));
  else if (ending == ".stl")
    WriteFileAtomically(path, mesh_formats::FormatStl(mesh, comment));
  else if (ending == ".glb")
    WriteFileAtomically(path, mesh_formats::FormatGlb(mesh, comment));
  else
    throw InputError(path, kUnknown);
}

}  // namespace lumen
