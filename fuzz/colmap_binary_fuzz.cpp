#include "fuzz/colmap_checks.h"

namespace lumen::fuzz {
namespace {

void ReadColmapBinary(const std::string& input) {
  ExpectSound(LoadColmapModel(WriteFolder(input, {"cameras.bin", "images.bin", "points3D.bin"})));
}

const Registration kTarget("colmap_binary", ReadColmapBinary);

}  // namespace
}  // namespace lumen::fuzz
