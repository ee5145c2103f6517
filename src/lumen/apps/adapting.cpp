#include "lumen/apps/adapting.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lumen/apps/agreed_frames.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/apps/self_agreement.h"
#include "lumen/apps/triangulating.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/eval/statistics.h"
#include "lumen/eval/trajectory_error.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLeastLessons = 30;  // frames with depth that several keyframes agree on
constexpr size_t kLeastExam = 12;

fs::path VideoFolder(const AdaptOptions& options, size_t video) {
  return options.work / StrCat("video-", video + 1);
}

// A refined run over the whole video, with the depth of all keyframes gathered.
void MakeRun(const AdaptOptions& options, const fs::path& video, const fs::path& out,
             const std::atomic<bool>& stop) {
  // Written when all of it is there: a run that was interrupted is made anew.
  const fs::path complete = out.parent_path() / "run-complete";
  if (fs::exists(complete)) return;
  fs::remove_all(out);
  RunOptions run;
  run.input = video;
  run.output = out;
  run.selection = options.selection;
  run.model = options.model;
  run.device = options.device;
  run.refine = true;
  run.config = options.config;
  const RunOutcome outcome = RunSequence(run, stop);
  LogInfo(video.string(), ": ", outcome.placed, " of ", outcome.frames, " frames placed, ", outcome.keyframes,
          " keyframes");
  if (stop) return;
  GatherRunDepth(out, options.config.depth);
  WriteFileAtomically(complete, "");
}

// Frames of one part of a video as a sequence folder, with pose and depth where they are to be had.
class PartWriter {
 public:
  PartWriter(const fs::path& folder, const InputStream& stream, double depth_scale)
      : fps_(stream.Info().fps),
        writer_(folder, {folder.parent_path().filename().string(), fps_, "arbitrary", depth_scale,
                         stream.GetCamera()}) {
    writer_.WriteMask(stream.GetMask());
  }

  void Add(const InputFrame& frame, const std::optional<Rigid3>& pose,
           const std::optional<DepthImage>& depth) {
    writer_.WriteFrame(count_, frame.image);
    if (pose) poses_.push_back({static_cast<double>(count_) / fps_, *pose});
    if (depth) writer_.WriteDepth(count_, *depth);
    known_ += depth ? 1 : 0;
    ++count_;
  }
  void Finish(const SparseDepth& points = {}) {
    if (!poses_.empty()) writer_.WriteTruth(poses_);
    if (!points.empty()) writer_.WritePoints(points);
    writer_.Finish();
  }
  size_t Known() const { return known_; }

 private:
  double fps_;
  SequenceWriter writer_;
  int64_t count_ = 0;
  size_t known_ = 0;
  Trajectory poses_;
};

// A frame that waits for its depth.
struct Waiting {
  int64_t ordinal = 0;  // in the video
  InputFrame frame;
  std::optional<Rigid3> pose;
  std::optional<DepthImage> depth;
};

// The frames of a video in order, a few at a time, each with what the run knows of it.
class LessonReader {
 public:
  LessonReader(InputStream& stream, const AgreedFrames& run) : stream_(stream), run_(run) {}

  // Empty at the end. Only frames that `wanted` says yes to, by their place in the video.
  std::vector<Waiting> Next(const std::function<bool(int64_t)>& wanted) {
    const int threads = AvailableCores();
    std::vector<Waiting> waiting;
    while (static_cast<int>(waiting.size()) < 4 * threads) {
      std::optional<InputFrame> frame = stream_.Next();
      if (!frame) break;
      const int64_t ordinal = read_++;
      if (!wanted(ordinal)) continue;
      const Rigid3* place = run_.PlaceOf(frame->index);
      waiting.push_back({ordinal, std::move(*frame), std::nullopt, std::nullopt});
      if (place != nullptr) waiting.back().pose = *place;
      waiting.back().frame.fine = nullptr;
    }
    ParallelFor(static_cast<int64_t>(waiting.size()), threads, [&](int64_t i) {
      Waiting& one = waiting[static_cast<size_t>(i)];
      one.depth = run_.DepthOf(one.frame.index);
    });
    return waiting;
  }
  int64_t Read() const { return read_; }

 private:
  InputStream& stream_;
  const AgreedFrames& run_;
  int64_t read_ = 0;
};

