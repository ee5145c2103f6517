#include "fuzz/fuzz.h"
#include "lumen/base/error.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/run_keyframes.h"

namespace lumen::fuzz {
namespace {

void ReadRun(const std::string& input) {
  const RunFolder run =
      ReadRunFolder(WriteFolder(input, {"summary.json", "frames.tum", "keyframes.tum", "events.jsonl",
                                        "depth/000000.png", "images/000000.png"}));
  DescribeBrokenRun(run);
  const InputOptions options = InputOptionsOf(run.summary);
  Expect(options.stride >= 1 && options.start >= 0, "its input can be opened again");
  Expect(ListRunKeyframes(run).size() == run.keyframes.size(), "a keyframe for every pose");
  constexpr size_t kMostPoints = 1000;
  for (const Eigen::Vector3f& vertex : MakeRunCloud(run, kMostPoints).vertices)
    Expect(vertex.allFinite(), "points are finite");
}

const Registration kTarget("run_folder", ReadRun, [] { HaveOpenCv(); });

}  // namespace
}  // namespace lumen::fuzz
