#include "lumen/apps/study_priors.h"

#include <algorithm>
#include <cmath>

#include "lumen/apps/study_subject.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/base/random.h"
#include "lumen/eval/depth_error.h"
#include "lumen/eval/statistics.h"
#include "lumen/sim/flow.h"
#include "lumen/sim/suite.h"

namespace lumen {

// As training sets it up (train/alignment.h), but matches weigh more while a pair is placed and less while it
// is shaped: docs/decisions.md.
PriorStudyOptions::PriorStudyOptions() {
  alignment.optimize_scale = alignment.optimize_code = true;
  alignment.code_joins_late = alignment.relative_code = true;
  alignment.code_prior_weight = 10;
  alignment.use_matched_geometry = true;
  alignment.matched_geometry.weight = 10;
  alignment.reprojection.weight = 0.1;
  alignment.feature_metric.relative = true;
  alignment.feature_metric.robust = 0.03;
}

namespace {

constexpr double kMatchTolerance = 2;  // px at the maps' size
constexpr double kAlignedFlow = 1;     // px, mean over the visible pixels
constexpr double kRoll = 30 * M_PI / 180;

std::optional<DepthScores> GradeDepth(const DepthImage& depth, const DepthImage& truth) {
  const auto scale = MedianDepthRatio(depth, truth);
  return scale ? ScoreDepth(depth, truth, *scale) : std::nullopt;
}

double MedianOf(const DepthImage& depth) {
  std::vector<double> known;
  for (size_t i = 0; i < depth.Size(); ++i) {
    if (depth.Data()[i] > 0) known.push_back(depth.Data()[i]);
  }
  return known.empty() ? 1 : Quantile(known, 0.5);
}

MatchSet MatchFrames(const StudyFrame& source, const StudyFrame& target, uint64_t seed) {
  const Frame& a = *source.keyframe->frame;
  const Frame& b = *target.keyframe->frame;
  const DescriptorIndex index_a(a.features.descriptors, a.view->mask);
  const DescriptorIndex index_b(b.features.descriptors, b.view->mask);
  return MatchDescriptors({a.features.descriptors, &index_a},
                          SampleKeypoints(a.view->eroded_mask, kStudyKeypoints, seed),
                          {b.features.descriptors, &index_b});
}

// Where a source pixel truly lies in the target; nothing if it is hidden or outside there.
struct TrueFlow {
  FlowField field;
  std::optional<Eigen::Vector2d> At(int x, int y) const {
    if (field.visible(x, y) == 0) return std::nullopt;
    return Eigen::Vector2d(x + field.flow(x, y, 0), y + field.flow(x, y, 1));
  }
};

TrueFlow FlowBetween(const Subject& subject, const StudyFrame& source, const StudyFrame& target) {
  return {ComputeFlow(subject.SmallRenderer(), source.z, source.world_from_camera, target.world_from_camera)};
}

struct MatchCounts {
  int64_t right = 0, kept = 0;  // of keypoints that the target sees
  int64_t unseen = 0;           // kept although the target does not see them
};

// Matches kept by the cycle check, and those of them that are right.
MatchCounts CountMatches(const Subject& subject, const StudyFrame& source, const StudyFrame& target,
                         uint64_t seed) {
  const TrueFlow truth = FlowBetween(subject, source, target);
  MatchCounts counts;
  for (const Match& match : MatchFrames(source, target, seed).matches) {
    const auto place = truth.At(match.source.x(), match.source.y());
    if (!place) {
      ++counts.unseen;
      continue;
    }
    ++counts.kept;
    if ((*place - match.target).norm() <= kMatchTolerance) ++counts.right;
  }
  return counts;
}

// Mean flow error over the visible pixels, at the maps' size.
double FlowError(const Subject& subject, const TrueFlow& truth, const DepthImage& depth,
                 const Rigid3& target_from_source) {
  const UnifiedCamera& camera = subject.GetView().camera;
  double sum = 0;
  int64_t count = 0;
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      const auto place = truth.At(x, y);
      if (!place) continue;
      ++count;
      const auto uv = camera.Project(target_from_source *
                                     (static_cast<double>(depth(x, y)) * camera.RayAtUnitDepth(x, y)));
      sum += uv && depth(x, y) > 0 ? std::min(100.0, (*uv - *place).norm()) : 100.0;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 100.0;
}

double OverlapAt(const Subject& subject, const StudyFrame& source, const Rigid3& target_from_source) {
  const View& view = subject.GetView();
  int64_t content = 0;
  int64_t seen = 0;
  for (int y = 0; y < source.truth.Height(); y += 2) {
    for (int x = 0; x < source.truth.Width(); x += 2) {
      if (source.truth(x, y) <= 0) continue;
      ++content;
      const auto uv = view.camera.Project(
          target_from_source * (static_cast<double>(source.truth(x, y)) * view.camera.RayAtUnitDepth(x, y)));
      if (!uv) continue;
      const auto u = static_cast<int>(std::lround(uv->x()));
      const auto v = static_cast<int>(std::lround(uv->y()));
      if (view.mask.Contains(u, v) && view.mask(u, v) != 0) ++seen;
    }
  }
  return Share(seen, content);
}

Eigen::Vector3d RandomDirection(Random& random) {
  const Eigen::Vector3d v{random.Normal(), random.Normal(), random.Normal()};
  return v.norm() > 1e-9 ? Eigen::Vector3d(v.normalized()) : Eigen::Vector3d::UnitX();
}

// The true motion, displaced at random as far as the overlap allows. Lengths in `unit`.
Rigid3 DrawStart(const Subject& subject, const StudyFrame& source, const Rigid3& truth, double unit,
                 const PriorStudyOptions& options, Random random) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const double length = options.start_translation * unit * random.Uniform();
    const Eigen::Vector3d direction = RandomDirection(random);
    const double angle = options.start_rotation * random.Uniform();
    const Eigen::Vector3d axis = RandomDirection(random);
    Vector6d step;
    step << length * direction, angle * axis;
    Rigid3 start = truth.Retract(step);
    if (OverlapAt(subject, source, start) >= options.min_start_overlap) return start;
  }
  return truth;
}

