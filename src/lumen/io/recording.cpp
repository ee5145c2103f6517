#include "lumen/io/recording.h"

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/image/interlace.h"
#include "lumen/image/overlay.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/input_stream.h"

namespace lumen {

namespace {

class WholeFrames : public DescribedSource {
 public:
  explicit WholeFrames(std::unique_ptr<FrameSource> video) : DescribedSource(std::move(video)) {}

  std::optional<RawFrame> Next() override {
    std::optional<RawFrame> frame = DescribedSource::Next();
    if (!frame) return std::nullopt;
    if (!woven_ && looked_at_ < kLookAt) LookAt(frame->image);
    if (woven_) KeepOneField(frame->image);
    return frame;
  }

 private:
  static constexpr int kLookAt = 600;  // frames, after which nobody looks any more
  static constexpr int kEnough = 3;    // frames with teeth: one may be a cut, or a display filmed

  void LookAt(const RgbImage& image) {
    ++looked_at_;
    with_teeth_ += ShareOfTeeth(image) > kTeethInAFrame ? 1 : 0;
    woven_ = with_teeth_ >= kEnough;
    if (woven_) LogInfo(info_.name, ": interlaced; one field of every frame is kept");
  }

  int looked_at_ = 0, with_teeth_ = 0;
  bool woven_ = false;
};

// Some thirty, spread over all of it.
std::vector<RgbImage> FramesAllOver(FrameSource& source, std::vector<RawFrame> peeked) {
  constexpr int64_t kFrames = 30, kLongest = 20'000;
  const int64_t count = source.Info().frame_count > 0 ? source.Info().frame_count : kLongest;
  const int64_t step = std::max<int64_t>(1, count / kFrames);
  std::vector<RgbImage> frames;
  for (size_t i = 0; i < peeked.size(); i += static_cast<size_t>(step))
    frames.push_back(std::move(peeked[i].image));
  while (static_cast<int64_t>(frames.size()) < kFrames) {
    bool more = true;
    for (int64_t i = 1; i < step && more; ++i) more = source.Skip();
    std::optional<RawFrame> frame = more ? source.Next() : std::nullopt;
    if (!frame) break;
    frames.push_back(std::move(frame->image));
  }
  return frames;
}

}  // namespace

std::unique_ptr<FrameSource> KeepFramesWhole(std::unique_ptr<FrameSource> video) {
  return std::make_unique<WholeFrames>(std::move(video));
}

Mask FindMaskWithoutText(FrameSource& source, const std::filesystem::path& input) {
  if (source.Info().live)
    throw InputError(input, "--mask-text needs a recording: it looks at all of it first");
  std::vector<RawFrame> peeked;
  Mask mask = FindMask(source, peeked);
  const std::vector<RgbImage> frames = FramesAllOver(source, std::move(peeked));
  constexpr size_t kLeastFrames = 5;
  constexpr double kMostUnchanged = 0.3;
  if (frames.size() < kLeastFrames) throw InputError(input, "is too short for --mask-text");
  const UnchangedPixels unchanged = FindUnchanged(frames, mask);
  if (unchanged.share > kMostUnchanged)
    throw InputError(input, StrCat("hardly changes: --mask-text cannot tell text from tissue in it (",
                                   static_cast<int>(100 * unchanged.share), " % never change)"));
  int64_t taken = 0;
  for (size_t i = 0; i < mask.Size(); ++i) {
    if (unchanged.mask.Data()[i] == 0 || mask.Data()[i] == 0) continue;
    mask.Data()[i] = 0;
    ++taken;
  }
  LogInfo(input.string(), ": ", taken, " pixels never change and are masked");
  return mask;
}

void RequireOnePicture(const std::vector<RawFrame>& frames, const std::filesystem::path& input) {
  std::vector<RgbImage> images;
  for (const RawFrame& frame : frames) {
    constexpr size_t kEnough = 5;
    if (images.size() < kEnough) images.push_back(frame.image);
  }
  const auto inset = FindInset(images);
  if (!inset) return;
  throw InputError(
      input,
      StrCat("shows another picture within its own, ", inset->width, "x", inset->height, " at ", inset->x,
             ",", inset->y, ": record without it, cut it off, or give --mask FILE with it painted black"));
}

}  // namespace lumen
