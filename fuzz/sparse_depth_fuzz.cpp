#include "lumen/io/sparse_depth.h"

#include <cmath>

#include "fuzz/fuzz.h"

namespace lumen::fuzz {
namespace {

void ReadSparseDepth(const std::string& input) {
  const SparseDepth depth = LoadSparseDepth(WriteScratch(kSparseDepthFile, input));
  size_t points = 0;
  for (const auto& [frame, seen] : depth) {
    Expect(frame >= 0, "frames count from 0");
    for (const SparsePoint& point : seen) {
      Expect(point.uv.allFinite() && std::isfinite(point.error), "points are finite");
      Expect(point.depth > 0 && std::isfinite(point.depth), "depths are positive");
      Expect(point.track_length >= 0, "a track has a length");
    }
    points += seen.size();
  }
  SaveSparseDepth(Scratch() / "again.csv", depth);
  size_t again = 0;
  for (const auto& [frame, seen] : LoadSparseDepth(Scratch() / "again.csv")) again += seen.size();
  Expect(again == points, "what is written reads back");
}

const Registration kTarget("sparse_depth", ReadSparseDepth);

}  // namespace
}  // namespace lumen::fuzz
