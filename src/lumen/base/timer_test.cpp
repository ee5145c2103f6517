#include "lumen/base/timer.h"

#include <gtest/gtest.h>

#include "lumen/base/progress.h"

namespace lumen {
namespace {

TEST(StageTimes, AddUpPerNameAndShowInTheTable) {
  StageTimes times;
  times.Add("track", 2);
  times.Add("track", 4);
  { ScopedTimer timer(times, "map"); }
  const auto stages = times.Get();
  EXPECT_EQ(stages.at("track").count, 2);
  EXPECT_DOUBLE_EQ(stages.at("track").MeanMs(), 3);
  EXPECT_DOUBLE_EQ(stages.at("track").max_ms, 4);
  EXPECT_EQ(stages.at("map").count, 1);
  EXPECT_NE(times.Table().find("track"), std::string::npos);
}

TEST(FormatDuration, ReadsLikeAClock) {
  EXPECT_EQ(FormatDuration(0.4), "0:00");
  EXPECT_EQ(FormatDuration(83), "1:23");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
}

}  // namespace
}  // namespace lumen
