#include "lumen/apps/run_recorder.h"

#include <limits>

#include "lumen/base/first_failure.h"

namespace lumen {

namespace {
// A keyframe's line may have to wait for the time after next: that must still be within a second.
constexpr std::chrono::milliseconds kPace(350);

DepthImage Within(const Mask& mask, DepthImage depth) {
  for (size_t i = 0; i < depth.Size(); ++i) {
    if (mask.Data()[i] == 0) depth.Data()[i] = 0;
  }
  return depth;
}
}  // namespace

RunRecorder::RunRecorder(RunWriter& writer, std::shared_ptr<const View> view)
    : writer_(writer),
      view_(std::move(view)),
      map_(std::make_shared<MapSnapshot>()),
      paths_(writer, 0),
      ticker_(kPace, [this] { WriteNew(); }) {}

void RunRecorder::Record(const FrameResult& result, const PlacedFrame& placed,
                         std::shared_ptr<const MapSnapshot> map, std::vector<LoopEvent> loops,
                         std::vector<Json> others) {
  ticker_.Check();
  counts_.Add(result);
  for (const LoopEvent& loop : loops) counts_.Add(loop);
  Recorded recorded{result, placed, std::move(map), std::move(loops), std::move(others), Now()};
  const std::lock_guard lock(mutex_);
  news_.frames.push_back(std::move(recorded));
}

void RunRecorder::RecordMapped(int64_t frame, double ms) {
  const std::lock_guard lock(mutex_);
  news_.mapped.emplace_back(frame, ms);
}

void RunRecorder::WriteNew() {
  News news;
  {
    const std::lock_guard lock(mutex_);
    std::swap(news, news_);
  }
  Sort(news);
  // The path before the pictures: it is what a killed run is graded by.
  WriteEvents(Now());
  paths_.Update(*map_, Now());
  WriteKeyframes(*map_);
}

void RunRecorder::Sort(const News& news) {
  for (const Recorded& frame : news.frames) {
    events_.AddFrame(frame.result, frame.at);
    for (const LoopEvent& loop : frame.loops) events_.AddLoop(loop, *frame.map);
    for (const Json& line : frame.others) events_.AddLine(line);
    paths_.Add(frame.result, frame.placed);
    map_ = frame.map;
  }
  for (const auto& [frame, ms] : news.mapped) events_.AddMapped(frame, ms);
}

void RunRecorder::WriteEvents(double now) {
  unwritten_events_ += events_.Take(now);
  writer_.AppendEvents(unwritten_events_);
  unwritten_events_.clear();
}

void RunRecorder::WriteKeyframes(const MapSnapshot& map) {
  for (const auto& [id, keyframe] : map.keyframes) {
    if (written_.contains(id)) continue;
    const Frame& frame = *keyframe.keyframe->frame;
    const KeyframeState& state = keyframe.state;
    const DepthImage depth = ComputeDepth(keyframe.keyframe->depth, state.log_scale, state.code);
    writer_.WriteDepth(frame.index, ZOfViewDepth(Within(view_->mask, depth), view_->camera));
    written_.insert(id);
    const RgbImage& fine = keyframe.keyframe->fine;
    if (pictured_.insert(id).second) writer_.WriteImage(frame.index, fine.Empty() ? frame.image : fine);
  }
}

void RunRecorder::Finish(const MapSnapshot& map, const std::vector<LoopEvent>& loops,
                         const std::vector<Json>& others) {
  ticker_.Stop();
  FirstFailure failure;
  failure.Try([&] { ticker_.Check(); });
  Sort(news_);
  for (const LoopEvent& loop : loops) {
    counts_.Add(loop);
    events_.AddLoop(loop, map);
  }
  for (const Json& line : others) events_.AddLine(line);
  failure.Try([&] { WriteEvents(std::numeric_limits<double>::infinity()); });
  failure.Try([&] { paths_.Finish(map); });
  written_.clear();
  failure.Try([&] { WriteKeyframes(map); });
  failure.Rethrow();
}

}  // namespace lumen
