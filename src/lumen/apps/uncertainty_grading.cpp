#include "lumen/apps/uncertainty_grading.h"

#include <algorithm>
#include <cmath>

#include "lumen/apps/surface_grading.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/statistics.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/pose_uncertainty.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

using Scores = std::map<std::string, CalibrationScore>;
constexpr std::array<const char*, 6> kComponents = {"position_x", "position_y", "position_z",
                                                    "turn_x",     "turn_y",     "turn_z"};
constexpr const char* kStepPrefix = "step_";

const PoseError* FindPose(const std::vector<PoseError>& poses, double time) {
  constexpr double kSameTime = 0.005;
  const auto found = std::lower_bound(poses.begin(), poses.end(), time - kSameTime,
                                      [](const PoseError& pose, double t) { return pose.time < t; });
  return found != poses.end() && found->time <= time + kSameTime ? &*found : nullptr;
}

// A component's errors are collected under its name.
class Components {
 public:
  Components(std::string prefix, double scale) : prefix_(std::move(prefix)), scale_(scale) {}

  void Add(const Vector6d& errors, const PoseSigma& sigma) {
    Vector6d sigmas;
    sigmas << scale_ * sigma.position, sigma.turn_degrees;
    for (int i = 0; i < 6; ++i) components_[static_cast<size_t>(i)].Add(errors[i], sigmas[i]);
  }
  void Report(Scores& scores) const {
    for (size_t i = 0; i < kComponents.size(); ++i)
      if (!components_[i].Empty()) scores[prefix_ + kComponents[i]] = components_[i].Score();
  }

 private:
  std::string prefix_;
  double scale_;  // from the run's unit to the truth's
  std::array<Calibration, 6> components_;
};

void GradePoses(const std::vector<PoseSigma>& keyframes, const TrajectoryErrors& errors, Scores& scores) {
  Components components("", errors.truth_from_estimate.Scale());
  for (const PoseSigma& sigma : keyframes) {
    if (const PoseError* pose = FindPose(errors.poses, sigma.time))
      components.Add(ErrorsInOwnFrame(*pose), sigma);
  }
  components.Report(scores);
}

void GradeSteps(const std::vector<StepSigma>& steps, const TrajectoryErrors& errors, Scores& scores) {
  Components components(kStepPrefix, errors.truth_from_estimate.Scale());
  for (const StepSigma& step : steps) {
    const PoseError* from = FindPose(errors.poses, step.from);
    const PoseError* to = FindPose(errors.poses, step.sigma.time);
    if (from != nullptr && to != nullptr) components.Add(ErrorsOfStep(*from, *to), step.sigma);
  }
  components.Report(scores);
}

// A map's own scale against the path's.
void GradeScale(const std::vector<PoseSigma>& keyframes, const Estimate& estimate,
                const TrajectoryErrors& errors, const std::vector<DepthMapGrade>& maps, Scores& scores) {
  std::map<double, int64_t> frame_at;
  for (const RunFrameEvent& event : estimate.events) frame_at[event.time] = event.frame;
  std::map<int64_t, double> sigma_of;
  for (const PoseSigma& sigma : keyframes) {
    const auto frame = frame_at.lower_bound(sigma.time - kRoundedTime);
    if (frame != frame_at.end() && frame->first <= sigma.time + kRoundedTime)
      sigma_of[frame->second] = sigma.scale;
  }
  Calibration calibration;
  for (const DepthMapGrade& map : maps) {
    const auto sigma = sigma_of.find(map.frame);
    if (sigma != sigma_of.end())
      calibration.Add(std::log(map.frame_scale / errors.truth_from_estimate.Scale()), sigma->second);
  }
  if (!calibration.Empty()) scores["scale"] = calibration.Score();
}

struct Off {
  double error, sigma;
};

// Some of a map's pixels, and those places of it that the truth knows.
std::vector<Off> CompareMap(const RunDepthFile& file, const Estimate& estimate, const Truth& truth,
                            double scale) {
  constexpr int kStride = 7;
  std::vector<Off> found;
  const Image<float> sigma = LoadRunSigma(estimate.folder, file.frame);
  const DepthImage map = LoadScaledDepth(file.path, *estimate.depth_scale);
  if (!SameSize(sigma, map)) return found;
  const auto compare = [&](int x, int y, double expected) {
    if (map(x, y) > 0 && expected > 0)
      found.push_back(
          {std::log(scale * static_cast<double>(map(x, y)) / expected), static_cast<double>(sigma(x, y))});
  };
  if (const std::optional<DepthImage> true_map = truth.source->LoadDepth(file.frame)) {
    const SamplerChoice choice = MakeTruthSampler(estimate, truth, map, *true_map);
    if (!choice.sampler) return found;
    const DepthImage expected = choice.sampler->Sample(*true_map);
    for (int y = kStride / 2; y < map.Height(); y += kStride)
      for (int x = kStride / 2; x < map.Width(); x += kStride)
        compare(x, y, static_cast<double>(expected(x, y)));
  } else if (const auto points = truth.sparse.find(file.frame);
             points != truth.sparse.end() && truth.source->Info().camera) {
    const Camera& camera = *truth.source->Info().camera;
    const Camera map_camera = estimate.depth_camera.value_or(camera).Resized(map.Width(), map.Height());
    for (const PointOnMap& point : PlacePoints(map, points->second, map_camera, camera))
      compare(point.x, point.y, point.depth);
  }
  return found;
}

