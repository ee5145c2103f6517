// A header with its voxels behind it, or in a file beside it ("scan.raw").
#include "fuzz/volume_checks.h"

namespace lumen::fuzz {
namespace {

void ReadMetaImage(const std::string& input) {
  ExpectSound(LoadVolume(WriteFolder(input, {"scan.mha", "scan.raw"}) / "scan.mha"));
}

const Registration kTarget("metaimage", ReadMetaImage);

}  // namespace
}  // namespace lumen::fuzz
