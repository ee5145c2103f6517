#include "lumen/apps/grading.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lumen/apps/coverage_grading.h"
#include "lumen/apps/one_scale_grading.h"
#include "lumen/apps/status_grading.h"
#include "lumen/apps/surface_grading.h"
#include "lumen/apps/uncertainty_grading.h"
#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/overlap.h"
#include "lumen/image/resize.h"
#include "lumen/io/calibration.h"
#include "lumen/io/coverage_mesh.h"
#include "lumen/io/rectifier.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

bool IsTrajectoryFile(const fs::path& path) {
  const std::string extension = ToLower(path.extension().string());
  return fs::is_regular_file(path) && (extension == ".tum" || extension == ".txt");
}

TrajectoryErrorOptions MakeErrorOptions(const GradingOptions& options, double fps) {
  return {options.max_time_gap, options.step_poses, options.step_frames / fps};
}

// Width and height in the same proportion, to a pixel.
bool SameShape(int width, int height, int other_width, int other_height) {
  return std::abs(static_cast<double>(width) * other_height / other_width - height) <=
         std::max(1.0, static_cast<double>(width) / other_width);
}

std::string SizeText(int width, int height) { return StrCat(width, "x", height); }

// Times of frames by number: a run's own record where it has one, else the sequence's rate.
class FrameClock {
 public:
  FrameClock(const Estimate& estimate, double fps) : fps_(fps) {
    for (const RunFrameEvent& event : estimate.events) times_[event.frame] = event.time;
  }
  double At(int64_t frame) const {
    const auto found = times_.find(frame);
    return found != times_.end() ? found->second : static_cast<double>(frame) / fps_;
  }

 private:
  std::map<int64_t, double> times_;
  double fps_;
};

// The depth maps whose frame has a pose among those that are graded.
std::vector<RunDepthFile> SelectDepth(const Estimate& estimate, const Truth& truth, const Trajectory& poses,
                                      double max_gap) {
  const FrameClock clock(estimate, truth.fps);
  std::vector<RunDepthFile> selected;
  for (const RunDepthFile& file : estimate.depth) {
    const double time = clock.At(file.frame);
    const auto after = std::lower_bound(poses.begin(), poses.end(), time - max_gap,
                                        [](const TimedPose& pose, double t) { return pose.time < t; });
    if (after != poses.end() && after->time <= time + max_gap) selected.push_back(file);
  }
  return selected;
}

// One map's outcome; exactly one of the three is set.
struct MapOutcome {
  std::optional<DepthMapGrade> grade;
  bool no_truth = false;
  std::string reason;  // neither: it cannot be compared, or has too few pixels (empty)
};

// On one grid whatever the map's size, so that maps of different sizes can be compared.
std::optional<DepthScores> GradeFolds(const DepthImage& map, const DepthImage& true_map, double scale,
                                      const Estimate& estimate, const Truth& truth) {
  constexpr int kWidth = 160;
  const int height = static_cast<int>(std::lround(static_cast<double>(kWidth) * map.Height() / map.Width()));
  const DepthImage resized = ResizeNearest(map.View(), kWidth, height);
  const SamplerChoice choice = MakeTruthSampler(estimate, truth, resized, true_map);
  if (!choice.sampler) return std::nullopt;
  return ScoreDepth(resized, NearEdges(choice.sampler->Sample(true_map)), scale);
}

// A map and the truth at single places: two rows of numbers, compared like maps.
struct PointPairs {
  DepthImage estimate, truth;
};
PointPairs SampleAtPoints(const DepthImage& map, const std::vector<SparsePoint>& points,
                          const Camera& map_camera, const Camera& truth_camera) {
  std::vector<std::pair<float, float>> pairs;
  for (const PointOnMap& point : PlacePoints(map, points, map_camera, truth_camera)) {
    const float depth = map(point.x, point.y);
    if (depth > 0) pairs.emplace_back(depth, static_cast<float>(point.depth));
  }
  PointPairs sampled{DepthImage(static_cast<int>(pairs.size()), 1),
                     DepthImage(static_cast<int>(pairs.size()), 1)};
  for (size_t i = 0; i < pairs.size(); ++i) {
    sampled.estimate.Data()[i] = pairs[i].first;
    sampled.truth.Data()[i] = pairs[i].second;
  }
  return sampled;
}

