#include "lumen/geometry/registration.h"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lumen/base/error.h"
#include "lumen/geometry/alignment.h"
#include "lumen/geometry/clique.h"
#include "lumen/geometry/voting.h"

namespace lumen {

namespace {

using Points = std::vector<Eigen::Vector3d>;

// A pair of correspondences: its difference vectors do not depend on the translation.
struct PairMeasurement {
  int first = 0, second = 0;
  Eigen::Vector3d a, b;
  double bound = 0;
};

// Visits pairs (i, i + stride) around the ring for a few strides spread over the set, so that a pair's points
// are not neighbours in whatever order the correspondences came.
template <typename Visit>
void ForEachPair(int n, int strides, const Visit& visit) {
  const int count = std::clamp(strides, 1, (n - 1) / 2 + (n == 2 ? 1 : 0));
  for (int k = 1; k <= count; ++k) {
    // Distinct as k runs from 1 to count, between 1 and n/2.
    const int stride = std::max(k, static_cast<int>(static_cast<int64_t>(k) * (n / 2) / (count + 1)));
    for (int i = 0; i < n; ++i) visit(i, i + stride < n ? i + stride : i + stride - n);
  }
}

std::vector<PairMeasurement> MakePairs(const Points& a, const Points& b, const std::vector<double>& bounds,
                                       int strides) {
  std::vector<PairMeasurement> pairs;
  ForEachPair(static_cast<int>(a.size()), strides, [&](int i, int j) {
    pairs.push_back({i, j, a[j] - a[i], b[j] - b[i], bounds[i] + bounds[j]});
  });
  return pairs;
}

double EstimateScale(const Points& a, const Points& b, const std::vector<double>& bounds, int strides) {
  std::vector<double> ratios;
  std::vector<double> ratio_bounds;
  ForEachPair(static_cast<int>(a.size()), strides, [&](int i, int j) {
    const double length = (a[j] - a[i]).norm();
    if (length < 1e-12) return;
    ratios.push_back((b[j] - b[i]).norm() / length);
    ratio_bounds.push_back((bounds[i] + bounds[j]) / length);
  });
  return ratios.empty() ? 0.0 : EstimateByVoting(ratios, ratio_bounds).value;
}

void KeepPairsOfScale(double scale, std::vector<PairMeasurement>& pairs) {
  std::erase_if(pairs, [&](const PairMeasurement& pair) {
    return std::abs(pair.b.norm() - scale * pair.a.norm()) > pair.bound;
  });
}

// Weighted rotation between directions (Kabsch).
Eigen::Matrix3d FitRotation(const std::vector<PairMeasurement>& pairs, const std::vector<double>& weights) {
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  for (size_t i = 0; i < pairs.size(); ++i) {
    covariance += weights[i] / (pairs[i].bound * pairs[i].bound) * pairs[i].b * pairs[i].a.transpose();
  }
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(covariance, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Vector3d signs(1, 1, svd.matrixU().determinant() * svd.matrixV().determinant());
  return svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose();
}

// Graduated non-convexity with the truncated least-squares surrogate: start from the convex problem
// (small mu), sharpen towards truncation, reweighting in closed form.
Eigen::Matrix3d EstimateRotation(const std::vector<PairMeasurement>& pairs, double scale,
                                 const RegistrationOptions& options) {
  std::vector<double> weights(pairs.size(), 1.0);
  std::vector<double> residuals(pairs.size());
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  double mu = 0;
  double factor = options.gnc_factor;
  double previous_cost = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < options.rotation_iterations; ++iteration) {
    rotation = FitRotation(pairs, weights);
    double largest = 0;
    double cost = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      residuals[i] =
          (pairs[i].b - scale * (rotation * pairs[i].a)).squaredNorm() / (pairs[i].bound * pairs[i].bound);
      largest = std::max(largest, residuals[i]);
      cost += weights[i] * residuals[i];
    }
    if (iteration == 0) {
      if (largest <= 1.0) break;  // all agree already
      mu = 1.0 / (2.0 * largest - 1.0);
      // The given factor where it is enough; a larger one where mu would not get past 1 in time.
      factor = std::max(factor, std::pow(100.0 / mu, 1.0 / options.rotation_iterations));
    }
    for (size_t i = 0; i < pairs.size(); ++i) {
      const double upper = (mu + 1) / mu;
      const double lower = mu / (mu + 1);
      if (residuals[i] >= upper)
        weights[i] = 0;
      else if (residuals[i] <= lower)
        weights[i] = 1;
      else
        weights[i] = std::sqrt(mu * (mu + 1) / residuals[i]) - mu;
    }
    if (mu > 1 && std::abs(cost - previous_cost) < options.gnc_cost_tolerance * previous_cost) break;
    previous_cost = cost;
    mu *= factor;
  }
  return rotation;
}

Eigen::Vector3d EstimateTranslation(const Points& offsets, const std::vector<double>& bounds) {
  Eigen::Vector3d translation;
  std::vector<double> values(offsets.size());
  for (int axis = 0; axis < 3; ++axis) {
    std::transform(offsets.begin(), offsets.end(), values.begin(),
                   [axis](const auto& offset) { return offset[axis]; });
    translation[axis] = EstimateByVoting(values, bounds).value;
  }
  return translation;
}

std::vector<int> FindInliers(const Points& a, const Points& b, const std::vector<double>& bounds,
                             const Sim3& b_from_a) {
  std::vector<int> inliers;
  for (size_t i = 0; i < a.size(); ++i) {
    if ((b[i] - b_from_a * a[i]).norm() <= bounds[i]) inliers.push_back(static_cast<int>(i));
  }
  return inliers;
}

// Points whose pairs agree with the scale, as a graph; a large clique of it.
std::vector<int> SelectConsistent(const Points& a, const Points& b, const std::vector<double>& bounds,
                                  double scale) {
  const int n = static_cast<int>(a.size());
  ConsistencyGraph graph(n);
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      const double difference = (b[j] - b[i]).norm() - scale * (a[j] - a[i]).norm();
      if (std::abs(difference) <= bounds[i] + bounds[j]) graph.Connect(i, j);
    }
  }
  return FindLargeClique(graph);
}

