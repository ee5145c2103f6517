#include "lumen/apps/run_sequence.h"

#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "lumen/apps/run_recorder.h"
#include "lumen/apps/run_summary.h"
#include "lumen/apps/run_uncertainty.h"
#include "lumen/base/error.h"
#include "lumen/base/first_failure.h"
#include "lumen/base/log.h"
#include "lumen/base/progress.h"
#include "lumen/base/ticker.h"

namespace lumen {

namespace {

std::string Note(const FrameResult& result, const RunCounts& counts, double seconds) {
  const double fps = static_cast<double>(counts.frames) / std::max(1e-3, seconds);
  char text[64];
  std::snprintf(text, sizeof(text), "%5.1f fps  %s", fps, ToString(result.track.status).c_str());
  return text;
}

// When the pictures that are on their way were there, in the order in which they come out again.
class Arrivals {
 public:
  void Add(int64_t frame) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(frame, clock_.ElapsedMs());
  }
  // Whether one of them is late already.
  bool Late() {
    constexpr double kLateMs = 250;
    const std::lock_guard lock(mutex_);
    return !waiting_.empty() && clock_.ElapsedMs() - waiting_.front().second > kLateMs;
  }
  void Drop(int64_t frame) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [frame](const auto& waiting) { return waiting.first == frame; });
  }
  // How long ago this frame was there; -1 if it was never told. Frames before it were dropped.
  double TakeDelayMs(int64_t frame) {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty() && waiting_.front().first < frame) waiting_.pop_front();
    if (waiting_.empty() || waiting_.front().first != frame) return -1;
    const double arrived = waiting_.front().second;
    waiting_.pop_front();
    return clock_.ElapsedMs() - arrived;
  }

 private:
  const Stopwatch clock_{};
  std::mutex mutex_;
  std::deque<std::pair<int64_t, double>> waiting_;
};

// Hands the input to SLAM until one of them ends. As if live, each frame waits until it is due, and one that
// SLAM has no time for is counted in `dropped`.
void Feed(RunSetup& setup, RunObserver& observer, bool live, Arrivals& arrivals,
          const std::atomic<bool>& stop, int64_t& dropped) {
  SlamPipeline& slam = *setup.slam;
  const auto ended = [&] { return stop || slam.Failed(); };
  // A camera may show nothing for seconds: who ends the run does not wait for it.
  const Ticker watcher(std::chrono::milliseconds(100), [&] {
    if (ended()) setup.stream->Stop();
  });
  const Stopwatch watch;
  std::optional<double> first_time;
  while (!ended()) {
    std::optional<InputFrame> frame = setup.stream->Next();
    if (!frame) return;
    observer.OnPicture(*frame);
    if (!live) {
      slam.Submit(std::move(*frame));
      continue;
    }
    if (!first_time) first_time = frame->time;
    while (!ended() && watch.ElapsedMs() < 1000 * (frame->time - *first_time))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Rather few frames in time than all of them late.
    const int64_t index = frame->index;
    if (arrivals.Late()) {
      ++dropped;
      continue;
    }
    arrivals.Add(index);
    if (slam.TrySubmit(std::move(*frame)) || slam.Failed()) continue;
    arrivals.Drop(index);
    ++dropped;
  }
}

}  // namespace

RunOutcome RunSequence(const RunOptions& options, const std::atomic<bool>& stop) {
  return RunSequence(options, PrepareRun(options), stop);
}

RunOutcome RunSequence(const RunOptions& options, RunSetup setup, const std::atomic<bool>& stop) {
  RunObserver nobody;
  RunObserver& observer = options.observer != nullptr ? *options.observer : nobody;
  // Before anything is written: a view whose address cannot be had leaves no folder behind.
  observer.OnStart(setup.view, setup.stream->Info().truth.value_or(Trajectory()));
  RunWriter writer(options.output, FormatConfig(options.config), setup.summary);
  RunRecorder recorder(writer, setup.view);
  ProgressBar progress("run", setup.stream->Info().frame_count);
  SlamPipeline& slam = *setup.slam;
  Arrivals arrivals;
  const Stopwatch watch;
  slam.Listen({.on_frame =
                   [&](const FrameResult& placed_result, const PlacedFrame& placed) {
                     FrameResult result = placed_result;
                     result.delay_ms = arrivals.TakeDelayMs(result.index);
                     std::vector<LoopEvent> loops = slam.TakeLoopEvents();
                     const auto map = slam.Snapshot();  // after the loops, so that it knows their keyframes
                     observer.OnFrame(result, placed, map);
                     recorder.Record(result, placed, map, std::move(loops), observer.TakeEvents());
                     progress.Update(recorder.Counts().frames,
                                     Note(result, recorder.Counts(), watch.ElapsedMs() / 1000));
                   },
               .on_mapped = [&](int64_t frame, double ms) { recorder.RecordMapped(frame, ms); }});

  RunTotals totals;
  FirstFailure failure;
  failure.Try([&] {
    Feed(setup, observer, options.realtime && !options.deterministic, arrivals, stop, totals.dropped);
  });
  failure.Try([&] { slam.Finish(); });
  observer.OnEnd();
  totals.seconds = watch.ElapsedMs() / 1000;
  bool torn = slam.Failed();  // the map's estimate, broken off in the middle of a step
  if (options.refine && !stop && !failure) {
    failure.Try([&] {
      observer.OnPhase("refining the map");
      torn = true;
      slam.Refine();
      torn = false;
    });
  }

  // Whatever has failed, what there is goes to disk.
  const std::vector<LoopEvent> loops = slam.TakeLoopEvents();
  const auto map = slam.Snapshot();
  failure.Try([&] { recorder.Finish(*map, loops, observer.TakeEvents()); });
  failure.Try([&] {
    if (!map->keyframes.empty())
      SaveMap(options.output / run_file::kMap, {*map, slam.Words(), setup.model.hash});
  });
  failure.Try([&] {
    if (!map->keyframes.empty() && !torn) totals.uncertainty = SaveUncertainty(options.output, slam, *map);
  });
  totals.unreadable = setup.stream->Unreadable();
  totals.interrupted = stop;
  totals.trouble = slam.Trouble();
  if (totals.trouble.dropped + totals.trouble.singular > 0)
    LogWarning("mapping dropped ", totals.trouble.dropped,
               " steps that would have made the map worse, and held ", totals.trouble.singular,
               " parts of it still that too little is known of");
  totals.failed = failure.Reason();
  const RunCounts& counts = recorder.Counts();
  failure.Try([&] {
    Json summary = Summarise(setup.summary, counts, totals, *map, slam.Times());
    observer.AddToSummary(summary);
    writer.WriteSummary(summary);
  });
  failure.Rethrow();
  progress.Finish();
  if (counts.placed == 0 && !stop)
    throw InputError(options.input,
                     StrCat("no usable frame among ", counts.frames, ": nothing could be placed"));
  return {counts.frames, counts.placed, static_cast<int64_t>(map->keyframes.size()), stop, map};
}

}  // namespace lumen
