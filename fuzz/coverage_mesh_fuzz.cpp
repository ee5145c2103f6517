#include "fuzz/mesh_checks.h"
#include "lumen/io/coverage_mesh.h"

namespace lumen::fuzz {
namespace {

void ReadCoverage(const std::string& input) {
  const CoverageMesh coverage = LoadCoverageMesh(WriteScratch(kCoverageMeshFile, input));
  ExpectSound(coverage.mesh);
  Expect(coverage.seen.size() == coverage.mesh.triangles.size(), "answers are of triangles");
  const std::filesystem::path file = Scratch() / "again.obj";
  SaveCoverageMesh(file, coverage);
  const CoverageMesh again = LoadCoverageMesh(file);
  Expect(again.seen == coverage.seen && again.mesh.triangles == coverage.mesh.triangles &&
             again.mesh.vertices.size() == coverage.mesh.vertices.size(),
         "what is written reads back");
}

const Registration kTarget("coverage_mesh", ReadCoverage);

}  // namespace
}  // namespace lumen::fuzz
