#include "lumen/apps/archive_video.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "lumen/apps/archive_index.h"
#include "lumen/apps/coverage_words.h"
#include "lumen/apps/final_registration.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/report.h"
#include "lumen/apps/run_coverage.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/apps/run_trust.h"
#include "lumen/base/core_share.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/timer.h"
#include "lumen/image/resize.h"
#include "lumen/io/image_file.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/png.h"
#include "lumen/io/run_keyframes.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAttempt = "attempt-";
constexpr int kThumbnailWidth = 128;
constexpr int kThumbnailQuality = 80;

// A folder that nobody else has. What is made there comes to its place in one step; what is not finished
// goes with us.
class Attempt {
 public:
  explicit Attempt(const fs::path& work)
      : folder_(work / StrCat(kAttempt, ::getpid(), "-", std::random_device()())) {
    MakeDirectories(folder_);
  }
  ~Attempt() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  const fs::path& Folder() const { return folder_; }

  void MoveTo(const fs::path& place) const {
    FlushFolder(folder_);
    MakeDirectories(place.parent_path());
    std::error_code error;
    fs::rename(folder_, place, error);
    if (!error) return;
    if (!fs::exists(place / video_file::kRecord)) throw OutputError(place, error.message());
    LogInfo("another process has finished this video: ", place.string());
  }

 private:
  fs::path folder_;
};

// What is meant for inputs without a lens, or a mask, of their own is forgotten for one that has it.
void KeepWhatIsItsOwn(const VideoTask& task, RunOptions& run) {
  if (task.if_none.empty()) return;
  InputOptions bare = run.selection;
  const auto meant = [&](const char* name) {
    return std::find(task.if_none.begin(), task.if_none.end(), name) != task.if_none.end();
  };
  const bool lens = meant("calibration") || meant("fov");
  if (lens) {
    bare.calibration.clear();
    bare.fov_degrees = 0;
  }
  if (meant("mask")) bare.mask.clear();
  bare.mask_text = false;  // which would read the whole video
  const SourceInfo info = OpenInput(run.input, bare)->Info();
  if (lens && info.camera) {
    run.selection.calibration.clear();
    run.selection.fov_degrees = 0;
  }
  if (meant("mask") && info.mask) run.selection.mask.clear();
}

// The CT is read first: where that fails, no hour of SLAM was in vain.
std::unique_ptr<NavigationCt> ReadCt(const VideoOptions& options) {
  if (options.ct.path.empty()) return nullptr;
  if (!fs::exists(options.ct.path)) throw InputError(options.ct.path, "does not exist");
  auto ct = std::make_unique<NavigationCt>(ReadNavigationCt(options.ct));
  ct->volume.reset();  // hundreds of megabytes, which a registration does not need
  return ct;
}

// Millimetres to the map's unit, where a registration that is to be believed tells them; 0: it does not.
double RegisterTo(const NavigationCt& ct, const VideoOptions& options, VideoEntry& entry) {
  const RunOptions& run = options.run;
  LiveRegistrationOptions asked;
  asked.ct = options.ct;
  if (!options.ct_start.empty()) asked.start = ParseStartRegion(options.ct_start);
  asked.registration = run.config.registration;
  asked.fusion = run.config.fusion;
  asked.depth = run.config.depth;
  std::shared_ptr<const CtRegistration> answer;
  entry.ct = CtVerdict::kNotFound;
  try {
    answer = RegisterFinished(run.output, ct, asked, std::nullopt, false);
  } catch (const InputError& error) {
    entry.ct_words = error.what();  // no surface
    return 0;
  }
  const fs::path file = run.output / run_file::kRegistration / "registration.json";
  const Json told = Json::Load(file);
  if (answer == nullptr) {
    for (const Json& doubt : told.At("doubts").AsArray())
      entry.ct_words += (entry.ct_words.empty() ? "" : "; ") + doubt.AsString();
    return 0;
  }
  entry.ct = answer->confident ? CtVerdict::kRegistered : CtVerdict::kDoubtful;
  entry.ct_words = told.At("words").AsString();
  return answer->confident ? answer->result.model_from_surface.Scale() : 0;
}