struct AlignmentGrade {
  bool aligned = false;
  double flow_error = 0;
  double ard_before = 0, ard_after = 0;
};

// The pair as the networks are trained on it: pose, scale and code of the source; the target's depth is its
// own average depth.
AlignmentGrade GradeAlignment(const Subject& subject, const StudyFrame& source, const StudyFrame& target,
                              const PriorStudyOptions& options, Random random) {
  const auto mean_depth = [&](const StudyFrame& frame) {
    return std::sqrt(static_cast<double>(frame.keyframe->depth.mean_square));
  };
  // The target's estimate fixes the pair's unit: what one of it is in mm.
  const double unit = MedianDepthRatio(target.keyframe->depth.average, target.truth).value_or(1.0);
  const Rigid3 true_motion = target.world_from_camera.Inverse() * source.world_from_camera;
  const Rigid3 start =
      DrawStart(subject, source, true_motion, MedianOf(source.truth), options, random.Split("start"));
  PairAlignmentProblem problem;
  problem.source = MakeKeyframeSamples(source.keyframe);
  problem.target = target.keyframe->frame;
  problem.matches = MatchFrames(source, target, random.Split("keypoints").NextBits()).matches;
  problem.source_log_scale =
      std::log(std::max(1e-6, mean_depth(target)) / std::max(1e-6, mean_depth(source)));
  problem.target_keyframe = target.keyframe;
  const PairAlignmentResult result =
      AlignPair(problem, Rigid3(start.Rotation(), start.Translation() / unit), options.alignment);
  const DepthImage depth = ComputeDepth(source.keyframe->depth, result.source_log_scale, result.source_code);
  AlignmentGrade grade;
  grade.flow_error =
      FlowError(subject, FlowBetween(subject, source, target), depth, result.target_from_source);
  grade.aligned = grade.flow_error < kAlignedFlow;
  const auto before = GradeDepth(source.keyframe->depth.average, source.truth);
  const auto after = GradeDepth(depth, source.truth);
  grade.ard_before = before ? before->ard : 0;
  grade.ard_after = after ? after->ard : 1;
  return grade;
}

