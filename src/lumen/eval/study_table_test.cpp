#include "lumen/eval/study_table.h"

#include <gtest/gtest.h>

#include "lumen/base/text.h"

namespace lumen {
namespace {

Grades Ate(double value) {
  Grades grades;
  grades.units = "mm";
  grades.Set("ate_trans", value);
  return grades;
}

// Student's sleep data as errors of two variants.
Study MakeStudy() {
  const std::vector<double> first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  Study study;
  study.title = "sleep";
  study.variants = {"full", "without, it"};
  for (size_t i = 0; i < first.size(); ++i) {
    study.sequences.push_back(StrCat("s", i));
    study.entries.push_back({"full", study.sequences.back(), Ate(first[i]), ""});
    study.entries.push_back({"without, it", study.sequences.back(), Ate(second[i]), ""});
  }
  study.record["version"] = "1.2.3";
  return study;
}

TEST(StudyTable, SummariesAreOfTheSequencesThatHaveTheMetric) {
  Study study = MakeStudy();
  study.entries[0].grades.SetAbsent("ate_trans", "because");
  const auto full = SummariseMetric(study, "full", "ate_trans");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->values.size(), 9U);
  EXPECT_FALSE(full->test);
  const auto without = SummariseMetric(study, "without, it", "ate_trans");
  EXPECT_EQ(without->values.size(), 10U);
  if (without->test) {
    EXPECT_EQ(without->test->degrees_of_freedom, 8);
  }
  EXPECT_FALSE(SummariseMetric(study, "full", "ard_traj"));
}

TEST(StudyTable, MarkdownShowsMeansStarsAndTheBest) {
  const std::string text = FormatMarkdown(MakeStudy());
  EXPECT_NE(text.find("| **0.75 ± 1.79** "), std::string::npos) << text;
  if (StudentTwoSided(1, 1)) {
    EXPECT_NE(text.find("| 2.33 ± 2.00∗∗ "), std::string::npos) << text;
  }
  EXPECT_NE(text.find("ATE trans (mm)"), std::string::npos);
  EXPECT_NE(text.find("version: 1.2.3"), std::string::npos);
}

TEST(StudyTable, EqualMeansAreNoBest) {
  Study study = MakeStudy();
  for (StudyEntry& entry : study.entries) entry.grades.Set("ate_trans", 3);
  EXPECT_EQ(FormatMarkdown(study).find("**"), std::string::npos);
  for (StudyEntry& entry : study.entries)
    entry.grades.Set("placed_percent", entry.variant == "full" ? 98 : 99);
  EXPECT_NE(FormatMarkdown(study).find("**99.0 ± 0.0**"), std::string::npos);
}

TEST(StudyTable, FailuresAndAbsentMetricsAreSaid) {
  Study study = MakeStudy();
  study.entries[1].failure = "exit code 2";
  study.entries[2].grades.SetAbsent("rpe_trans", "too few poses");
  const std::string text = FormatMarkdown(study);
  EXPECT_NE(text.find("failed: exit code 2"), std::string::npos);
  EXPECT_NE(text.find("no rpe_trans: too few poses"), std::string::npos);
  EXPECT_NE(text.find("(1 missing)"), std::string::npos);
}

TEST(StudyTable, CsvHasOneLineACellAndQuotesCommas) {
  const std::vector<std::string> lines = Split(Trim(FormatCsv(MakeStudy())), '\n');
  EXPECT_EQ(lines.size(), 21U);
  EXPECT_TRUE(StartsWith(lines[0], "variant,sequence,ate_trans,"));
  EXPECT_TRUE(StartsWith(lines[2], "\"without, it\",s0,1.9,"));
}

TEST(StudyTable, JsonHoldsWhatTheTableSays) {
  const Json json = Json::Parse(StudyToJson(MakeStudy()).Dump());
  EXPECT_EQ(json.At("cells").AsArray().size(), 20U);
  const Json& metric = json.At("variants").AsArray()[1].At("metrics").At("ate_trans");
  EXPECT_NEAR(metric.At("mean").AsDouble(), 2.33, 1e-12);
  if (StudentTwoSided(1, 1)) {
    EXPECT_NEAR(metric.At("p").AsDouble(), 0.002833, 5e-7);
  }
}

TEST(StudyTable, HtmlNeedsNothingFromOutside) {
  const std::string page = FormatHtml(MakeStudy(), {{"a figure", "<svg></svg>"}});
  EXPECT_NE(page.find("<b>0.75 ± 1.79</b>"), std::string::npos);
  EXPECT_NE(page.find("a figure"), std::string::npos);
  for (const char* outside : {"src=\"http", "href=\"http", "<link", "<script"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

TEST(StudyTable, MixedUnitsAreNotCalledMillimetres) {
  Study study = MakeStudy();
  EXPECT_EQ(StudyUnits(study), "mm");
  study.entries[3].grades.units = "arbitrary";
  EXPECT_EQ(StudyUnits(study), "each sequence's units");
}

}  // namespace
}  // namespace lumen
