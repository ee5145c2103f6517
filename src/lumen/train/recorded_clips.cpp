#include "lumen/train/recorded_clips.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/random.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/rectifier.h"
#include "lumen/scene/frame.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kLeastFrames = 12;

Clip LoadRecording(const fs::path& path) {
  const std::unique_ptr<FrameSource> source = OpenInput(path, {});
  if (!source->Info().truth) throw InputError(path, "no true poses: training needs poses and depth");
  const Camera camera = RequireCamera(*source, path);
  std::vector<RawFrame> peeked;
  const Rectifier rectifier(camera, FindMask(*source, peeked));
  std::reverse(peeked.begin(), peeked.end());
  const Camera half = rectifier.TargetCamera().Resized(rectifier.TargetCamera().Width() / 2,
                                                       rectifier.TargetCamera().Height() / 2);
  Clip clip;
  clip.name = source->Info().name;
  clip.camera = *half.AsUnified();
  clip.mask = rectifier.TargetMask();
  const Trajectory& truth = *source->Info().truth;
  while (true) {
    std::optional<RawFrame> frame;
    if (!peeked.empty()) {
      frame = std::move(peeked.back());
      peeked.pop_back();
    } else {
      frame = source->Next();
    }
    if (!frame) break;
    const auto depth = source->LoadDepth(frame->index);
    if (!depth)
      throw InputError(path,
                       StrCat("frame ", frame->index, " has no true depth: training needs poses and depth"));
    if (frame->index >= static_cast<int64_t>(truth.size())) break;
    clip.frames.push_back(
        {rectifier.Apply(frame->image),
         ViewDepthOfZ(ResampleDepth(*depth, camera.Resized(depth->Width(), depth->Height()), half),
                      clip.camera),
         truth[static_cast<size_t>(frame->index)].world_from_camera});
  }
  if (static_cast<int>(clip.frames.size()) < kLeastFrames)
    throw InputError(path, StrCat("only ", clip.frames.size(), " frames with truth: training needs at least ",
                                  kLeastFrames));
  return clip;
}

}  // namespace

DepthImage ResampleDepth(const DepthImage& depth, const Camera& source, const Camera& target) {
  DepthImage out(target.Width(), target.Height());
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x) {
      const auto ray = target.Unproject({x, y});
      if (!ray) continue;
      const auto uv = source.Project(*ray);
      if (!uv) continue;
      const auto u = static_cast<int>(std::lround(uv->x()));
      const auto v = static_cast<int>(std::lround(uv->y()));
      if (depth.Contains(u, v)) out(x, y) = depth(u, v);
    }
  }
  return out;
}

RecordedClipSource::RecordedClipSource(const std::vector<fs::path>& recordings,
                                       const RecordedClipOptions& options)
    : options_(options) {
  if (recordings.empty()) throw InputError("no data to train on");
  for (const fs::path& path : recordings) {
    Clip clip = LoadRecording(path);
    const auto cut =
        static_cast<std::ptrdiff_t>(clip.frames.size() - std::max<size_t>(2, clip.frames.size() / 10));
    if (options.held_out) {
      clip.frames.erase(clip.frames.begin(), clip.frames.begin() + cut);
    } else {
      clip.frames.erase(clip.frames.begin() + cut, clip.frames.end());
    }
    recordings_.push_back(std::move(clip));
  }
}

std::vector<Clip> RecordedClipSource::MakeScene(int64_t scene) const {
  Random random =
      Random(static_cast<uint64_t>(options_.seed)).Split("recorded").Split(static_cast<uint64_t>(scene));
  const Clip& whole = recordings_[static_cast<size_t>(scene) % recordings_.size()];
  const auto last = static_cast<int64_t>(whole.frames.size()) - 1;
  Clip clip{StrCat(whole.name, ".", scene), whole.camera, whole.mask, {}, {}};
  for (int p = 0; p < options_.places; ++p) {
    const int64_t place = random.UniformInt(0, last);
    for (int v = 0; v < options_.views; ++v) {
      const int64_t shift = v == 0 ? 0 : random.UniformInt(-options_.reach, options_.reach);
      clip.frames.push_back(whole.frames[static_cast<size_t>(std::clamp<int64_t>(place + shift, 0, last))]);
    }
  }
  FillOverlaps(clip);
  return {std::move(clip)};
}

}  // namespace lumen
