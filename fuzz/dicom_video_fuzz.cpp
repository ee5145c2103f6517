#include <cmath>

#include "fuzz/fuzz.h"
#include "lumen/io/dicom_video.h"

namespace lumen::fuzz {
namespace {

void ReadDicomVideo(const std::string& input) {
  const DicomStream stream = ReadDicomStream(WriteScratch("a.dcm", input));
  Expect(!stream.fragments.empty(), "a stream has fragments");
  Expect(std::isfinite(stream.fps) && stream.fps >= 0 && stream.frame_count >= 0,
         "rate and count make sense");
  for (const DicomStream::Fragment& fragment : stream.fragments)
    Expect(fragment.offset + fragment.bytes <= input.size(), "fragments lie in the file");
}

const Registration kTarget("dicom_video", ReadDicomVideo);

}  // namespace
}  // namespace lumen::fuzz
