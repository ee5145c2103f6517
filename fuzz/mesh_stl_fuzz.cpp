#include "fuzz/mesh_checks.h"
#include "lumen/io/mesh_formats.h"

namespace lumen::fuzz {
namespace {

void ReadStl(const std::string& input) {
  const TriangleMesh mesh = LoadMesh(WriteScratch("mesh.stl", input));
  ExpectSound(mesh);
  const TriangleMesh again = mesh_formats::ParseStl(mesh_formats::FormatStl(mesh, "again"), kName);
  Expect(again.vertices == mesh.vertices && again.triangles == mesh.triangles, "what is written reads back");
}

const Registration kTarget("mesh_stl", ReadStl);

}  // namespace
}  // namespace lumen::fuzz
