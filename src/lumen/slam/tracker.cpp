#include "lumen/slam/tracker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr size_t kPrepared = 4;  // references kept ready
constexpr double kExplainedPixels = 3;
constexpr double kEvenSteps = 1e-3;    // frames this evenly spaced are one step apart
constexpr double kStepsPredicted = 3;  // a hand does not keep its velocity for longer
constexpr double kNominalInterval = 1.0 / 30;
constexpr int kLeastForSpread = 24;  // matches
constexpr double kMismatchCap = 20;  // pixels beyond which a match is simply wrong

// Reprojection error of a match, capped; the cap where the point lies behind.
double Mismatch(const Match& match, ImageView<const float> depth, const UnifiedCamera& from,
                const UnifiedCamera& to, const Rigid3& to_from_from) {
  const Eigen::Vector3d point =
      to_from_from * Eigen::Vector3d(depth(match.source.x(), match.source.y()) *
                                     from.RayAtUnitDepth(match.source.x(), match.source.y()));
  const auto pixel = to.Project(point);
  return pixel ? std::min(kMismatchCap, (*pixel - match.target).norm()) : kMismatchCap;
}

// A matched point's depth by the reference, over what the frame's own depth says, as a logarithm.
double LogDepthRatio(const Match& match, ImageView<const float> depth, const Image<float>& frame_depth,
                     const UnifiedCamera& from, const UnifiedCamera& to, const Rigid3& to_from_from) {
  const Eigen::Vector3d point =
      to_from_from * Eigen::Vector3d(depth(match.source.x(), match.source.y()) *
                                     from.RayAtUnitDepth(match.source.x(), match.source.y()));
  const auto x = static_cast<int>(std::lround(match.target.x()));
  const auto y = static_cast<int>(std::lround(match.target.y()));
  return std::log(to.Depth(point) / frame_depth(x, y));
}

// The robust spread of some logarithms.
double Spread(std::vector<double>& values) {
  const auto middle = [&] {
    const auto half = values.begin() + static_cast<int64_t>(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    return *half;
  };
  const double median = middle();
  for (double& value : values) value = std::abs(value - median);
  return 1.4826 * middle();
}

}  // namespace

std::string ToString(TrackStatus status) {
  switch (status) {
    case TrackStatus::kTracked:
      return "tracked";
    case TrackStatus::kWeak:
      return "weak";
    case TrackStatus::kLost:
      return "lost";
    case TrackStatus::kRelocalised:
      return "relocalised";
    case TrackStatus::kStarted:
      return "started";
  }
  return "?";
}

Rigid3 Motion::Predict(double time) const {
  if (!last) return {};
  if (!before_last) return last->pose;
  const Rigid3 moved = before_last->pose.Inverse() * last->pose;
  const double before = last->time - before_last->time;
  const double steps = before > 0 ? (time - last->time) / before : 1;
  if (std::abs(steps - 1) < kEvenSteps) return last->pose * moved;
  return last->pose * Rigid3::Exp(std::clamp(steps, 0.0, kStepsPredicted) * moved.Log());
}

namespace {

// How far pixels differ from what lies a few of them around, as a share of brightness; over the lit ones, two
// by two, so that noise counts little.
double LocalContrast(const RgbImage& image, int lit) {
  constexpr int kReach = 4;
  const auto brightness = [&](int x, int y) {
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
      const uint8_t* p = image.Pixel(x + i % 2, y + i / 2);
      sum += p[0] + p[1] + p[2];
    }
    return sum / 12.0;
  };
  double squares = 0;
  double sum = 0;
  int64_t count = 0;
  for (int y = kReach; y + kReach + 1 < image.Height(); y += 2) {
    for (int x = kReach; x + kReach + 1 < image.Width(); x += 2) {
      const double around[] = {brightness(x - kReach, y), brightness(x + kReach, y),
                               brightness(x, y - kReach), brightness(x, y + kReach)};
      if (*std::min_element(std::begin(around), std::end(around)) <= lit)
        continue;  // the border of what is seen
      const double here = brightness(x, y);
      const double difference = here - 0.25 * (around[0] + around[1] + around[2] + around[3]);
      squares += difference * difference;
      sum += here;
      ++count;
    }
  }
  return count == 0 || !(sum > 0) ? 0 : std::sqrt(squares * static_cast<double>(count)) / sum;
}

}  // namespace

