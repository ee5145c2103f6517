#include "lumen/eval/calibration.h"

#include <cmath>
#include <numbers>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr double kDegreesPerRadian = 180 / std::numbers::pi;

// |z| within which a Gaussian's tenths lie: 10, 20, … 90 %.
constexpr std::array<double, 9> kTenths = {0.125661, 0.253347, 0.385320, 0.524401, 0.674490,
                                           0.841621, 1.036433, 1.281552, 1.644854};

Eigen::Vector3d TurnDegrees(const Eigen::Quaterniond& from, const Eigen::Quaterniond& to) {
  return kDegreesPerRadian * Rigid3(from.inverse() * to, Eigen::Vector3d::Zero()).Log().tail<3>();
}

}  // namespace

void Calibration::Add(double error, double sigma) {
  if (!(sigma > 0) || !std::isfinite(error)) {
    ++unsure_;
    return;
  }
  errors_.push_back(error);
  sigmas_.push_back(sigma);
}

CalibrationScore Calibration::Score() const {
  LUMEN_CHECK(!Empty());
  CalibrationScore score;
  score.count = static_cast<int64_t>(errors_.size());
  const double share = 1.0 / static_cast<double>(errors_.size());
  for (size_t i = 0; i < errors_.size(); ++i) {
    const double z = std::abs(errors_[i]) / sigmas_[i];
    for (size_t k = 0; k < score.within.size(); ++k)
      score.within[k] += z <= static_cast<double>(k + 1) ? share : 0;
    for (size_t k = 0; k < kTenths.size(); ++k) score.curve[k] += z <= kTenths[k] ? share : 0;
    score.nll += share * (0.5 * z * z + std::log(sigmas_[i]));
    score.mean_square += share * errors_[i] * errors_[i];
  }
  score.constant_nll = 0.5 + 0.5 * std::log(std::max(score.mean_square, 1e-300));
  return score;
}

Json CalibrationScore::ToJson() const {
  Json json = Json::MakeObject();
  json["count"] = count;
  json["within_1"] = within[0];
  json["within_2"] = within[1];
  json["within_3"] = within[2];
  json["nll"] = nll;
  json["constant_nll"] = constant_nll;
  json["mean_square"] = mean_square;
  json["curve"] = Json::MakeArray();
  for (const double value : curve) json["curve"].Append(value);
  return json;
}

Eigen::Matrix<double, 6, 1> ErrorsInOwnFrame(const PoseError& pose) {
  Eigen::Matrix<double, 6, 1> errors;
  errors << pose.estimate.Rotation().inverse() * (pose.truth.Translation() - pose.estimate.Translation()),
      TurnDegrees(pose.estimate.Rotation(), pose.truth.Rotation());
  return errors;
}

Eigen::Matrix<double, 6, 1> ErrorsOfStep(const PoseError& from, const PoseError& to) {
  const Rigid3 estimate = from.estimate.Inverse() * to.estimate, truth = from.truth.Inverse() * to.truth;
  Eigen::Matrix<double, 6, 1> errors;
  errors << truth.Translation() - estimate.Translation(), TurnDegrees(estimate.Rotation(), truth.Rotation());
  return errors;
}

}  // namespace lumen
