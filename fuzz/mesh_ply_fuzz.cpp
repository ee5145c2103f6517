#include "fuzz/mesh_checks.h"
#include "lumen/io/mesh_formats.h"

namespace lumen::fuzz {
namespace {

void ReadPly(const std::string& input) {
  const TriangleMesh mesh = LoadMesh(WriteScratch("mesh.ply", input));
  ExpectSound(mesh);
  const TriangleMesh again = mesh_formats::ParsePly(mesh_formats::FormatPly(mesh, "again"), kName);
  Expect(again.vertices == mesh.vertices && again.triangles == mesh.triangles &&
             again.colors == mesh.colors && again.attributes.size() == mesh.attributes.size(),
         "what is written reads back");
}

const Registration kTarget("mesh_ply", ReadPly);

}  // namespace
}  // namespace lumen::fuzz
