#include "lumen/train/recorded_clips.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "lumen/base/log.h"
#include "lumen/base/random.h"
#include "lumen/eval/association.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/rectifier.h"
#include "lumen/scene/frame.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kLeastFrames = 12;
constexpr int kLeastPoints = 20;      // of a frame without dense depth
constexpr double kLeastDense = 0.05;  // of the picture: less is no dense depth

// How much a point is worth: one seen often, and where it was seen, weighs more.
double Quality(const SparsePoint& point) {
  constexpr double kLongTrack = 6;
  constexpr double kLargeError = 1.5;  // px
  const double track = point.track_length > 0 ? std::clamp(point.track_length / kLongTrack, 0.3, 1.0) : 1.0;
  const double error = point.error / kLargeError;
  return track / (1 + error * error);
}

// What a frame's points say on the grid of its depth map; of several in one pixel the best.
struct PointMap {
  DepthImage depth;
  Image<float> quality;
  int count = 0;
};
PointMap SpreadPoints(const std::vector<SparsePoint>& points, const Camera& camera, const Clip& clip) {
  PointMap map;
  map.depth = DepthImage(clip.mask.Width() / 2, clip.mask.Height() / 2);
  map.quality = Image<float>(map.depth.Width(), map.depth.Height());
  for (const SparsePoint& point : points) {
    const auto ray = camera.Unproject(point.uv);
    if (!ray || !(ray->z() > 1e-3)) continue;
    const Eigen::Vector3d place = *ray * (point.depth / ray->z());
    const auto uv = clip.camera.Project(place);
    if (!uv) continue;
    const auto x = static_cast<int>(std::lround(uv->x()));
    const auto y = static_cast<int>(std::lround(uv->y()));
    if (!map.depth.Contains(x, y) || clip.mask(2 * x, 2 * y) == 0) continue;
    const auto quality = static_cast<float>(Quality(point));
    if (quality <= map.quality(x, y)) continue;
    map.count += map.quality(x, y) > 0 ? 0 : 1;
    map.quality(x, y) = quality;
    map.depth(x, y) = static_cast<float>(clip.camera.Depth(place));
  }
  return map;
}

// A frame's depth from what is known of it; false where that is too little to learn from.
bool SetDepth(std::optional<DepthImage> dense, const PointMap& points, double point_share, ClipFrame& frame) {
  const auto size = static_cast<double>(points.depth.Size());
  const auto known =
      dense ? std::count_if(dense->Data(), dense->Data() + dense->Size(), [](float d) { return d > 0; }) : 0;
  if (static_cast<double>(known) < kLeastDense * size) dense.reset();
  const bool pointed = points.count >= kLeastPoints;
  if (!dense && !pointed) return false;
  frame.depth = dense ? std::move(*dense) : DepthImage(points.depth.Width(), points.depth.Height());
  frame.sparse = !dense;
  if (!pointed) return true;
  // Points replace the dense depth where they are, and together weigh what their share says.
  double quality = 0;
  for (size_t i = 0; i < points.quality.Size(); ++i) quality += static_cast<double>(points.quality.Data()[i]);
  const double all = dense ? static_cast<double>(known) : quality;
  const double each_point = dense ? point_share * all / quality : 1;
  const double each_pixel = dense ? 1 - point_share : 0;
  frame.weight = Image<float>(points.depth.Width(), points.depth.Height());
  frame.exact = Mask(points.depth.Width(), points.depth.Height());
  for (size_t i = 0; i < points.depth.Size(); ++i) {
    const float q = points.quality.Data()[i];
    if (q > 0) {
      frame.depth.Data()[i] = points.depth.Data()[i];
      frame.weight.Data()[i] = static_cast<float>(each_point) * q;
      frame.exact.Data()[i] = 255;
    } else if (frame.depth.Data()[i] > 0) {
      frame.weight.Data()[i] = static_cast<float>(each_pixel);
    }
  }
  return true;
}

// Hands frames out again that were looked at for the mask.
class PeekedFrames {
 public:
  explicit PeekedFrames(FrameSource& source) : source_(source), mask_(FindMask(source, peeked_)) {
    std::reverse(peeked_.begin(), peeked_.end());
  }
  const Mask& GetMask() const { return mask_; }
  std::optional<RawFrame> Next() {
    if (peeked_.empty()) return source_.Next();
    std::optional<RawFrame> frame = std::move(peeked_.back());
    peeked_.pop_back();
    return frame;
  }

 private:
  FrameSource& source_;
  std::vector<RawFrame> peeked_;
  Mask mask_;
};

// The part of a recording that is asked for.
void KeepPart(RecordedClipOptions::Part part, Clip& clip) {
  using Part = RecordedClipOptions::Part;
  if (part == Part::kWhole) return;
  const auto cut =
      static_cast<std::ptrdiff_t>(clip.frames.size() - std::max<size_t>(2, clip.frames.size() / 10));
  if (part == Part::kHeldOut)
    clip.frames.erase(clip.frames.begin(), clip.frames.begin() + cut);
  else
    clip.frames.erase(clip.frames.begin() + cut, clip.frames.end());
}

}  // namespace

