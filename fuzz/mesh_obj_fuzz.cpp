#include "fuzz/mesh_checks.h"
#include "lumen/io/mesh_formats.h"

namespace lumen::fuzz {
namespace {

void ReadObj(const std::string& input) {
  const TriangleMesh mesh = LoadMesh(WriteScratch("mesh.obj", input));
  ExpectSound(mesh);
  const TriangleMesh again = mesh_formats::ParseObj(mesh_formats::FormatObj(mesh, "again"), kName);
  Expect(again.vertices.size() == mesh.vertices.size() && again.triangles == mesh.triangles,
         "what is written reads back");
}

const Registration kTarget("mesh_obj", ReadObj);

}  // namespace
}  // namespace lumen::fuzz
