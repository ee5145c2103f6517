#include "lumen/io/input_stream.h"

#include <algorithm>

#include "lumen/base/log.h"
#include "lumen/image/mask.h"
#include "lumen/io/recording.h"

namespace lumen {

namespace {
constexpr size_t kFramesForMask = 5;
constexpr size_t kMostFramesForMask = 60;  // a recording may begin in the dark
constexpr size_t kFramesAhead = 4;         // each with its whole picture
}  // namespace

Mask FindMask(FrameSource& source, std::vector<RawFrame>& peeked) {
  if (source.Info().mask) return *source.Info().mask;
  std::vector<RgbImage> images;
  while (peeked.size() < kMostFramesForMask) {
    std::optional<RawFrame> frame = source.Next();
    if (!frame) break;
    images.push_back(frame->image);
    peeked.push_back(std::move(*frame));
    if (images.size() < kFramesForMask) continue;
    Mask mask = DetectLitRegion(images);
    if (CountMask(mask) > 0) return mask;
    images.erase(images.begin());
  }
  if (!images.empty()) {
    Mask mask = DetectLitRegion(images);
    if (CountMask(mask) > 0) return mask;
  }
  LogWarning(source.Info().name, ": no lit region found in the first frames; using the whole image");
  return Mask(source.Info().width, source.Info().height, 1, 255);
}

InputStream::InputStream(std::unique_ptr<FrameSource> source, const std::filesystem::path& input,
                         const RectifierOptions& options)
    : source_(std::move(source)) {
  const Camera camera = RequireCamera(*source_, input);
  const Mask mask = FindMask(*source_, peeked_);
  RequireOnePicture(peeked_, input);
  std::reverse(peeked_.begin(), peeked_.end());
  maker_ = std::make_unique<FrameMaker>(camera, mask, options);
  prefetcher_ = std::make_unique<Prefetcher<InputFrame>>(kFramesAhead, [this] { return Produce(); });
}

InputStream::~InputStream() { source_->Stop(); }  // the reader may be waiting for a camera

std::optional<InputFrame> InputStream::Next() { return prefetcher_->Next(); }

// The next frame that can be read. One bad frame in the middle of a video is no reason to lose the rest.
std::optional<RawFrame> InputStream::Read() {
  if (!peeked_.empty()) {
    RawFrame raw = std::move(peeked_.back());
    peeked_.pop_back();
    return raw;
  }
  constexpr int kPatience = 100;  // bad frames in a row after which the input itself is bad
  for (int tries = 1;; ++tries) {
    try {
      return source_->Next();
    } catch (const InputError& error) {
      if (tries == kPatience) throw;
      ++unreadable_;
      LogWarning("passed over: ", error.what());
    }
  }
}

std::optional<InputFrame> InputStream::Produce() {
  std::optional<RawFrame> raw = Read();
  return raw ? std::optional(maker_->Make(std::move(*raw))) : std::nullopt;
}

}  // namespace lumen