Clip LoadRecording(const fs::path& path, const RecordedClipOptions& options) {
  const std::unique_ptr<FrameSource> source = OpenInput(path, {});
  const SourceInfo& info = source->Info();
  if (!info.truth) throw InputError(path, "no true poses: training needs poses and depth");
  const Camera camera = RequireCamera(*source, path);
  PeekedFrames frames(*source);
  const Rectifier rectifier(camera, frames.GetMask(), {options.width, options.height});
  const Camera half = rectifier.TargetCamera().Resized(options.width / 2, options.height / 2);
  Clip clip;
  clip.name = clip.subject = info.name;
  clip.camera = *half.AsUnified();
  clip.mask = rectifier.TargetMask();
  const double max_gap = std::min(kMaxTimeGap, 0.4 / info.fps);
  int64_t unplaced = 0, without_depth = 0;
  while (auto raw = frames.Next()) {
    const TimedPose* pose = FindPose(*info.truth, raw->time, max_gap);
    if (pose == nullptr) {
      ++unplaced;
      continue;
    }
    std::optional<DepthImage> dense = source->LoadDepth(raw->index);
    if (dense)
      dense = ViewDepthOfZ(ResampleDepth(*dense, camera.Resized(dense->Width(), dense->Height()), half),
                           clip.camera);
    ClipFrame frame;
    const PointMap points = SpreadPoints(source->LoadPoints(raw->index), camera, clip);
    if (!SetDepth(std::move(dense), points, options.point_share, frame)) {
      ++without_depth;
      continue;
    }
    frame.image = rectifier.Apply(raw->image);
    frame.world_from_camera = pose->world_from_camera;
    frame.number = raw->index;
    clip.frames.push_back(std::move(frame));
  }
  if (static_cast<int>(clip.frames.size()) < kLeastFrames)
    throw InputError(
        path, StrCat("only ", clip.frames.size(), " frames with pose and depth (", unplaced,
                     " have no pose, ", without_depth, " no depth): training needs at least ", kLeastFrames));
  if (unplaced + without_depth > 0)
    LogInfo(info.name, ": ", clip.frames.size(), " frames to learn from, ", unplaced, " without a pose, ",
            without_depth, " without depth");
  return clip;
}

RecordedClipSource::RecordedClipSource(const std::vector<fs::path>& recordings,
                                       const RecordedClipOptions& options)
    : options_(options) {
  if (recordings.empty()) throw InputError("no data to train on");
  for (const fs::path& path : recordings) {
    Clip clip = LoadRecording(path, options);
    KeepPart(options.part, clip);
    // Two recordings may be called alike; what they show is not the same for that.
    clip.subject = StrCat(clip.subject, "#", recordings_.size());
    recordings_.push_back(std::move(clip));
  }
  // In a round every frame is a place once.
  for (size_t r = 0; r < recordings_.size(); ++r) {
    const auto frames = static_cast<int64_t>(recordings_[r].frames.size());
    for (int64_t i = 0; i * options.places < frames; ++i) round_.push_back({r, i});
  }
  Random random = Random(static_cast<uint64_t>(options.seed)).Split("round");
  random.Shuffle(round_);
}

int64_t RecordedClipSource::ScenesToSeeAll() const {
  return (static_cast<int64_t>(round_.size()) + options_.clips - 1) / options_.clips;
}

std::vector<Clip> RecordedClipSource::MakeScene(int64_t scene) const {
  std::vector<Clip> clips;
  for (int64_t c = 0; c < options_.clips; ++c) clips.push_back(MakeClip(scene * options_.clips + c));
  return clips;
}

Clip RecordedClipSource::MakeClip(int64_t number) const {
  const auto in_round = static_cast<size_t>(number % static_cast<int64_t>(round_.size()));
  const auto round = static_cast<uint64_t>(number / static_cast<int64_t>(round_.size()));
  const Turn turn = round_[in_round];
  const Clip& whole = recordings_[turn.recording];
  const auto count = static_cast<int64_t>(whole.frames.size());
  const Random random = Random(static_cast<uint64_t>(options_.seed)).Split("recorded");
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  random.Split("order").Split(round).Split(static_cast<uint64_t>(turn.recording)).Shuffle(order);
  Clip clip{StrCat(whole.name, ".", number), whole.subject, whole.camera, whole.mask, {}, {}};
  for (int p = 0; p < options_.places; ++p) {
    const int64_t place = order[static_cast<size_t>((turn.ordinal * options_.places + p) % count)];
    AddPlace(whole, place, random.Split(static_cast<uint64_t>(number)).Split(static_cast<uint64_t>(p)), clip);
  }
  FillOverlaps(clip);
  return clip;
}

// The place's frame and others near it that see the same, each another frame as long as there are enough.
void RecordedClipSource::AddPlace(const Clip& whole, int64_t place, Random random, Clip& clip) const {
  constexpr int kTries = 10;
  constexpr double kSeesTheSame = 0.6;
  const auto last = static_cast<int64_t>(whole.frames.size()) - 1;
  std::set<int64_t> taken = {place};
  clip.frames.push_back(whole.frames[static_cast<size_t>(place)]);
  for (int v = 1; v < options_.views; ++v) {
    int64_t chosen = place;
    for (int i = 0; i < kTries; ++i) {
      const int reach = random.Chance(0.5) ? options_.reach : std::max(2, options_.reach / 4);
      const int64_t at = std::clamp<int64_t>(place + random.UniformInt(-reach, reach), 0, last);
      if (taken.contains(at)) continue;
      chosen = at;
      if (std::min(ComputeOverlap(whole, static_cast<int>(place), static_cast<int>(at)),
                   ComputeOverlap(whole, static_cast<int>(at), static_cast<int>(place))) >= kSeesTheSame)
        break;
    }
    taken.insert(chosen);
    clip.frames.push_back(whole.frames[static_cast<size_t>(chosen)]);
  }
}

}  // namespace lumen
