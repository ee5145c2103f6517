#include "lumen/eval/grades.h"

#include <gtest/gtest.h>

#include "lumen/eval/eval_test_data.h"

namespace lumen {
namespace {

TEST(Grades, TheNamesOfTheMetricsAreThePublishedOnes) {
  const Trajectory truth = MakeWindingPath(50);
  Grades grades;
  AddTrajectoryGrades(ComputeTrajectoryErrors(Disturbed(truth, 0.1, 0.01, 1), truth), grades);
  DepthGrade depth;
  depth.by_frame.Add({0.1, {0.5, 0.6, 0.7}, 100});
  depth.by_trajectory.Add({0.2, {0.4, 0.5, 0.6}, 100});
  depth.at_folds.Add({0.3, {0.3, 0.4, 0.5}, 100});
  depth.frame_scales = {1, 2};
  AddDepthGrades(depth, grades);
  const Json json = grades.ToJson();
  for (const char* key : {"ate_trans", "ate_rot_deg", "rpe_trans", "rpe_rot_deg", "ard_traj", "ard_frame",
                          "ard_folds", "threshold_1.25_traj", "threshold_1.25_frame", "threshold_1.5625_traj",
                          "threshold_1.5625_frame", "threshold_1.953125_traj", "threshold_1.953125_frame",
                          "depth_scale_spread", "path_length", "scale", "units"})
    EXPECT_NE(json.Find(key), nullptr) << key;
  EXPECT_TRUE(json.At("absent").AsObject().empty());
  EXPECT_DOUBLE_EQ(json.At("threshold_1.5625_frame").AsDouble(), 0.6);
}

TEST(Grades, WhatIsAbsentHasAReasonAndNoValue) {
  Grades grades;
  AddTrajectoryGrades(ComputeTrajectoryErrors({}, MakeWindingPath(5)), grades);
  DepthGrade depth;
  depth.reason = "the truth has no depth";
  AddDepthGrades(depth, grades);
  const Json json = grades.ToJson();
  EXPECT_EQ(json.Find("ate_trans"), nullptr);
  EXPECT_EQ(json.Find("ard_frame"), nullptr);
  EXPECT_EQ(json.At("absent").At("ard_frame").AsString(), "the truth has no depth");
  EXPECT_NE(json.At("absent").At("ate_trans").AsString().find("5 ms"), std::string::npos);
  EXPECT_FALSE(grades.Get("ate_trans"));
}

TEST(Grades, TheScalesSpreadIsThatOfTheirLogarithms) {
  const auto spread = [](std::vector<double> scales) {
    DepthGrade depth;
    depth.frame_scales = std::move(scales);
    depth.reason = depth.frame_scales.empty() ? "none" : "";
    depth.traj_reason = "none";
    for (size_t i = 0; i < depth.frame_scales.size(); ++i) depth.by_frame.Add({});
    Grades grades;
    AddDepthGrades(depth, grades);
    return std::pair(grades.Get("depth_scale_spread"), grades.WhyAbsent("depth_scale_spread"));
  };
  // Logarithms −0.2, 0, 0.2 about any mean: √((0.04 + 0.04) / 2).
  EXPECT_NEAR(*spread({3 * std::exp(-0.2), 3, 3 * std::exp(0.2)}).first, 0.2, 1e-12);
  EXPECT_NEAR(*spread({0.1, 0.1, 0.1, 0.1}).first, 0, 1e-12);
  EXPECT_EQ(spread({}), std::pair(std::optional<double>(), std::string("none")));
  EXPECT_FALSE(spread({2}).first);
  EXPECT_FALSE(spread({2}).second.empty());
}

TEST(Grades, AValueThatIsNotFiniteIsAbsent) {
  Grades grades;
  grades.Set("scale", std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(grades.Get("scale"));
  EXPECT_FALSE(grades.WhyAbsent("scale").empty());
}

TEST(Grades, RoundTripThroughJson) {
  Grades grades;
  grades.units = "mm";
  grades.Set("keyframes", 12);
  grades.Set("ate_trans", 0.5);
  grades.SetAbsent("ard_traj", "because");
  const Json json = grades.ToJson();
  EXPECT_TRUE(json.At("keyframes").IsInteger());
  EXPECT_EQ(Grades::FromJson(json).ToJson(), json);
}

TEST(Grades, TitlesNameTheUnit) {
  EXPECT_EQ(MetricTitle(*FindMetric("ate_trans"), "mm"), "ATE trans (mm)");
  EXPECT_EQ(MetricTitle(*FindMetric("ate_rot_deg"), "mm"), "ATE rot (°)");
  EXPECT_EQ(MetricTitle(*FindMetric("ard_frame"), "mm"), "ARD frame");
  EXPECT_EQ(FindMetric("nothing"), nullptr);
}

}  // namespace
}  // namespace lumen
