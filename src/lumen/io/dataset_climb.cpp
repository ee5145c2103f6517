// The input of the CLiMB challenge: videos called Seq_001_a.mp4, and nothing else.
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

class ClimbSet : public Dataset {
 public:
  const char* Name() const override { return "CLiMB"; }
  bool Holds(const fs::path& path) const override {
    return ToLower(path.extension().string()) == ".mp4" && StartsWith(path.filename().string(), "Seq_") &&
           fs::is_regular_file(path);
  }
  std::unique_ptr<FrameSource> Open(const fs::path& path, const InputOptions&) const override {
    return OpenVideo(path);
  }
};

}  // namespace

const Dataset& Climb() {
  static const ClimbSet set;
  return set;
}

}  // namespace lumen