struct FramePair {
  int source = 0, target = 0;
};

// Pairs of the sequence with at least this overlap, gaps as large as that allows, spread over the video.
std::vector<FramePair> ChoosePairs(const Subject& subject, const PriorStudyOptions& options) {
  std::vector<FramePair> pairs;
  Random random = Random(options.seed).Split("pairs");
  for (int attempt = 0; attempt < 20 * options.pairs && static_cast<int>(pairs.size()) < options.pairs;
       ++attempt) {
    const auto source = static_cast<int>(random.UniformInt(0, subject.Size() - 1));
    const auto gap = static_cast<int>(random.UniformInt(4, 40));
    const int target = std::clamp(source + (random.Chance(0.5) ? gap : -gap), 0, subject.Size() - 1);
    if (target == source) continue;
    // Both ways: a view from far behind sees all of the source, and little of what the source shows of it.
    const auto overlap_from = [&](int from, int to) {
      const Rigid3 pose = subject.Pose(from);
      return ComputeFlow(subject.SmallRenderer(), subject.TrueZ(pose), pose, subject.Pose(to)).overlap;
    };
    const double overlap = std::min(overlap_from(source, target), overlap_from(target, source));
    if (overlap >= options.min_overlap) pairs.push_back({source, target});
  }
  return pairs;
}

// Frames on a grid over the video, all against all: those that overlap by half are the same place, those
// that hardly do are not.
double PlaceAuc(const Subject& subject, const std::vector<StudyFrame>& frames, const Vocabulary& vocabulary) {
  std::vector<BagOfWords> bags;
  bags.reserve(frames.size());
  for (const StudyFrame& frame : frames)
    bags.push_back(
        vocabulary.Describe(frame.keyframe->frame->features.descriptors, subject.GetView().eroded_mask));
  std::vector<double> same, other;
  for (size_t i = 0; i < frames.size(); ++i) {
    for (size_t j = i + 1; j < frames.size(); ++j) {
      const auto overlap = [&](const StudyFrame& a, const StudyFrame& b) {
        return ComputeFlow(subject.SmallRenderer(), a.z, a.world_from_camera, b.world_from_camera).overlap;
      };
      const double both = std::min(overlap(frames[i], frames[j]), overlap(frames[j], frames[i]));
      const double either = std::max(overlap(frames[i], frames[j]), overlap(frames[j], frames[i]));
      if (both >= 0.5) same.push_back(Similarity(bags[i], bags[j]));
      if (either < 0.1) other.push_back(Similarity(bags[i], bags[j]));
    }
  }
  return same.empty() || other.empty() ? -1 : AreaUnderCurve(same, other);
}