WallCoverage MeasureCoverageOfRun(const RunFolder& run, CoverageOptions options, double mm_per_unit) {
  if (options.mm_per_unit <= 0) options.mm_per_unit = mm_per_unit;
  if (!fs::is_regular_file(run.path / run_file::kSurface) || !run.depth_camera) return {};
  try {
    WallCoverage coverage = MeasureRunCoverage(run, options, AvailableCores());
    if (!coverage.ways.empty()) SaveCoverage(run.path, coverage);
    return coverage;
  } catch (const InputError& error) {
    LogWarning("coverage cannot be told: ", error.what());
    return {};
  }
}

// The keyframe in the middle of the run, small.
std::string SaveThumbnail(const RunFolder& run, const fs::path& folder) {
  std::vector<fs::path> pictures;
  for (const RunKeyframe& keyframe : ListRunKeyframes(run))
    if (!keyframe.image.empty()) pictures.push_back(keyframe.image);
  if (pictures.empty()) return "";
  const RgbImage picture = LoadRgb(pictures[pictures.size() / 2]);
  const int height = std::max(1, picture.Height() * kThumbnailWidth / std::max(1, picture.Width()));
  const RgbImage small = ResizeArea(picture.View(), kThumbnailWidth, height);
  const std::string name = HaveOpenCv() ? "thumbnail.jpg" : "thumbnail.png";
  WriteFileAtomically(folder / name,
                      HaveOpenCv() ? EncodeJpeg(small.View(), kThumbnailQuality) : EncodePng(small.View()),
                      Flush::kLater);
  return name;
}

std::string NodeName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int64_t SummaryCount(const Json& summary, const char* key) {
  const Json* count = summary.Find(key);
  return count != nullptr && count->IsInteger() ? count->AsInteger() : 0;
}

void AddRunTo(VideoEntry& entry, const RunFolder& run, const WallCoverage& coverage) {
  entry.frames = SummaryCount(run.summary, "frames");
  entry.placed = SummaryCount(run.summary, "placed");
  entry.lost_spans = SummaryCount(run.summary, "lost_events");
  entry.keyframes = SummaryCount(run.summary, "keyframes");
  const auto frames = static_cast<double>(run.events.size());
  if (frames > 1)  // the last frame lasts as long as the others do
    entry.length = (run.events.back().time - run.events.front().time) * frames / (frames - 1);
  entry.reliable = MeasureTrust(run).IsGood();
  for (const std::string& sentence : DescribeTrust(run))
    entry.words += (entry.words.empty() ? "" : " ") + sentence;
  if (coverage.ways.empty()) return;
  entry.coverage = coverage.seen;
  entry.coverage_sigma = coverage.sigma;
}

void WriteReport(const VideoTask& task, const fs::path& folder, const WallCoverage& coverage) {
  ReportOptions report;
  report.name = task.name;
  report.coverage = &coverage;
  WriteFileAtomically(folder / video_file::kReport, FormatReport(folder / video_file::kRun, report),
                      Flush::kLater);
}

}  // namespace

void AddVideoOptions(Command& command, VideoOptions& options) {
  command.Add("--model", options.model, "weights");
  command.Add("--vocabulary", options.vocabulary, "words for place recognition");
  command.Add("--ct", options.ct.path, "the patient's CT, a volume or a surface, to register to");
  command.Add("--ct-start", options.ct_start,
              "where in the CT the video begins, in mm, LPS: L,P,S or L,P,S,RADIUS or L0,L1,P0,P1,S0,S1");
  AddModelChoice(command, options.ct, "--ct-");
  command.Add("--config", options.config.file, "TOML file with parameters (see: lumen config)");
  AddInputOptions(command, options.run.selection);
}

void AddSharedVideoOptions(Command& command, VideoOptions& options) {
  command.AddFlag("--deterministic", options.run.deterministic,
                  "one frame after the other: the same bytes every time");
  command.AddFlag("--refine", options.run.refine, "go on mapping and searching loops after the last frame");
  AddDeviceOption(command, options.run.device);
  command.Add("--set", options.config.settings, "one parameter, as name=value; may be given several times")
      .Hint(SettingHints());
}