void GradeDepthSigma(const Estimate& estimate, const Truth& truth, double scale, int threads,
                     Scores& scores) {
  if (truth.source == nullptr || !estimate.depth_scale) return;
  std::vector<std::vector<Off>> found(estimate.depth.size());
  ParallelFor(static_cast<int64_t>(found.size()), threads, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    found[k] = CompareMap(estimate.depth[k], estimate, truth, scale);
  });
  Calibration calibration;
  for (const std::vector<Off>& map : found)
    for (const Off& off : map) calibration.Add(off.error, off.sigma);
  if (!calibration.Empty()) scores["depth"] = calibration.Score();
}

const VertexAttribute* FindSigma(const TriangleMesh& mesh) {
  const auto found = std::find_if(mesh.attributes.begin(), mesh.attributes.end(),
                                  [](const VertexAttribute& one) { return one.name == kSigma; });
  return found == mesh.attributes.end() ? nullptr : &*found;
}

void GradeSurfaceSigma(const Estimate& estimate, const Truth& truth, const Sim3& truth_from_estimate,
                       int threads, Scores& scores, Grades& grades) {
  constexpr size_t kMost = 50000;
  if (estimate.surface.empty() || truth.model.empty()) return;
  const TriangleMesh surface = LoadMesh(estimate.surface);
  const VertexAttribute* sigmas = FindSigma(surface);
  if (sigmas == nullptr || surface.vertices.empty()) return;
  const size_t stride = (surface.vertices.size() + kMost - 1) / kMost;
  std::vector<Eigen::Vector3d> points;
  std::vector<double> sigma;
  for (size_t i = 0; i < surface.vertices.size(); i += stride) {
    points.push_back(surface.vertices[i].cast<double>());
    sigma.push_back(truth_from_estimate.Scale() * static_cast<double>(sigmas->values[i]));
  }
  const std::vector<double> distances =
      DistancesTo(LoadMesh(truth.model), points, truth_from_estimate, threads);
  Calibration calibration;
  const double middle = Quantile(sigma, 0.5);
  std::vector<double> better, worse;
  for (size_t i = 0; i < points.size(); ++i) {
    calibration.Add(distances[i], sigma[i]);
    (sigma[i] < middle ? better : worse).push_back(distances[i]);
  }
  if (calibration.Empty() || better.empty() || worse.empty()) return;
  scores["surface"] = calibration.Score();
  grades.Set("surface_better_half", Quantile(better, 0.5));
  grades.Set("surface_worse_half", Quantile(worse, 0.5));
}

}  // namespace

std::vector<std::string> UncertainQuantities() {
  std::vector<std::string> names;
  for (const char* prefix : {"", kStepPrefix})
    for (const char* component : kComponents) names.push_back(std::string(prefix) + component);
  names.insert(names.end(), {"scale", "depth", "surface"});
  return names;
}

Scores GradeUncertainty(const Estimate& estimate, const Truth& truth, const TrajectoryErrors& errors,
                        const std::vector<DepthMapGrade>& maps, int threads, Grades& grades) {
  Scores scores;
  if (estimate.folder.empty() || errors.status != TrajectoryStatus::kGood) return scores;
  const fs::path poses = estimate.folder / run_file::kKeyframesUncertainty;
  if (fs::is_regular_file(poses)) {
    const std::vector<PoseSigma> keyframes = LoadPoseSigmas(poses);
    GradePoses(keyframes, errors, scores);
    GradeScale(keyframes, estimate, errors, maps, scores);
  }
  const fs::path steps = estimate.folder / run_file::kStepsUncertainty;
  if (fs::is_regular_file(steps)) GradeSteps(LoadStepSigmas(steps), errors, scores);
  GradeDepthSigma(estimate, truth, errors.truth_from_estimate.Scale(), threads, scores);
  GradeSurfaceSigma(estimate, truth, errors.truth_from_estimate, threads, scores, grades);
  return scores;
}

}  // namespace lumen