MapOutcome GradeMapAtPoints(const RunDepthFile& file, const Estimate& estimate, const Truth& truth,
                            std::optional<double> trajectory_scale) {
  const auto points = truth.sparse.find(file.frame);
  const std::optional<Camera>& camera = truth.source->Info().camera;
  if (points == truth.sparse.end() || !camera) return {.grade = {}, .no_truth = true, .reason = {}};
  const DepthImage map = LoadScaledDepth(file.path, *estimate.depth_scale);
  const Camera map_camera = estimate.depth_camera.value_or(*camera).Resized(map.Width(), map.Height());
  const PointPairs pairs = SampleAtPoints(map, points->second, map_camera, *camera);
  const std::optional<double> scale = MedianDepthRatio(pairs.estimate, pairs.truth);
  if (!scale) return {};
  DepthMapGrade grade{file.frame, *scale, *ScoreDepth(pairs.estimate, pairs.truth, *scale), std::nullopt,
                      std::nullopt};
  if (trajectory_scale) grade.by_trajectory = ScoreDepth(pairs.estimate, pairs.truth, *trajectory_scale);
  return {.grade = grade, .no_truth = false, .reason = {}};
}

MapOutcome GradeMap(const RunDepthFile& file, const Estimate& estimate, const Truth& truth,
                    std::optional<double> trajectory_scale) {
  const std::optional<DepthImage> true_map = truth.source->LoadDepth(file.frame);
  if (!true_map) return GradeMapAtPoints(file, estimate, truth, trajectory_scale);
  const DepthImage map = LoadScaledDepth(file.path, *estimate.depth_scale);
  const SamplerChoice choice = MakeTruthSampler(estimate, truth, map, *true_map);
  if (!choice.sampler) return {.grade = {}, .no_truth = false, .reason = choice.reason};
  const DepthImage expected = choice.sampler->Sample(*true_map);
  const std::optional<double> scale = MedianDepthRatio(map, expected);
  if (!scale) return {};
  DepthMapGrade grade{file.frame, *scale, *ScoreDepth(map, expected, *scale), std::nullopt, std::nullopt};
  grade.at_folds = GradeFolds(map, *true_map, *scale, estimate, truth);
  if (trajectory_scale) grade.by_trajectory = ScoreDepth(map, expected, *trajectory_scale);
  return {.grade = grade, .no_truth = false, .reason = {}};
}

std::string WhyNoDepthAtAll(const Estimate& estimate, const Truth& truth, size_t selected) {
  if (truth.source == nullptr) return "the truth is a trajectory without depth";
  if (estimate.depth.empty()) return "the estimate has no depth maps";
  if (!estimate.depth_scale) return "depth_scale is not in summary.json";
  if (selected == 0) return "no depth map belongs to a graded pose";
  return "";
}

struct GradedDepth {
  DepthGrade grade;
  std::vector<DepthMapGrade> maps;
};

// Adds up what could be graded; where nothing could, the reason.
void CollectOutcomes(const std::vector<MapOutcome>& outcomes, GradedDepth& graded) {
  DepthGrade& grade = graded.grade;
  bool any_truth = false;
  std::string fault;
  for (const MapOutcome& outcome : outcomes) {
    any_truth = any_truth || !outcome.no_truth;
    if (!outcome.reason.empty()) fault = outcome.reason;
    if (!outcome.grade) {
      ++grade.skipped;
      continue;
    }
    grade.by_frame.Add(outcome.grade->by_frame);
    grade.frame_scales.push_back(outcome.grade->frame_scale);
    if (outcome.grade->at_folds) grade.at_folds.Add(*outcome.grade->at_folds);
    if (outcome.grade->by_trajectory) grade.by_trajectory.Add(*outcome.grade->by_trajectory);
    graded.maps.push_back(*outcome.grade);
  }
  if (grade.by_frame.Maps() == 0) {
    grade.reason = !any_truth       ? "the truth has no depth"
                   : !fault.empty() ? fault
                                    : StrCat("no depth map has ", kLeastValidPixels, " pixels to compare");
  }
}

