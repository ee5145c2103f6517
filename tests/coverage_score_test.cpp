#include <gtest/gtest.h>

#include "lumen/apps/coverage_grading.h"

namespace lumen {
namespace {

CoverageScore Score() {
  CoverageScore score;
  score.stretches = {{0.5, 0.6, 0.1}, {0.9, 0.85, 0.02}, {0.2, 0.2, 0.01}};
  score.truth = 0.5;
  score.said = 0.6;
  score.missed = 10;
  score.missed_found = 8;
  score.missed_said = 12;
  score.spots = 3;
  score.spots_found = 2;
  score.spots_said = 5;
  score.spots_right = 4;
  return score;
}

TEST(CoverageScore, ErrorsOfStretchesAreAveragedAndHeldAgainstWhatTheyWereSaidToBe) {
  EXPECT_NEAR(Score().MeanError(), 0.05, 1e-9);
  EXPECT_NEAR(Score().WithinSigmas(1.001), 2.0 / 3, 1e-9);
  EXPECT_NEAR(Score().WithinSigmas(3), 1, 1e-9);
  EXPECT_EQ(CoverageScore().MeanError(), 0);
}

TEST(CoverageScore, SubjectsArePooled) {
  CoverageScore sum = Score();
  sum.Add(Score());
  EXPECT_EQ(sum.stretches.size(), 6U);
  EXPECT_NEAR(sum.MeanError(), Score().MeanError(), 1e-12);
  EXPECT_EQ(sum.spots_found, 4);
  EXPECT_EQ(sum.spots_right, 8);
  EXPECT_EQ(sum.missed_said, 24);
}

TEST(CoverageScore, ComesBackFromItsJson) {
  const Json json = Score().ToJson();
  EXPECT_EQ(CoverageScore::FromJson(Json::Parse(json.Dump())).ToJson().Dump(), json.Dump());
}

}  // namespace
}  // namespace lumen
