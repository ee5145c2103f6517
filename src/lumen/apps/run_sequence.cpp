#include "lumen/apps/run_sequence.h"

#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "lumen/apps/model_path.h"
#include "lumen/apps/run_recorder.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/progress.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/map_file.h"
#include "lumen/network/torch_backend.h"
#include "lumen/slam/async_slam.h"

namespace lumen {

namespace {

// All that a run is made of, ready to start.
struct Setup {
  Model model;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<InputStream> stream;
  std::shared_ptr<const View> view;
  std::optional<StoredMap> earlier;
  Json summary = Json::MakeObject();
};

// An earlier map fits only a video of the same camera, seen by the same networks.
StoredMap LoadEarlierMap(const std::filesystem::path& given, const Setup& setup) {
  const std::filesystem::path path = std::filesystem::is_directory(given) ? given / run_file::kMap : given;
  StoredMap stored = LoadMap(path);
  if (stored.model_hash != setup.model.hash) throw InputError(path, "made with another model");
  const View& view = *stored.map.keyframes.begin()->second.keyframe->frame->view;
  if (!SameSize(view.mask, setup.view->mask)) throw InputError(path, "made with maps of another size");
  return stored;
}

Setup Prepare(const RunOptions& options) {
  Setup setup;
  const auto model_path = FindModel(options.model.empty() ? options.config.model : options.model);
  if (!model_path) throw InputError("no model found: give --model FILE");
  setup.model = LoadModel(*model_path);
  const auto vocabulary_path = options.vocabulary.empty()
                                   ? FindVocabulary(*model_path)
                                   : std::optional<std::filesystem::path>(options.vocabulary);
  if (vocabulary_path) {
    auto vocabulary = std::make_shared<Vocabulary>(Vocabulary::Load(*vocabulary_path));
    if (vocabulary->Channels() != setup.model.feature.OutputChannels(1))
      throw InputError(*vocabulary_path, "made for another model: its descriptors have another size");
    setup.vocabulary = std::move(vocabulary);
  } else {
    LogWarning("no vocabulary beside ", model_path->string(),
               ": no global loops, and only the last place is searched when lost");
  }
  RectifierOptions view = options.config.view;
  view.width = setup.model.depth.input_width;
  view.height = setup.model.depth.input_height;
  setup.stream =
      std::make_unique<InputStream>(OpenInput(options.input, options.selection), options.input, view);
  setup.view = MakeView(setup.stream->GetCamera(), setup.stream->GetMask());
  if (!options.map.empty()) setup.earlier = LoadEarlierMap(options.map, setup);
  Json& summary = setup.summary;
  summary[run_key::kVersion] = Version();
  summary[run_key::kCommit] = Commit();
  summary[run_key::kInput] = options.input.string();
  summary[run_key::kInputOptions] = InputOptionsToJson(options.selection);
  summary["model"] = model_path->filename().string();
  summary["model_hash"] = setup.model.hash;
  summary["vocabulary"] = vocabulary_path ? vocabulary_path->filename().string() : "";
  summary["deterministic"] = options.deterministic;
  summary[run_key::kDepthScale] = kRunDepthScale;
  summary[run_key::kCamera] =
      CameraToJson(Camera(setup.view->camera, setup.view->mask.Width(), setup.view->mask.Height()));
  summary[run_key::kFinished] = false;
  return setup;
}

double PeakMemoryMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Totals {
  int64_t dropped = 0;
  double seconds = 0;
};

void AddTotals(Json& summary, const RunRecorder& recorder, const MapSnapshot& map, const StageTimes& times,
               const Totals& totals) {
  const RunRecorder::Counts& counts = recorder.GetCounts();
  summary["frames"] = counts.frames;
  summary["placed"] = counts.placed;
  summary["weak"] = counts.weak;
  summary["dropped"] = totals.dropped;
  summary["keyframes"] = static_cast<int64_t>(map.keyframes.size());
  summary["submaps"] = static_cast<int64_t>(SubmapsOf(map).size());
  summary["lost_events"] = counts.lost_events;
  summary["relocalised"] = counts.relocalised;
  summary["local_loops"] = counts.local_loops;
  summary["global_loops"] = counts.global_loops;
  summary["rejected_loops"] = counts.rejected_loops;
  summary["removed_loops"] = counts.removed_loops;
  summary["joined_submaps"] = counts.joined;
  summary["seconds"] = totals.seconds;
  summary["fps"] = totals.seconds > 0 ? static_cast<double>(counts.frames) / totals.seconds : 0.0;
  summary["peak_memory_mb"] = PeakMemoryMb();
  Json stages = Json::MakeObject();
  for (const auto& [stage, time] : times.Get()) {
    Json entry = Json::MakeObject();
    entry["count"] = time.count;
    entry["mean_ms"] = time.MeanMs();
    entry["max_ms"] = time.max_ms;
    stages[stage] = entry;
  }
  summary["stages"] = stages;
}

std::string Note(const FrameResult& result, const RunRecorder& recorder, double seconds) {
  const double fps = static_cast<double>(recorder.GetCounts().frames) / std::max(1e-3, seconds);
  char text[64];
  std::snprintf(text, sizeof(text), "%5.1f fps  %s", fps, ToString(result.track.status).c_str());
  return text;
}

// Waits until a frame is due, as if the recording were live.
void Pace(double due_seconds, const Stopwatch& watch, const std::atomic<bool>& stop) {
  while (!stop && watch.ElapsedMs() < 1000 * due_seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The fastest kernels of a GPU add in any order: what promises the same bytes every time runs on the CPU.
std::string ChooseDevice(const RunOptions& options) {
  if (!options.deterministic || options.device == "cpu") return options.device;
  if (options.device == "cuda" || MayHaveGpu())
    LogWarning(
        "--deterministic: the networks run on the CPU, since a GPU's results do not repeat bit for bit");
  return "cpu";
}

}  // namespace

RunOutcome RunSequence(const RunOptions& options, const std::atomic<bool>& stop) {
  Setup setup = Prepare(options);
  RunWriter writer(options.output, FormatConfig(options.config), setup.summary);
  RunRecorder recorder(writer, setup.view);
  InputStream& stream = *setup.stream;
  ProgressBar progress("run", stream.Info().frame_count);
  const SlamOptions& slam_options = options.config.slam;
  const std::string device = ChooseDevice(options);
  const auto make_priors = [&] {
    return std::shared_ptr<Priors>(MakePriors(setup.model, stream.GetMask(), {}, device));
  };
  RunObserver* const observer = options.observer;
  if (observer != nullptr) observer->OnStart(setup.view, stream.Info().truth.value_or(Trajectory()));
  Totals totals;
  Stopwatch watch;
  RunOutcome outcome;
  const auto refine = [&](auto& slam) {
    if (!options.refine || stop) return;
    if (observer != nullptr) observer->OnPhase("refining the map");
    slam.Refine();
  };
  const auto conclude = [&](const std::shared_ptr<const MapSnapshot>& map,
                            const std::vector<LoopEvent>& loops,
                            const std::map<KeyframeId, BagOfWords>& words, const StageTimes& times) {
    recorder.RecordLoops(*map, loops);
    recorder.Finish(*map);
    setup.summary["unreadable"] = stream.Unreadable();
    if (!map->keyframes.empty()) SaveMap(options.output / run_file::kMap, {*map, words, setup.model.hash});
    AddTotals(setup.summary, recorder, *map, times, totals);
    setup.summary["interrupted"] = stop.load();
    setup.summary[run_key::kFinished] = true;
    writer.WriteSummary(setup.summary);
    outcome.map = map;
  };

  if (options.deterministic) {
    Slam slam(make_priors(), setup.view, setup.vocabulary, slam_options);
    if (setup.earlier) slam.Restore(setup.earlier->map, setup.earlier->words);
    while (auto frame = stop ? std::nullopt : stream.Next()) {
      if (observer != nullptr) observer->OnPicture(*frame);
      const FrameResult result = slam.Process(*frame);
      recorder.Record(result, slam.Frames().back(), *slam.Snapshot(), slam.TakeLoopEvents());
      if (observer != nullptr) observer->OnFrame(result, slam.Frames().back(), slam.Snapshot());
      progress.Update(recorder.GetCounts().frames, Note(result, recorder, watch.ElapsedMs() / 1000));
    }
    totals.seconds = watch.ElapsedMs() / 1000;
    refine(slam);
    conclude(slam.Snapshot(), slam.TakeLoopEvents(), slam.Words(), slam.Times());
  } else {
    AsyncSlam* running = nullptr;
    AsyncSlam slam(make_priors(), make_priors(), setup.view, setup.vocabulary, slam_options,
                   [&](const FrameResult& result, const PlacedFrame& placed) {
                     recorder.Record(result, placed, *running->Snapshot(), running->TakeLoopEvents());
                     if (observer != nullptr) observer->OnFrame(result, placed, running->Snapshot());
                     progress.Update(recorder.GetCounts().frames,
                                     Note(result, recorder, watch.ElapsedMs() / 1000));
                   });
    running = &slam;
    if (setup.earlier) slam.Restore(setup.earlier->map, setup.earlier->words);
    std::optional<double> first_time;
    while (auto frame = stop ? std::nullopt : stream.Next()) {
      if (observer != nullptr) observer->OnPicture(*frame);
      if (!options.realtime) {
        if (!slam.Submit(std::move(*frame))) break;  // Finish says why
        continue;
      }
      if (!first_time) first_time = frame->time;
      Pace(frame->time - *first_time, watch, stop);
      if (!slam.TrySubmit(std::move(*frame))) ++totals.dropped;
    }
    slam.Finish();
    totals.seconds = watch.ElapsedMs() / 1000;
    refine(slam);
    conclude(slam.Snapshot(), slam.TakeLoopEvents(), slam.Words(), slam.Times());
  }
  progress.Finish();
  outcome.frames = recorder.GetCounts().frames;
  outcome.placed = recorder.GetCounts().placed;
  outcome.keyframes = static_cast<int64_t>(outcome.map->keyframes.size());
  outcome.interrupted = stop;
  if (outcome.placed == 0 && !stop)
    throw InputError(options.input,
                     StrCat("no usable frame among ", outcome.frames, ": nothing could be placed"));
  return outcome;
}

}  // namespace lumen