[[noreturn]] void TooLittle(const fs::path& video, const char* part, size_t known, size_t least) {
  throw InputError(video,
                   StrCat("too little video to adapt to: of the ", part, " ", known,
                          " frames have depth that several keyframes agree on, ", least, " are needed"));
}

void AddLesson(Waiting& one, PartWriter& lessons, std::vector<std::optional<Rigid3>>& places,
               std::vector<RgbImage>& pictures) {
  lessons.Add(one.frame, one.pose, one.depth);
  places.push_back(one.pose);
  pictures.push_back(std::move(one.frame.image));
}

SparseDepth TriangulateLessons(const AdaptOptions& options, const InputStream& stream,
                               const std::vector<std::optional<Rigid3>>& places,
                               const std::vector<RgbImage>& pictures, double depth) {
  PlacedFrames frames;
  frames.count = static_cast<int64_t>(places.size());
  frames.image = [&](int64_t i) { return pictures[static_cast<size_t>(i)]; };
  frames.place = [&](int64_t i) {
    const auto& place = places[static_cast<size_t>(i)];
    return place ? &*place : nullptr;
  };
  return TriangulatePoints(LoadModel(options.model), stream.GetCamera(), stream.GetMask(), frames, depth);
}

// Forwards, with what the new model is measured by, and backwards.
void WriteExam(const AdaptOptions& options, std::vector<Waiting> frames, const InputStream& stream,
               double depth_scale, double typical_depth, const Lessons& folders, const fs::path& video) {
  PartWriter forwards(folders.exam, stream, depth_scale);
  PartWriter backwards(folders.backwards, stream, depth_scale);
  std::vector<std::optional<Rigid3>> places;
  std::vector<RgbImage> pictures;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    backwards.Add(frame->frame, std::nullopt, std::nullopt);
  for (Waiting& frame : frames) AddLesson(frame, forwards, places, pictures);
  if (forwards.Known() < kLeastExam) TooLittle(video, "part held back", forwards.Known(), kLeastExam);
  forwards.Finish(TriangulateLessons(options, stream, places, pictures, typical_depth));
  backwards.Finish();
}

}  // namespace

Lessons PrepareLessons(const AdaptOptions& options, size_t video, const std::atomic<bool>& stop) {
  const fs::path folder = VideoFolder(options, video);
  const fs::path& path = options.videos[video];
  const Lessons made{folder / "lessons", folder / "exam", folder / "backwards"};
  if (IsSequenceFolder(made.lessons) && IsSequenceFolder(made.exam) && IsSequenceFolder(made.backwards))
    return made;
  for (const fs::path& stale : {made.lessons, made.exam, made.backwards}) fs::remove_all(stale);
  MakeDirectories(folder);
  MakeRun(options, path, folder / "run", stop);
  if (stop) return made;
  const AgreedFrames run(folder / "run");
  const double depth_scale = ChooseDepthScale(12 * run.MedianDepth());
  InputStream stream(OpenInput(path, options.selection), path, options.config.view);
  // Of long videos some frames are enough to learn from; what is run forwards and backwards has no gaps.
  constexpr int64_t kMostLessons = 2000, kMostExam = 900;
  const int64_t frames = run.Frames();
  const int64_t cut = std::min(
      frames - 1, static_cast<int64_t>(std::ceil((1 - options.held_back) * static_cast<double>(frames))));
  const int64_t step = std::max<int64_t>(1, cut / kMostLessons);
  const auto wanted = [&](int64_t k) { return k < cut ? k % step == 0 : k < cut + kMostExam; };
  PartWriter lessons(made.lessons, stream, depth_scale);
  std::vector<Waiting> exam;
  std::vector<std::optional<Rigid3>> places;  // of the lessons
  std::vector<RgbImage> pictures;
  LessonReader reader(stream, run);
  ProgressBar progress("lessons", frames);
  while (!stop) {
    std::vector<Waiting> some = reader.Next(wanted);
    if (some.empty()) break;
    for (Waiting& one : some) {
      if (one.ordinal < cut)
        AddLesson(one, lessons, places, pictures);
      else
        exam.push_back(std::move(one));
    }
    progress.Update(reader.Read());
  }
  progress.Finish();
  if (stop) return made;
  if (lessons.Known() < kLeastLessons) TooLittle(path, "part to learn from", lessons.Known(), kLeastLessons);
  WriteExam(options, std::move(exam), stream, depth_scale, run.MedianDepth(), made, path);
  lessons.Finish(TriangulateLessons(options, stream, places, pictures, run.MedianDepth()));
  return made;
}

