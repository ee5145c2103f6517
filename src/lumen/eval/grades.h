// The grades of one run by name, as JSON and tables show them. A metric that could not be computed is absent
// with the reason; it is never zero.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lumen/base/json.h"
#include "lumen/eval/depth_error.h"
#include "lumen/eval/trajectory_error.h"

namespace lumen {

struct MetricInfo {
  const char* key;    // in JSON and CSV: "ate_trans"
  const char* label;  // in tables and figures: "ATE trans"
  const char* unit;   // "length" stands for the truth's own
  bool higher_is_better;
  int decimals;
};

// In the order of the paper's tables, then ours.
const std::vector<MetricInfo>& AllMetrics();
const MetricInfo* FindMetric(const std::string& key);                         // null if there is none
std::string MetricTitle(const MetricInfo& metric, const std::string& units);  // "ATE trans (mm)"

class Grades {
 public:
  void Set(const std::string& key, double value);
  void SetAbsent(const std::string& key, const std::string& reason);
  std::optional<double> Get(const std::string& key) const;
  std::string WhyAbsent(const std::string& key) const;  // empty if it is there or was never tried
  const std::map<std::string, double>& Values() const { return values_; }
  const std::map<std::string, std::string>& Absent() const { return absent_; }
  std::string units = "arbitrary";

  // Metrics in their usual order, others by name, then "units", then "absent": {metric: reason}.
  Json ToJson() const;
  static Grades FromJson(const Json& json);

 private:
  std::map<std::string, double> values_;
  std::map<std::string, std::string> absent_;
};

// What is known of the depth maps: means in the two scalings, and how many were left out.
struct DepthGrade {
  DepthMean by_trajectory, by_frame;
  DepthMean at_folds;                // by frame, near the truth's depth edges alone
  std::vector<double> frame_scales;  // of the maps in by_frame: median of truth / estimate
  int64_t skipped = 0;               // fewer than kLeastValidPixels to compare
  std::string reason;                // why none was graded at all; empty if any was
  std::string traj_reason;           // why none was graded in the trajectory's scale
};

// Trajectory's part and depth's part of the grades, or the reasons for their absence.
void AddTrajectoryGrades(const TrajectoryErrors& errors, Grades& grades);
void AddDepthGrades(const DepthGrade& depth, Grades& grades);

}  // namespace lumen
