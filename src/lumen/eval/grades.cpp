#include "lumen/eval/grades.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/eval/statistics.h"

namespace lumen {

namespace {

std::string ThresholdKey(size_t index, const char* scaling) {
  return StrCat("threshold_", FormatDouble(kDepthThresholds.at(index)), "_", scaling);
}

void AddScores(const DepthMean& mean, const char* scaling, const std::string& reason, Grades& grades) {
  if (mean.Maps() == 0) {
    grades.SetAbsent(StrCat("ard_", scaling), reason);
    for (size_t k = 0; k < kDepthThresholds.size(); ++k) grades.SetAbsent(ThresholdKey(k, scaling), reason);
    return;
  }
  const DepthScores scores = mean.Mean();
  grades.Set(StrCat("ard_", scaling), scores.ard);
  for (size_t k = 0; k < kDepthThresholds.size(); ++k) grades.Set(ThresholdKey(k, scaling), scores.within[k]);
}

// How far the maps' scale wanders along the path: the standard deviation of its logarithm.
void AddScaleSpread(const DepthGrade& depth, Grades& grades) {
  if (depth.frame_scales.size() < 2) {
    grades.SetAbsent("depth_scale_spread",
                     depth.reason.empty() ? "fewer than two depth maps were graded" : depth.reason);
    return;
  }
  std::vector<double> logs;
  for (const double scale : depth.frame_scales) logs.push_back(std::log(scale));
  grades.Set("depth_scale_spread", StandardDeviation(logs));
}

bool IsCount(const std::string& key) {
  const MetricInfo* metric = FindMetric(key);
  return metric != nullptr && std::string(metric->unit) == "count";
}

}  // namespace

const std::vector<MetricInfo>& AllMetrics() {
  static const std::vector<MetricInfo> metrics = {
      {"ate_trans", "ATE trans", "length", false, 2},
      {"ate_rot_deg", "ATE rot", "°", false, 1},
      {"rpe_trans", "RPE trans", "length", false, 2},
      {"rpe_rot_deg", "RPE rot", "°", false, 1},
      {"ard_traj", "ARD traj", "", false, 3},
      {"ard_frame", "ARD frame", "", false, 3},
      {"ard_folds", "ARD at folds", "", false, 3},
      {"threshold_1.25_traj", "Threshold traj, θ = 1.25", "", true, 3},
      {"threshold_1.25_frame", "Threshold frame, θ = 1.25", "", true, 3},
      {"threshold_1.5625_traj", "Threshold traj, θ = 1.25²", "", true, 3},
      {"threshold_1.5625_frame", "Threshold frame, θ = 1.25²", "", true, 3},
      {"threshold_1.953125_traj", "Threshold traj, θ = 1.25³", "", true, 3},
      {"threshold_1.953125_frame", "Threshold frame, θ = 1.25³", "", true, 3},
      {"surface_mean", "surface, mean", "length", false, 2},
      {"surface_median", "surface, median", "length", false, 2},
      {"surface_area", "surface, area", "length²", true, 0},
      {"surface_better_half", "surface, surer half", "length", false, 2},
      {"surface_worse_half", "surface, less sure half", "length", false, 2},
      {"chained_ate", "ATE, chained", "length", false, 2},
      {"chained_rte", "RTE, chained", "length", false, 3},
      {"chained_rot_deg", "ROT, chained", "°", false, 2},
      {"depth_l1", "depth L1, one scale", "length", false, 2},
      {"depth_relative_percent", "depth relative, one scale", "%", false, 1},
      {"depth_rmse", "depth RMSE, one scale", "length", false, 2},
      {"own_rot_deg", "own rot", "°", false, 1},
      {"ate_percent", "ATE of path", "%", false, 2},
      {"drift_percent", "drift", "%", false, 1},
      {"depth_scale_spread", "depth scale spread", "", false, 3},
      {"placed_percent", "frames placed", "%", true, 1},
      {"frames_total", "frames", "count", true, 0},
      {"frames_placed", "frames placed", "count", true, 0},
      {"keyframes", "keyframes", "count", true, 0},
      {"associated", "poses graded", "count", true, 0},
      {"depth_maps", "depth maps graded", "count", true, 0},
      {"depth_maps_skipped", "depth maps skipped", "count", false, 0},
      {"loops_local", "local loops", "count", true, 0},
      {"loops_global", "global loops", "count", true, 0},
      {"loops_false", "false global loops", "count", false, 0},
      {"loops_removed", "loops taken back", "count", true, 0},
      {"path_length", "path", "length", true, 1},
      {"rpe_step_seconds", "RPE step", "s", true, 2},
      {"scale", "scale", "", true, 4},
  };
  return metrics;
}

const MetricInfo* FindMetric(const std::string& key) {
  for (const MetricInfo& metric : AllMetrics())
    if (key == metric.key) return &metric;
  return nullptr;
}

std::string MetricTitle(const MetricInfo& metric, const std::string& units) {
  const std::string unit = metric.unit;
  if (unit.empty() || unit == "count") return metric.label;
  const std::string length = units == "arbitrary" ? "arb. units" : units;
  if (unit == "length") return StrCat(metric.label, " (", length, ")");
  if (unit == "length²") return StrCat(metric.label, " (", length, "²)");
  return StrCat(metric.label, " (", unit, ")");
}

void Grades::Set(const std::string& key, double value) {
  if (!std::isfinite(value)) {
    SetAbsent(key, "the value is not finite");
    return;
  }
  values_[key] = value;
  absent_.erase(key);
}

void Grades::SetAbsent(const std::string& key, const std::string& reason) {
  LUMEN_CHECK(!reason.empty(), key, " is absent without a reason");
  values_.erase(key);
  absent_[key] = reason;
}

std::optional<double> Grades::Get(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::string Grades::WhyAbsent(const std::string& key) const {
  const auto found = absent_.find(key);
  return found == absent_.end() ? "" : found->second;
}

Json Grades::ToJson() const {
  Json json = Json::MakeObject();
  const auto put = [&](const std::string& key, double value) {
    json[key] = IsCount(key) ? Json(static_cast<int64_t>(std::llround(value))) : Json(value);
  };
  for (const MetricInfo& metric : AllMetrics())
    if (const auto value = Get(metric.key)) put(metric.key, *value);
  for (const auto& [key, value] : values_)
    if (FindMetric(key) == nullptr) put(key, value);
  json["units"] = units;
  json["absent"] = Json::MakeObject();
  for (const auto& [key, reason] : absent_) json["absent"][key] = reason;
  return json;
}

Grades Grades::FromJson(const Json& json) {
  Grades grades;
  for (const auto& [key, value] : json.AsObject()) {
    if (key == "units")
      grades.units = value.AsString();
    else if (key != "absent" && value.IsNumber())
      grades.Set(key, value.AsDouble());
  }
  if (const Json* absent = json.Find("absent"))
    for (const auto& [key, reason] : absent->AsObject()) grades.SetAbsent(key, reason.AsString());
  return grades;
}

void AddTrajectoryGrades(const TrajectoryErrors& errors, Grades& grades) {
  grades.Set("associated", static_cast<double>(errors.associated));
  if (errors.status != TrajectoryStatus::kGood) {
    for (const char* key : {"ate_trans", "ate_rot_deg", "rpe_trans", "rpe_rot_deg", "own_rot_deg",
                            "ate_percent", "drift_percent", "path_length", "scale"})
      grades.SetAbsent(key, errors.reason);
    return;
  }
  grades.Set("ate_trans", errors.ate_translation);
  grades.Set("ate_rot_deg", errors.ate_rotation_degrees);
  grades.Set("own_rot_deg", errors.own_rotation_degrees);
  grades.Set("path_length", errors.path_length);
  grades.Set("ate_percent", 100 * errors.ate_translation / errors.path_length);
  grades.Set("scale", errors.truth_from_estimate.Scale());
  if (!errors.relative) {
    for (const char* key : {"rpe_trans", "rpe_rot_deg", "drift_percent"})
      grades.SetAbsent(key, errors.relative_reason);
    return;
  }
  grades.Set("rpe_trans", errors.relative->translation);
  grades.Set("rpe_rot_deg", errors.relative->rotation_degrees);
  grades.Set("drift_percent", errors.relative->drift_percent);
  grades.Set("rpe_step_seconds", errors.relative->mean_seconds);
}

void AddDepthGrades(const DepthGrade& depth, Grades& grades) {
  AddScores(depth.by_trajectory, "traj", depth.reason.empty() ? depth.traj_reason : depth.reason, grades);
  AddScores(depth.by_frame, "frame", depth.reason, grades);
  if (depth.at_folds.Maps() > 0) {
    grades.Set("ard_folds", depth.at_folds.Mean().ard);
  } else {
    grades.SetAbsent("ard_folds", depth.reason.empty() ? "the truth shows no edge" : depth.reason);
  }
  AddScaleSpread(depth, grades);
  grades.Set("depth_maps", static_cast<double>(depth.by_frame.Maps()));
  if (depth.skipped > 0) grades.Set("depth_maps_skipped", static_cast<double>(depth.skipped));
}

}  // namespace lumen
