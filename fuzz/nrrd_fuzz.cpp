// A header with its voxels behind it, or in a file beside it ("scan.raw").
#include "fuzz/volume_checks.h"

namespace lumen::fuzz {
namespace {

void ReadNrrd(const std::string& input) {
  ExpectSound(LoadVolume(WriteFolder(input, {"scan.nrrd", "scan.raw"}) / "scan.nrrd"));
}

const Registration kTarget("nrrd", ReadNrrd);

}  // namespace
}  // namespace lumen::fuzz