namespace {

// A path of the frames played backwards, by the time of the frames forwards.
Trajectory TurnedAround(const Trajectory& path, double last_time) {
  Trajectory turned(path.rbegin(), path.rend());
  for (TimedPose& pose : turned) pose.time = last_time - pose.time;
  return turned;
}

// How far apart the paths of one part lie that a model finds forwards and backwards, in percent of their
// length; nothing where one of them is not found.
std::optional<double> ComparePaths(const AdaptOptions& options, const fs::path& model, const Lessons& part,
                                   const fs::path& scratch, const std::atomic<bool>& stop) {
  const auto path_of = [&](const fs::path& input, const char* name) {
    RunOptions run;
    run.input = input;
    run.output = scratch / name;
    run.model = model.string();
    run.deterministic = true;
    run.config = options.config;
    fs::remove_all(run.output);
    RunSequence(run, stop);
    return ReadRunFolder(run.output).frames;
  };
  try {
    const Trajectory forwards = path_of(part.exam, "forwards");
    if (stop) return std::nullopt;
    const std::unique_ptr<FrameSource> source = OpenInput(part.exam, {});
    const double last = static_cast<double>(source->Info().frame_count - 1) / source->Info().fps;
    const TrajectoryErrors errors =
        ComputeTrajectoryErrors(TurnedAround(path_of(part.backwards, "backwards"), last), forwards);
    if (errors.status != TrajectoryStatus::kGood || !(errors.path_length > 0)) return std::nullopt;
    return 100 * errors.ate_translation / errors.path_length;
  } catch (const InputError& error) {
    LogWarning(error.what());
    return std::nullopt;
  }
}

}  // namespace

Exam ExamineModel(const AdaptOptions& options, const fs::path& path, const std::vector<Lessons>& lessons,
                  const fs::path& scratch, const std::atomic<bool>& stop) {
  const Model model = LoadModel(path);
  Exam exam;
  std::vector<double> backwards, points;
  for (const Lessons& part : lessons) {
    const SelfAgreement agreement = MeasureSelfAgreement(model, part.exam);
    exam.depth += agreement.depth / static_cast<double>(lessons.size());
    exam.epipolar += agreement.epipolar / static_cast<double>(lessons.size());
    if (agreement.points) points.push_back(*agreement.points);
    if (const auto apart = ComparePaths(options, path, part, scratch, stop)) backwards.push_back(*apart);
    if (stop) return exam;
  }
  if (backwards.size() == lessons.size()) exam.backwards = Mean(backwards);
  if (!points.empty()) exam.points = Mean(points);
  return exam;
}

Model BlendModels(const Model& from, const Model& to, double share) {
  Model blended = to;
  for (auto& [name, tensor] : blended.tensors) {
    const std::vector<float>& start = from.tensors.at(name).values;
    LUMEN_CHECK(start.size() == tensor.values.size());
    for (size_t i = 0; i < start.size(); ++i)
      tensor.values[i] = start[i] + static_cast<float>(share) * (tensor.values[i] - start[i]);
  }
  return blended;
}

std::string WhyNoBetter(const Exam& before, const Exam& after) {
  constexpr double kBetter = 0.95;       // of what it was before: less may be chance
  constexpr double kLessMatched = 0.01;  // of the matches
  constexpr double kWorsePath = 1.25;    // times the distance before …
  constexpr double kAnyPath = 0.3;       // … or this much of the path, which chance alone makes
  // Points say whether depth is right; that two frames agree says only that they err alike.
  if (before.points && !(after.points && *after.points < kBetter * *before.points))
    return "depth at the points is no nearer to them";
  const double needed = before.points ? 1.0 : kBetter;
  if (!(after.depth < needed * before.depth)) return "depth agrees no better between frames";
  if (after.epipolar < before.epipolar - kLessMatched) return "fewer matches lie where they can";
  if (before.backwards && !after.backwards) return "no path is found forwards and backwards any more";
  if (before.backwards &&
      *after.backwards > std::max(kWorsePath * *before.backwards, *before.backwards + kAnyPath))
    return "the path forwards and the path backwards lie farther apart";
  return "";
}

}  // namespace lumen
