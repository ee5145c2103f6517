// Whether stated uncertainties are true (docs/evaluation.md): errors against the standard deviations they
// were said to have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lumen/base/json.h"
#include "lumen/eval/trajectory_error.h"

namespace lumen {

struct CalibrationScore {
  int64_t count = 0;
  std::array<double, 3> within{};  // share of errors within 1, 2, 3 sigma: 0.683, 0.954, 0.997 if Gaussian
  std::array<double, 9> curve{};   // share within what should hold 10, 20, … 90 % of them
  double nll = 0;                  // mean of ½ z² + log sigma: lower is better, for the same errors
  double constant_nll = 0;         // the same for the one sigma that fits these errors best
  double mean_square = 0;          // of the errors

  Json ToJson() const;
};

// Errors collected one by one, each with its sigma.
class Calibration {
 public:
  void Add(double error, double sigma);  // sigma > 0; others are left out and counted
  int64_t Unsure() const { return unsure_; }
  bool Empty() const { return errors_.empty(); }
  CalibrationScore Score() const;  // of at least one

 private:
  std::vector<double> errors_, sigmas_;
  int64_t unsure_ = 0;
};

// Six errors of an aligned pose, in its own frame: along its axes in the truth's unit, about them in degrees.
Eigen::Matrix<double, 6, 1> ErrorsInOwnFrame(const PoseError& pose);
// Six errors of one aligned pose as it is seen from another: along the axes of the first, about those of the
// second.
Eigen::Matrix<double, 6, 1> ErrorsOfStep(const PoseError& from, const PoseError& to);

}  // namespace lumen
