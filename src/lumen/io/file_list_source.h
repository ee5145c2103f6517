// Frames that lie in files of their own, one picture each: what a sequence folder and a plain folder of
// images share.
#pragma once

#include <vector>

#include "lumen/io/frame_source.h"

namespace lumen {

class FileListSource : public FrameSource {
 public:
  std::optional<RawFrame> Next() override;
  bool Skip() override;
  std::filesystem::path FrameFile(int64_t index) const override;

 protected:
  // The files in order; the first one is frame `first`. Its picture sets the size the others must have.
  void SetFiles(std::vector<std::filesystem::path> files, int64_t first);

 private:
  std::vector<std::filesystem::path> files_;
  int64_t first_ = 0;
  size_t next_ = 0;
};

}  // namespace lumen