Json StudySubject(const SuiteSubject& which, const Model& model, const std::optional<Vocabulary>& vocabulary,
                  const PriorStudyOptions& options) {
  Subject subject(which, ParseSuiteLens(options.lens), model);
  DepthMean average;
  std::vector<StudyFrame> frames;
  for (int k = 0; k < options.frames; ++k) {
    frames.push_back(subject.Look(k * (subject.Size() - 1) / std::max(1, options.frames - 1)));
    const auto scores = GradeDepth(frames.back().keyframe->depth.average, frames.back().truth);
    if (scores) average.Add(*scores);
  }
  const std::vector<FramePair> pairs = ChoosePairs(subject, options);
  MatchCounts straight, rolled;
  std::vector<double> flow_errors;
  double before = 0;
  double after = 0;
  int64_t aligned = 0;
  const Random random(options.seed);
  for (size_t p = 0; p < pairs.size(); ++p) {
    const StudyFrame source = subject.Look(pairs[p].source);
    const StudyFrame target = subject.Look(pairs[p].target);
    const StudyFrame turned = subject.LookRolled(pairs[p].target, p % 2 == 0 ? kRoll : -kRoll);
    const MatchCounts a = CountMatches(subject, source, target, p);
    const MatchCounts b = CountMatches(subject, source, turned, p);
    straight.right += a.right;
    straight.kept += a.kept;
    straight.unseen += a.unseen;
    rolled.right += b.right;
    rolled.kept += b.kept;
    const AlignmentGrade grade = GradeAlignment(subject, source, target, options, random.Split(p));
    flow_errors.push_back(grade.flow_error);
    aligned += grade.aligned ? 1 : 0;
    before += grade.ard_before;
    after += grade.ard_after;
  }
  Json row;
  row["name"] = which.name;
  if (average.Maps() > 0) {
    row["ard_average"] = average.Mean().ard;
    row["threshold_average"] = average.Mean().within[0];
  }
  row["pairs"] = static_cast<int64_t>(pairs.size());
  if (!pairs.empty()) {
    row["ard_gain"] = before > 0 ? 1 - after / before : 0.0;
    row["alignment_success"] = Share(aligned, static_cast<int64_t>(pairs.size()));
    row["flow_error_median"] = Quantile(flow_errors, 0.5);
    row["match_precision"] = Share(straight.right, straight.kept);
    row["match_precision_rolled"] = Share(rolled.right, rolled.kept);
    // Strictly: a match of something the target does not see is wrong, too.
    row["match_precision_all"] = Share(straight.right, straight.kept + straight.unseen);
    row["matches_kept"] =
        Share(straight.kept + straight.unseen, static_cast<int64_t>(kStudyKeypoints * pairs.size()));
  }
  if (vocabulary) {
    const double auc = PlaceAuc(subject, frames, *vocabulary);
    if (auc >= 0) row["place_auc"] = auc;
  }
  return row;
}

}  // namespace

double AreaUnderCurve(const std::vector<double>& positives, const std::vector<double>& negatives) {
  double wins = 0;
  for (const double p : positives) {
    for (const double n : negatives) wins += p > n ? 1.0 : p == n ? 0.5 : 0.0;
  }
  return wins / (static_cast<double>(positives.size()) * static_cast<double>(negatives.size()));
}

Json StudyPriors(const Model& model, const std::optional<Vocabulary>& vocabulary,
                 const PriorStudyOptions& options) {
  std::vector<SuiteSubject> subjects;
  for (const std::string& name : options.subjects) subjects.push_back(FindSuiteSubject(name));
  if (subjects.empty()) subjects.assign(kBenchmarkSuite.begin(), kBenchmarkSuite.end());
  std::vector<Json> rows(subjects.size());
  ProgressBar progress("priors", static_cast<int64_t>(subjects.size()));
  std::mutex mutex;
  int64_t done = 0;
  ParallelFor(static_cast<int64_t>(subjects.size()), options.threads, [&](int64_t i) {
    rows[static_cast<size_t>(i)] = StudySubject(subjects[static_cast<size_t>(i)], model, vocabulary, options);
    const std::lock_guard lock(mutex);
    progress.Update(++done);
  });
  progress.Finish();
  Json result;
  for (const char* key :
       {"ard_average", "threshold_average", "ard_gain", "alignment_success", "flow_error_median",
        "match_precision", "match_precision_rolled", "match_precision_all", "matches_kept", "place_auc"}) {
    std::vector<double> values;
    for (const Json& row : rows) {
      if (const Json* value = row.Find(key)) values.push_back(value->AsDouble());
    }
    if (!values.empty()) result[key] = Mean(values);
  }
  Json list = Json::MakeArray();
  for (Json& row : rows) list.Append(std::move(row));
  result["subjects"] = std::move(list);
  return result;
}

}  // namespace lumen