void AddVideoTaskOptions(Command& command, VideoTask& task) {
  command.Add("INPUT", task.options.run.input, "the video").Required();
  command.Add("--place", task.place, "folder of the finished video").Required();
  command.Add("--work", task.work, "folder beside which it is made").Required();
  command.Add("--name", task.name, "as people know it").Required();
  command.Add("--if-none", task.if_none, "options that are for inputs without what they say").SplitAt(',');
  command.Add("--cores", task.cores, "that it may keep busy; 0: all").NotNegative();
  AddVideoOptions(command, task.options);
  AddSharedVideoOptions(command, task.options);
}

namespace {

void AddCtTo(Json& identity, const VideoOptions& options) {
  identity["ct"] = ToValidUtf8(options.ct.path.string());
  identity["ct_start"] = options.ct_start;
  identity["ct_part"] = StrCat(options.ct.threshold, " ", options.ct.volume.series, " ", options.ct.cavity,
                               " ", options.ct.crop);
}

}  // namespace

Json VideoIdentity(const VideoOptions& options, ModelHashes& models) {
  const AppConfig config = ResolveConfig(options.config);
  const fs::path model = options.model.empty() ? fs::path(config.model) : options.model;
  Json identity = Json::MakeObject();
  identity["input"] = ToValidUtf8(options.run.input.string());  // as it reads back
  identity["input_options"] = InputOptionsToJson(options.run.selection);
  identity["model_hash"] = models.Of(model);
  if (!options.vocabulary.empty()) identity["vocabulary"] = ToValidUtf8(options.vocabulary.string());
  identity["config_hash"] = HashText(FormatConfig(config));
  identity["deterministic"] = options.run.deterministic;
  identity["refine"] = options.run.refine;
  if (!options.ct.path.empty()) AddCtTo(identity, options);
  return Json::Parse(identity.Dump());  // as it reads back: 90.0 is 90 then
}

void RunVideo(const VideoTask& task) {
  if (task.cores > 0) LimitCores(task.cores);
  const std::atomic<bool>& stop = CatchInterrupts();
  const Stopwatch watch;
  ModelHashes models;
  VideoEntry entry;
  entry.identity = VideoIdentity(task.options, models);
  VideoOptions options = task.options;
  RunOptions& run = options.run;
  run.config = ResolveConfig(options.config);
  run.model = options.model.string();
  run.vocabulary = options.vocabulary.string();
  KeepWhatIsItsOwn(task, run);
  const std::unique_ptr<NavigationCt> ct = ReadCt(options);
  const Attempt attempt(task.work);
  run.output = attempt.Folder() / video_file::kRun;
  const RunOutcome outcome = RunSequence(run, stop);
  if (!stop && run.config.depth.views > 0) TryGatherRunDepth(run.output, run.config.depth);
  if (!stop) TrySaveRunSurface(run.output, run.config.fusion);
  const double mm_per_unit = ct != nullptr && !stop ? RegisterTo(*ct, options, entry) : 0;
  if (outcome.interrupted || stop) throw ExitRequest{kInterrupted};
  const RunFolder folder = ReadRunFolder(run.output);
  const WallCoverage coverage = MeasureCoverageOfRun(folder, run.config.coverage, mm_per_unit);
  WriteReport(task, attempt.Folder(), coverage);
  AddRunTo(entry, folder, coverage);
  entry.name = task.name;
  entry.input = run.input.string();
  entry.thumbnail = SaveThumbnail(folder, attempt.Folder());
  entry.version = OwnVersion();
  entry.node = NodeName();
  entry.state = VideoState::kDone;
  entry.seconds = watch.ElapsedMs() / 1000;
  WriteFileAtomically(attempt.Folder() / video_file::kRecord, VideoToJson(entry).Dump(2) + "\n");
  attempt.MoveTo(task.place);
  LogInfo("video: ", task.place.string());
}

void RemoveAttempts(const fs::path& work) {
  std::error_code error;
  std::vector<fs::path> attempts;
  for (const auto& entry : fs::directory_iterator(work, error))
    if (StartsWith(entry.path().filename().string(), kAttempt)) attempts.push_back(entry.path());
  for (const fs::path& attempt : attempts) fs::remove_all(attempt, error);
}

}  // namespace lumen