std::string FindImageFault(const RgbImage& image, const TrackingOptions& options) {
  constexpr int kSaturated = 250;
  constexpr int kLit = 3;
  if (image.Empty()) return "an empty picture";
  double sum = 0;
  int64_t saturated = 0;
  int64_t lit = 0;
  for (int y = 0; y < image.Height(); y += 2) {
    for (int x = 0; x < image.Width(); x += 2) {
      const uint8_t* p = image.Pixel(x, y);
      const int low = std::min({p[0], p[1], p[2]});
      const int high = std::max({p[0], p[1], p[2]});
      sum += (p[0] + p[1] + p[2]) / 3.0;
      if (low >= kSaturated) ++saturated;
      if (high > kLit) ++lit;
    }
  }
  const int rows = (image.Height() + 1) / 2, columns = (image.Width() + 1) / 2;
  const double pixels = static_cast<double>(rows) * columns;
  if (sum / pixels < options.dark_level) return "the picture is dark";
  if (static_cast<double>(saturated) > options.bright_share * static_cast<double>(std::max<int64_t>(1, lit)))
    return "the picture is over-exposed";
  if (LocalContrast(image, kLit) < options.flat_contrast) return "nothing can be told apart in the picture";
  return "";
}

double MeanDepth(const MapKeyframe& keyframe) {
  return std::exp(keyframe.state.log_scale) * std::sqrt(keyframe.keyframe->depth.mean_square);
}

double PoseDistance(const MapKeyframe& keyframe, const Rigid3& world_from_camera) {
  const Rigid3 relative = keyframe.state.world_from_camera.Inverse() * world_from_camera;
  const double cosine = std::clamp(relative.RotationMatrix()(2, 2), -1.0, 1.0);  // roll does not count
  return relative.Translation().norm() / MeanDepth(keyframe) + std::acos(cosine);
}

KeyframeId FindClosestKeyframe(const MapSnapshot& map, const Rigid3& world_from_camera, int submap) {
  KeyframeId closest = -1;
  double best = std::numeric_limits<double>::max();
  for (const auto& [id, keyframe] : map.keyframes) {
    if (!keyframe.IsActive() || keyframe.submap != submap) continue;
    const double distance = PoseDistance(keyframe, world_from_camera);
    if (distance < best) {
      best = distance;
      closest = id;
    }
  }
  return closest;
}

const Tracker::Reference& Tracker::Prepare(const MapSnapshot& map, KeyframeId id) {
  const MapKeyframe& keyframe = map.keyframes.at(id);
  auto found =
      std::find_if(prepared_.begin(), prepared_.end(), [&](const Reference& r) { return r.id == id; });
  if (found == prepared_.end()) {
    if (prepared_.size() == kPrepared) prepared_.erase(prepared_.begin());
    prepared_.push_back({id, {}, MakeKeyframeSamples(keyframe.keyframe), {}});
  } else {
    std::rotate(found, found + 1, prepared_.end());
  }
  Reference& reference = prepared_.back();
  const KeyframeState& state = keyframe.state;
  const bool same_depth = !reference.depth.Empty() && reference.state.log_scale == state.log_scale &&
                          reference.state.code == state.code;
  reference.state = state;
  if (!same_depth) reference.depth = ComputeDepth(keyframe.keyframe->depth, state.log_scale, state.code);
  return reference;
}