template <typename T>
std::vector<T> Subset(const std::vector<T>& items, const std::vector<int>& indices) {
  std::vector<T> subset;
  for (const int index : indices) subset.push_back(items[index]);
  return subset;
}

// Least squares over the inliers, each in units of its own bound, as long as that gains inliers.
void RefineOverInliers(const Points& a, const Points& b, const std::vector<double>& bounds,
                       const RegistrationOptions& options, RegistrationResult& result) {
  for (int round = 0; round < 3; ++round) {
    std::vector<double> weights;
    for (const int i : result.inliers) weights.push_back(1.0 / (bounds[i] * bounds[i]));
    const auto refined = EstimateAlignment(Subset(a, result.inliers), Subset(b, result.inliers),
                                           {.estimate_scale = options.estimate_scale}, weights);
    if (!refined) return;
    std::vector<int> inliers = FindInliers(a, b, bounds, *refined);
    if (inliers.size() < result.inliers.size()) return;
    const bool settled = inliers == result.inliers;
    result.b_from_a = *refined;
    result.inliers = std::move(inliers);
    if (settled) return;
  }
}

}  // namespace

void RegistrationOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("estimate_scale", estimate_scale, {.help = "similarity instead of rigid"});
  visitor.Field("scale_strides", scale_strides,
                {.min = 1, .max = 10000, .help = "pairs per point in the scale's vote"});
  visitor.Field("rotation_strides", rotation_strides,
                {.min = 1, .max = 10000, .help = "pairs per point for the rotation; 1 is a chain"});
  visitor.Field("rotation_iterations", rotation_iterations,
                {.min = 1, .max = 1000, .help = "of graduated non-convexity"});
  visitor.Field("gnc_factor", gnc_factor, {.min = 1.01, .max = 100, .help = "how fast the loss sharpens"});
  visitor.Field("gnc_cost_tolerance", gnc_cost_tolerance,
                {.min = 0, .max = 1, .help = "relative change that ends it"});
  visitor.Field("min_inliers", min_inliers, {.min = 3, .max = 10000, .help = "fewer is a failure"});
}

RegistrationOptions RegistrationOptions::ForManyOutliers() {
  RegistrationOptions options;
  options.scale_strides = 128;
  options.rotation_strides = 4;
  options.rotation_iterations = 40;
  options.selection = InlierSelection::kClique;
  return options;
}

std::string ToString(RegistrationStatus status) {
  switch (status) {
    case RegistrationStatus::kOk:
      return "ok";
    case RegistrationStatus::kTooFewPoints:
      return "too few points";
    case RegistrationStatus::kDegenerate:
      return "degenerate points";
    case RegistrationStatus::kTooFewInliers:
      return "too few inliers";
  }
  return "";
}

RegistrationResult EstimateRegistration(const Points& a, const Points& b,
                                        const std::vector<double>& noise_bounds,
                                        const RegistrationOptions& options) {
  LUMEN_CHECK(a.size() == b.size() && a.size() == noise_bounds.size());
  RegistrationResult result;
  if (a.size() < 3) return result;
  result.status = RegistrationStatus::kDegenerate;

  double scale = 1;
  if (options.estimate_scale) {
    scale = EstimateScale(a, b, noise_bounds, options.scale_strides);
    if (!(scale > 0) || !std::isfinite(scale)) return result;
  }
  std::vector<int> selected(a.size());
  std::iota(selected.begin(), selected.end(), 0);
  if (options.selection == InlierSelection::kClique) selected = SelectConsistent(a, b, noise_bounds, scale);
  if (selected.size() < 3) return result;

  const Points chosen_a = Subset(a, selected);
  const Points chosen_b = Subset(b, selected);
  const std::vector<double> chosen_bounds = Subset(noise_bounds, selected);
  std::vector<PairMeasurement> pairs = MakePairs(chosen_a, chosen_b, chosen_bounds, options.rotation_strides);
  KeepPairsOfScale(scale, pairs);
  if (pairs.size() < 2) {  // no two points agree on the scale
    result.status = RegistrationStatus::kTooFewInliers;
    return result;
  }
  const Eigen::Quaterniond rotation(EstimateRotation(pairs, scale, options));

  Points offsets;
  for (size_t i = 0; i < chosen_a.size(); ++i)
    offsets.push_back(chosen_b[i] - scale * (rotation * chosen_a[i]));
  result.b_from_a = Sim3(scale, rotation, EstimateTranslation(offsets, chosen_bounds));
  result.inliers = FindInliers(a, b, noise_bounds, result.b_from_a);
  RefineOverInliers(a, b, noise_bounds, options, result);
  const bool enough = static_cast<int>(result.inliers.size()) >= options.min_inliers;
  result.status = enough ? RegistrationStatus::kOk : RegistrationStatus::kTooFewInliers;
  return result;
}

}  // namespace lumen
