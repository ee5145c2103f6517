#include "fuzz/fuzz.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/trajectory_file.h"

namespace lumen::fuzz {
namespace {

void ReadSequence(const std::string& input) {
  const auto source =
      OpenInput(WriteFolder(input, {"sequence.toml", "rgb/000000.png", "rgb/000001.png", "mask.png",
                                    "depth/000000.png", "sparse_depth.csv", "groundtruth.tum"}),
                {});
  const SourceInfo& info = source->Info();
  Expect(info.width > 0 && info.height > 0 && info.frame_count > 0, "a sequence has pictures");
  Expect(info.fps > 0 && std::isfinite(info.fps), "a sequence has a rate");
  Expect(!info.camera || (info.camera->Width() == info.width && info.camera->Height() == info.height),
         "its camera has the pictures' size");
  while (const auto frame = source->Next()) {
    Expect(frame->image.Width() == info.width && frame->image.Height() == info.height,
           "pictures have one size");
    Expect(std::isfinite(frame->time), "times are finite");
    source->LoadPoints(frame->index);
    if (const auto depth = source->LoadDepth(frame->index))
      for (size_t i = 0; i < depth->Size(); ++i) Expect(std::isfinite(depth->Data()[i]), "depths are finite");
  }
}

const Registration kTarget("sequence_folder", ReadSequence, [] { HaveOpenCv(); });

}  // namespace
}  // namespace lumen::fuzz