GradedDepth GradeDepth(const Estimate& estimate, const Truth& truth, const Trajectory& poses,
                       const TrajectoryErrors& errors, const GradingOptions& options) {
  GradedDepth graded;
  DepthGrade& grade = graded.grade;
  const std::vector<RunDepthFile> files = SelectDepth(estimate, truth, poses, options.max_time_gap);
  grade.reason = WhyNoDepthAtAll(estimate, truth, files.size());
  if (!grade.reason.empty()) return graded;
  const bool aligned = errors.status == TrajectoryStatus::kGood;
  const std::optional<double> scale =
      aligned ? std::optional(errors.truth_from_estimate.Scale()) : std::nullopt;
  std::vector<MapOutcome> outcomes(files.size());
  ParallelFor(static_cast<int64_t>(files.size()), options.threads, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    outcomes[k] = GradeMap(files[k], estimate, truth, scale);
  });
  CollectOutcomes(outcomes, graded);
  if (!aligned) grade.traj_reason = StrCat("the trajectory has no scale: ", errors.reason);
  return graded;
}

// Poses and depth of one selection: the keyframes, or every placed frame.
Grades GradeSelection(const Estimate& estimate, const Truth& truth, const Trajectory& poses,
                      const GradingOptions& options, TrajectoryErrors& errors,
                      std::vector<DepthMapGrade>& maps) {
  Grades grades;
  grades.units = truth.units;
  errors = ComputeTrajectoryErrors(poses, truth.trajectory, MakeErrorOptions(options, truth.fps));
  AddTrajectoryGrades(errors, grades);
  GradedDepth depth = GradeDepth(estimate, truth, poses, errors, options);
  AddDepthGrades(depth.grade, grades);
  maps = std::move(depth.maps);
  return grades;
}

// The true view of a frame, as far as it is known.
std::optional<TrueView> FindTrueView(int64_t frame, double time, const Truth& truth, double max_gap) {
  const std::vector<PosePair> pair = AssociateByTime({{time, Rigid3()}}, truth.trajectory, max_gap);
  std::optional<DepthImage> depth = truth.source->LoadDepth(frame);
  if (pair.empty() || !depth) return std::nullopt;
  return TrueView{std::move(*depth), truth.trajectory[pair.front().truth].world_from_camera};
}

// Nothing where the truth does not say what the two frames see.
std::optional<double> LoopOverlap(const RunLoop& loop, const FrameClock& clock, const Truth& truth,
                                  double max_gap) {
  if (truth.source == nullptr || !truth.source->Info().camera) return std::nullopt;
  const auto from = FindTrueView(loop.from, clock.At(loop.from), truth, max_gap);
  const auto to = FindTrueView(loop.to, clock.At(loop.to), truth, max_gap);
  if (!from || !to || !SameSize(from->depth, to->depth)) return std::nullopt;
  return ComputeOverlap(*from, *to,
                        truth.source->Info().camera->Resized(from->depth.Width(), from->depth.Height()));
}

// How many loops stand, and how many of the global ones join what has no view in common.
void AddLoopGrades(const Estimate& estimate, const Truth& truth, double max_gap, Grades& grades) {
  if (estimate.events.empty()) return;
  const FrameClock clock(estimate, truth.fps);
  int local = 0, global = 0, removed = 0, false_loops = 0, unknown = 0;
  for (const RunLoop& loop : estimate.loops) {
    removed += loop.removed ? 1 : 0;
    if (loop.removed) continue;
    if (loop.kind != "global") {
      ++local;
      continue;
    }
    ++global;
    const std::optional<double> overlap = LoopOverlap(loop, clock, truth, max_gap);
    unknown += overlap ? 0 : 1;
    false_loops += overlap && *overlap < kFalseLoopOverlap ? 1 : 0;
  }
  grades.Set("loops_local", local);
  grades.Set("loops_global", global);
  grades.Set("loops_removed", removed);
  if (unknown > 0)
    grades.SetAbsent("loops_false",
                     StrCat("the truth does not say what ", unknown, " of ", global, " global loops see"));
  else
    grades.Set("loops_false", false_loops);
}