Tracker::Matched Tracker::Match(const Reference& reference, const LiveFrame& live,
                                const std::optional<Rigid3>& foreseen) const {
  const Frame& source = *reference.samples->keyframe->frame;
  const MatchSet set =
      MatchPair(source, *live.frame, options_.matching, static_cast<uint64_t>(reference.id) + 1);
  if (foreseen) {
    Matched matched;
    matched.foreseen = true;
    matched.pair.status = RegistrationStatus::kOk;
    matched.pair.target_from_source = Sim3(*foreseen);
    matched.pair.keypoints = set.candidates;
    for (const lumen::Match& match : set.matches) {
      if (!(reference.depth(match.source.x(), match.source.y()) > 0)) continue;
      matched.pair.consistent.push_back(match);
      if (Mismatch(match, reference.depth, source.view->camera, live.frame->view->camera, *foreseen) <
          options_.foreseen_pixels)
        matched.pair.inliers.push_back(match);
    }
    if (static_cast<int>(matched.pair.inliers.size()) >= options_.foreseen_matches &&
        matched.pair.ConsistentInlierRatio() >= options_.foreseen_share)
      return matched;
  }
  return {RegisterMatches({&source, reference.depth}, {live.frame.get(), live.AverageDepth()}, set,
                          options_.matching),
          false};
}

