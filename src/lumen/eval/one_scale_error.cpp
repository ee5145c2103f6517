#include "lumen/eval/one_scale_error.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/eval/depth_error.h"

namespace lumen {

namespace {

// Of an even number, the mean of the two in the middle.
double MedianOf(std::vector<double> values) {
  LUMEN_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Rigid3 WithScale(const Rigid3& pose, double scale) { return {pose.Rotation(), scale * pose.Translation()}; }

// From each pose to the next.
std::vector<Rigid3> StepsOf(const std::vector<Rigid3>& poses) {
  std::vector<Rigid3> steps;
  for (size_t i = 0; i + 1 < poses.size(); ++i) steps.push_back(poses[i].Inverse() * poses[i + 1]);
  return steps;
}

// Calls back with each pair of numbers that are both known.
template <typename Callback>
int64_t ForKnown(ImageView<const float> estimate, ImageView<const float> truth, const Callback& callback) {
  LUMEN_CHECK(estimate.Width() == truth.Width() && estimate.Height() == truth.Height());
  int64_t known = 0;
  for (int y = 0; y < truth.Height(); ++y) {
    for (int x = 0; x < truth.Width(); ++x) {
      const double a = estimate(x, y), b = truth(x, y);
      if (!(a > 0 && b > 0 && std::isfinite(a) && std::isfinite(b))) continue;
      callback(a, b);
      ++known;
    }
  }
  return known;
}

}  // namespace

std::optional<ChainedErrors> ComputeChainedErrors(const Trajectory& estimate, const Trajectory& truth,
                                                  double max_time_gap) {
  std::vector<Rigid3> poses, true_poses;
  for (const PosePair& pair : AssociateByTime(estimate, truth, max_time_gap)) {
    poses.push_back(estimate[pair.estimate].world_from_camera);
    true_poses.push_back(truth[pair.truth].world_from_camera);
  }
  if (poses.size() < 2) return std::nullopt;
  const std::vector<Rigid3> steps = StepsOf(poses), true_steps = StepsOf(true_poses);
  double product = 0, square = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    product += steps[i].Translation().dot(true_steps[i].Translation());
    square += steps[i].Translation().squaredNorm();
  }
  if (!(square > 0)) return std::nullopt;

  ChainedErrors errors{.steps = steps.size(), .scale = product / square};
  std::vector<double> positions{0}, translations, rotations;
  Rigid3 chained = true_poses.front();
  for (size_t i = 0; i < steps.size(); ++i) {
    const Rigid3 step = WithScale(steps[i], errors.scale);
    const Rigid3 error = true_steps[i].Inverse() * step;
    translations.push_back(error.Translation().norm());
    rotations.push_back(Eigen::AngleAxisd(error.Rotation()).angle() * 180 / M_PI);
    chained = chained * step;
    positions.push_back((chained.Translation() - true_poses[i + 1].Translation()).norm());
  }
  errors.position = MedianOf(positions);
  errors.step_translation = MedianOf(translations);
  errors.step_rotation_degrees = MedianOf(rotations);
  return errors;
}

std::optional<DepthMeans> MeanDepths(ImageView<const float> estimate, ImageView<const float> truth) {
  DepthMeans means;
  const int64_t known = ForKnown(estimate, truth, [&](double a, double b) {
    means.estimate += a;
    means.truth += b;
  });
  if (known < kLeastValidPixels) return std::nullopt;
  means.estimate /= static_cast<double>(known);
  means.truth /= static_cast<double>(known);
  return means;
}

double FitDepthScale(const std::vector<DepthMeans>& maps) {
  LUMEN_CHECK(!maps.empty());
  double product = 0, square = 0;
  for (const DepthMeans& map : maps) {
    product += map.estimate * map.truth;
    square += map.estimate * map.estimate;
  }
  return product / square;
}

std::optional<DepthErrors> ComputeDepthErrors(ImageView<const float> estimate, ImageView<const float> truth,
                                              double scale) {
  double sum = 0, square = 0;
  std::vector<double> relative;
  const int64_t known = ForKnown(estimate, truth, [&](double a, double b) {
    const double error = std::abs(scale * a - b);
    sum += error;
    square += error * error;
    relative.push_back(error / b);
  });
  if (known < kLeastValidPixels) return std::nullopt;
  return DepthErrors{sum / static_cast<double>(known), MedianOf(relative),
                     std::sqrt(square / static_cast<double>(known))};
}

}  // namespace lumen