void AddCounts(const Estimate& estimate, const Truth& truth, Grades& grades) {
  const size_t placed = estimate.frames.empty() ? estimate.keyframes.size() : estimate.frames.size();
  grades.Set("frames_total", static_cast<double>(truth.frames));
  grades.Set("frames_placed", static_cast<double>(placed));
  grades.Set("keyframes", static_cast<double>(estimate.keyframes.size()));
  grades.Set("placed_percent", 100.0 * static_cast<double>(placed) / static_cast<double>(truth.frames));
}

}  // namespace

std::vector<PointOnMap> PlacePoints(ImageView<const float> map, const std::vector<SparsePoint>& points,
                                    const Camera& map_camera, const Camera& truth_camera) {
  std::vector<PointOnMap> placed;
  for (const SparsePoint& point : points) {
    const auto uv = SeenThrough(truth_camera, point.uv, map_camera);
    if (!uv) continue;
    const auto x = static_cast<int>(std::lround(uv->x())), y = static_cast<int>(std::lround(uv->y()));
    if (map.Contains(x, y)) placed.push_back({x, y, point.depth});
  }
  return placed;
}

Truth LoadTruth(const fs::path& path, double fps) {
  Truth truth;
  truth.path = path;
  if (IsTrajectoryFile(path)) {
    truth.name = path.stem().string();
    truth.trajectory = LoadTrajectory(path, fps);
    truth.fps = fps;
    truth.frames = static_cast<int64_t>(truth.trajectory.size());
  } else {
    std::shared_ptr<const FrameSource> source = OpenInput(path, {});
    const SourceInfo& info = source->Info();
    const bool poses = info.truth && !info.truth->empty();
    if (!poses && !source->LoadDepth(0)) throw InputError(path, "has no true poses to grade by");
    truth.name = info.name;
    truth.units = info.units;
    truth.fps = info.fps;
    if (poses) truth.trajectory = *info.truth;
    truth.frames = std::max(info.frame_count, static_cast<int64_t>(truth.trajectory.size()));
    truth.source = std::move(source);
    truth.model = truth.source->Info().model;
    if (fs::is_regular_file(path / "model.ply")) truth.model = path / "model.ply";
    if (fs::is_regular_file(path / kCoverageMeshFile)) truth.coverage = path / kCoverageMeshFile;
    if (fs::is_regular_file(path / kSparseDepthFile)) truth.sparse = LoadSparseDepth(path / kSparseDepthFile);
  }
  RequireDistinctTimes(truth.trajectory, path.string());
  return truth;
}

Estimate LoadRunEstimate(const fs::path& path) {
  RunFolder run = ReadRunFolder(path);
  Estimate estimate;
  const fs::path whole = fs::absolute(path).lexically_normal();
  estimate.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  estimate.folder = path;
  estimate.keyframes = std::move(run.keyframes);
  estimate.frames = std::move(run.frames);
  estimate.depth = std::move(run.depth);
  if (fs::is_regular_file(run.path / run_file::kSurface)) estimate.surface = run.path / run_file::kSurface;
  estimate.depth_scale = run.depth_scale;
  estimate.depth_camera = run.depth_camera;
  estimate.events = std::move(run.events);
  estimate.loops = std::move(run.loops);
  estimate.version = Trim(StrCat(run.version, " ", run.commit));
  estimate.notes = std::move(run.notes);
  if (!run.finished) estimate.notes.push_back(DescribeBrokenRun(run));
  RequireDistinctTimes(estimate.keyframes, (path / run_file::kKeyframes).string());
  RequireDistinctTimes(estimate.frames, (path / run_file::kFrames).string());
  return estimate;
}

Estimate LoadForeignEstimate(const ForeignFiles& files, double fps) {
  Estimate estimate;
  estimate.name = files.trajectory.stem().string();
  estimate.keyframes = LoadTrajectory(files.trajectory, fps);
  RequireDistinctTimes(estimate.keyframes, files.trajectory.string());
  if (!files.depth.empty()) {
    estimate.depth = ListDepthFiles(files.depth);
    if (estimate.depth.empty())
      throw InputError(files.depth, "holds no depth maps named by their frame (000042.png)");
    estimate.depth_scale = files.depth_scale;
  }
  if (!files.depth_camera.empty()) estimate.depth_camera = LoadCalibration(files.depth_camera);
  return estimate;
}

