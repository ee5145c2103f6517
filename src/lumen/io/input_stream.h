// The head of the pipeline: frames of any input at network size, undistorted, with their mask, decoded
// on a reader thread ahead of use.
#pragma once

#include <atomic>

#include "lumen/base/prefetch.h"
#include "lumen/io/frame_maker.h"
#include "lumen/io/frame_source.h"
#include "lumen/scene/frame.h"

namespace lumen {

class InputStream {
 public:
  // Needs a camera (see RequireCamera). A missing mask is found from the first frames.
  InputStream(std::unique_ptr<FrameSource> source, const std::filesystem::path& input,
              const RectifierOptions& options = {});
  ~InputStream();

  const SourceInfo& Info() const { return source_->Info(); }
  const Camera& GetCamera() const { return maker_->GetCamera(); }
  const Mask& GetMask() const { return maker_->GetMask(); }
  // Blocks until the next frame is there; nothing at the end.
  std::optional<InputFrame> Next();
  // For who does not want to wait any longer for a camera; see FrameSource.
  void Stop() { source_->Stop(); }
  // Frames that could not be read and were passed over.
  int64_t Unreadable() const { return unreadable_; }

 private:
  std::optional<InputFrame> Produce();
  std::optional<RawFrame> Read();

  std::unique_ptr<FrameSource> source_;
  std::vector<RawFrame> peeked_;  // read for the mask, not yet handed on; in reverse order
  std::unique_ptr<const FrameMaker> maker_;
  std::atomic<int64_t> unreadable_ = 0;
  std::unique_ptr<Prefetcher<InputFrame>> prefetcher_;
};

// The source's mask; else the lit region of its first frames (all of the image if they are dark).
// What was read of the source is left in `peeked`, in order.
Mask FindMask(FrameSource& source, std::vector<RawFrame>& peeked);

}  // namespace lumen
