#include "fuzz/fuzz.h"
#include "fuzz/hdf5_lines.h"
#include "lumen/io/sage_hdf5.h"

namespace lumen::fuzz {
namespace {

void ReadSage(const std::string& input) {
  const auto source = OpenSageHdf5(WriteHdf5("fusion_data.hdf5", input));
  const SourceInfo& info = source->Info();
  Expect(info.width > 0 && info.height > 0 && info.camera && info.mask, "a source has a size and a camera");
  constexpr int kMostFrames = 3;
  for (int i = 0; i < kMostFrames; ++i) {
    const auto frame = source->Next();
    if (!frame) break;
    Expect(frame->image.Width() == info.width && frame->image.Height() == info.height,
           "frames have one size");
    if (const auto depth = source->LoadDepth(frame->index))
      Expect(depth->Width() == info.width && depth->Height() == info.height, "depth has the frames' size");
  }
}

const Registration kTarget("sage", ReadSage);

}  // namespace
}  // namespace lumen::fuzz