SamplerChoice MakeTruthSampler(const Estimate& estimate, const Truth& truth, ImageView<const float> map,
                               ImageView<const float> true_map) {
  const std::optional<Camera>& truth_camera = truth.source->Info().camera;
  if (estimate.depth_camera && truth_camera) {
    const Camera& camera = *estimate.depth_camera;
    if (!SameShape(map.Width(), map.Height(), camera.Width(), camera.Height())) {
      return {std::nullopt, StrCat("depth maps are ", SizeText(map.Width(), map.Height()),
                                   " but their camera is ", SizeText(camera.Width(), camera.Height()))};
    }
    return {TruthSampler(camera.Resized(map.Width(), map.Height()),
                         truth_camera->Resized(true_map.Width(), true_map.Height())),
            ""};
  }
  if (!SameShape(map.Width(), map.Height(), true_map.Width(), true_map.Height())) {
    return {
        std::nullopt,
        StrCat("depth maps are ", SizeText(map.Width(), map.Height()), ", of another shape than the truth's ",
               SizeText(true_map.Width(), true_map.Height()), ": the camera of the depth maps is needed")};
  }
  return {TruthSampler(map.Width(), map.Height(), true_map.Width(), true_map.Height()), ""};
}

Grading GradeEstimate(const Estimate& estimate, const Truth& truth, const GradingOptions& given) {
  Grading grading;
  GradingOptions options = given;
  const GradingProtocol protocol = truth.source ? truth.source->Info().protocol : GradingProtocol::kOurs;
  options.only_frames |= protocol == GradingProtocol::kAllFrames;
  options.one_scale |= protocol == GradingProtocol::kOneScale;
  grading.notes = estimate.notes;
  const bool frames = options.only_frames && !estimate.frames.empty();
  grading.grades = GradeSelection(estimate, truth, frames ? estimate.frames : estimate.keyframes, options,
                                  grading.keyframes, grading.maps);
  AddCounts(estimate, truth, grading.grades);
  AddLoopGrades(estimate, truth, options.max_time_gap, grading.grades);
  AddSurfaceGrades(estimate, truth, grading.keyframes, options.threads, grading.grades);
  grading.calibration =
      GradeUncertainty(estimate, truth, grading.keyframes, grading.maps, options.threads, grading.grades);
  const std::vector<JudgedFrame> judged = JudgeFrames(estimate, truth, options);
  grading.statuses_at_once = ScoreStatuses(judged, false);
  grading.statuses = ScoreStatuses(judged, true);
  if (options.coverage)
    if (const auto score = GradeCoverage(estimate, truth, grading.keyframes, options.threads))
      grading.coverage = std::make_shared<const CoverageScore>(*score);
  if (options.one_scale) AddOneScaleGrades(estimate, truth, options, grading.grades);
  if (options.all_frames && !estimate.frames.empty()) {
    std::vector<DepthMapGrade> maps;
    grading.frames.emplace();
    grading.all_frames = GradeSelection(estimate, truth, estimate.frames, options, *grading.frames, maps);
  }
  return grading;
}

Json GradingToJson(const Grading& grading, const Estimate& estimate, const Truth& truth) {
  Json json = grading.grades.ToJson();
  json["estimate"] = estimate.name;
  json["truth"] = truth.name;
  if (!estimate.version.empty()) json["version"] = estimate.version;
  if (grading.all_frames) json["all_frames"] = grading.all_frames->ToJson();
  if (!grading.calibration.empty()) {
    json["calibration"] = Json::MakeObject();
    for (const auto& [name, score] : grading.calibration) json["calibration"][name] = score.ToJson();
  }
  if (grading.statuses_at_once) json["statuses_at_once"] = grading.statuses_at_once->ToJson();
  if (grading.statuses) json["statuses"] = grading.statuses->ToJson();
  if (grading.coverage) json["coverage"] = grading.coverage->ToJson();
  if (!grading.notes.empty()) {
    json["notes"] = Json::MakeArray();
    for (const std::string& note : grading.notes) json["notes"].Append(note);
  }
  return json;
}

}  // namespace lumen