namespace {

// Cells of the picture whose matches, in the middle, are missed by this much move by themselves.
constexpr double kMovingPixels = 1.5;
constexpr int kCellPixels = 20;

double MiddleOf(std::vector<double>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void DescribeMisses(const std::vector<std::pair<Eigen::Vector2i, double>>& misses, TrackResult& result) {
  if (misses.empty()) return;
  std::vector<double> all;
  std::map<std::pair<int, int>, std::vector<double>> cells;
  for (const auto& [pixel, miss] : misses) {
    all.push_back(miss);
    cells[{pixel.x() / kCellPixels, pixel.y() / kCellPixels}].push_back(miss);
  }
  result.mismatch = MiddleOf(all, 0.5);
  result.rest_mismatch = MiddleOf(all, 0.9);
  int moving = 0;
  for (auto& [_, cell] : cells) moving += MiddleOf(cell, 0.5) > kMovingPixels ? 1 : 0;
  result.moving = static_cast<double>(moving) / static_cast<double>(cells.size());
}

}  // namespace

TrackResult Tracker::Align(const LiveFrame& live, const Reference& reference, const Matched& found,
                           const std::optional<Rigid3>& camera_from_keyframe) const {
  const PairRegistration& matched = found.pair;
  const UnifiedCamera& from = reference.samples->keyframe->frame->view->camera;
  const UnifiedCamera& to = live.frame->view->camera;
  const auto mismatch = [&](const Rigid3& pose) {
    double sum = 0;
    for (const lumen::Match& match : matched.consistent)
      sum += Mismatch(match, reference.depth, from, to, pose);
    return sum;
  };
  TrackResult result;
  result.reference = reference.id;
  result.keypoints = matched.keypoints;
  result.consistent = static_cast<int>(matched.consistent.size());
  result.inliers = static_cast<int>(matched.inliers.size());
  result.foreseen = found.foreseen;
  result.depth = std::exp(reference.state.log_scale) * reference.samples->MeanDepth();
  if (!camera_from_keyframe && !matched.Ok()) {
    result.reason = "no guess and no matches that agree in space";
    return result;
  }
  // The guess, or the registration's pose where that explains the matches better.
  Rigid3 pose = camera_from_keyframe ? *camera_from_keyframe : matched.PoseInSourceUnit();
  if (camera_from_keyframe && !found.foreseen && matched.Ok() &&
      mismatch(matched.PoseInSourceUnit()) < mismatch(pose))
    pose = matched.PoseInSourceUnit();

  PairAlignmentProblem problem;
  problem.source = reference.samples;
  problem.target = live.frame;
  problem.source_log_scale = reference.state.log_scale;
  problem.source_code = reference.state.code;
  if (options_.use_reprojection) {
    problem.matches = matched.inliers;
    if (!matched.Ok()) {
      for (const lumen::Match& match : matched.consistent) {
        if (Mismatch(match, reference.depth, from, to, pose) < options_.gate_pixels)
          problem.matches.push_back(match);
      }
    }
  }
  PairAlignmentOptions alignment = options_.alignment;
  alignment.use_feature_metric = options_.use_feature_metric;
  // The fewer matches hold, the less they weigh against the features.
  if (matched.keypoints > 0)
    alignment.reprojection.weight *= static_cast<double>(problem.matches.size()) / matched.keypoints;
  const PairAlignmentResult aligned = AlignPair(problem, pose, alignment);
  result.feature_error = aligned.feature_error;
  result.iterations = aligned.solver.iterations + aligned.finest_solver.iterations;
  result.camera_from_reference = aligned.target_from_source;
  if (aligned.status == PairAlignmentStatus::kNoOverlap || aligned.status == PairAlignmentStatus::kDegenerate)
    result.reason = aligned.reason;

  int explained = 0;
  std::vector<std::pair<Eigen::Vector2i, double>> misses;
  std::vector<double> depths;  // logarithms of the map's depth over the frame's, where that is known
  for (const lumen::Match& match : matched.consistent) {
    const double mismatch_there = Mismatch(match, reference.depth, from, to, result.camera_from_reference);
    misses.emplace_back(match.source, mismatch_there);
    if (mismatch_there >= kExplainedPixels) continue;
    ++explained;
    if (found.foreseen) continue;
    depths.push_back(
        LogDepthRatio(match, reference.depth, live.AverageDepth(), from, to, result.camera_from_reference));
  }
  DescribeMisses(misses, result);
  result.explained = result.consistent == 0 ? 0 : static_cast<double>(explained) / result.consistent;
  if (depths.size() >= kLeastForSpread) result.depth_spread = Spread(depths);
  result.overlap = MeasureOverlap(reference.depth, *reference.samples->keyframe->frame->view,
                                  *live.frame->view, result.camera_from_reference);
  result.world_from_camera = reference.state.world_from_camera * result.camera_from_reference.Inverse();
  Judge(result);
  return result;
}

void Tracker::Judge(TrackResult& result) const {
  result.status = TrackStatus::kLost;
  if (!result.reason.empty()) return;
  if (result.overlap.point < options_.lost_overlap) {
    result.reason = StrCat("only ", 100 * result.overlap.point, " % of the reference is seen");
  } else if (result.consistent < options_.min_matches) {
    result.reason = StrCat("only ", result.consistent, " matches");
  } else if (result.explained < options_.lost_inlier_ratio) {
    result.reason = StrCat("the pose explains only ", 100 * result.explained, " % of the matches");
  } else if (result.explained < options_.weak_inlier_ratio) {
    result.status = TrackStatus::kWeak;
    result.reason = StrCat("the pose explains only ", 100 * result.explained, " % of the matches");
  } else {
    result.status = TrackStatus::kTracked;
  }
}

TrackResult Tracker::TrackAgainst(const LiveFrame& live, const MapSnapshot& map, KeyframeId id,
                                  const std::optional<Rigid3>& camera_from_keyframe) {
  const Reference& reference = Prepare(map, id);
  return Align(live, reference, Match(reference, live, camera_from_keyframe), camera_from_keyframe);
}

TrackResult Tracker::Track(const LiveFrame& live, const MapSnapshot& map, KeyframeId reference_id,
                           const Motion& motion) {
  const Rigid3 predicted = motion.Predict(live.frame->time);
  const KeyframeId closest = FindClosestKeyframe(map, predicted, map.keyframes.at(reference_id).submap);
  const auto match = [&](KeyframeId id) {
    const Reference& reference = Prepare(map, id);
    return Match(reference, live, predicted.Inverse() * reference.state.world_from_camera);
  };
  Matched matched = match(reference_id);
  KeyframeId chosen = reference_id;
  if (closest >= 0 && closest != reference_id) {
    Matched rival = match(closest);
    if (rival.pair.Ok() &&
        rival.pair.InlierRatio() >= options_.reference_ratio * matched.pair.InlierRatio()) {
      matched = std::move(rival);
      chosen = closest;
    }
  }
  const Reference& reference = Prepare(map, chosen);
  TrackResult result =
      Align(live, reference, matched, predicted.Inverse() * reference.state.world_from_camera);
  if (result.Placed() && motion.last) {
    const double step = (result.world_from_camera.Translation() - motion.last->pose.Translation()).norm();
    const double intervals =
        std::clamp((live.frame->time - motion.last->time) / kNominalInterval, 1.0, kStepsPredicted);
    if (step > intervals * options_.max_step * MeanDepth(map.keyframes.at(chosen))) {
      result.status = TrackStatus::kLost;
      result.reason = "a jump further than a camera moves between two frames";
    }
  }
  return result;
}

}  // namespace lumen
