#include "fuzz/colmap_checks.h"

namespace lumen::fuzz {
namespace {

void ReadColmapText(const std::string& input) {
  ExpectSound(LoadColmapModel(WriteFolder(input, {"cameras.txt", "images.txt", "points3D.txt"})));
}

const Registration kTarget("colmap_text", ReadColmapText);

}  // namespace
}  // namespace lumen::fuzz
