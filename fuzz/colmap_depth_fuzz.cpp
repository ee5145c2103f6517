#include "fuzz/colmap_checks.h"

namespace lumen::fuzz {
namespace {

void ReadColmapDepth(const std::string& input) {
  const DepthImage depth = LoadColmapDepthMap(WriteScratch("a.png.geometric.bin", input));
  Expect(!depth.Empty() && depth.Channels() == 1, "a depth map has pixels");
  for (size_t i = 0; i < depth.Size(); ++i)
    Expect(std::isfinite(depth.Data()[i]) && depth.Data()[i] >= 0, "depths are numbers");
}

const Registration kTarget("colmap_depth", ReadColmapDepth);

}  // namespace
}  // namespace lumen::fuzz
