#include "lumen/base/text.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

TEST(Text, SplitKeepsEmptyPartsAndSplitWordsDropsThem) {
  EXPECT_EQ(Split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(SplitWords("  a \t b\n"), (std::vector<std::string>{"a", "b"}));
}

TEST(Text, NumbersMustBeWhole) {
  EXPECT_EQ(ParseDouble("1.5e3"), 1500.0);
  EXPECT_EQ(ParseDouble("+2"), 2.0);
  EXPECT_EQ(ParseDouble("2mm"), std::nullopt);
  EXPECT_EQ(ParseDouble(""), std::nullopt);
  EXPECT_EQ(ParseInteger("12"), 12);
  EXPECT_EQ(ParseInteger("12.0"), std::nullopt);
}

TEST(Text, FormattedDoublesReadBackTheSame) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, -12345.678})
    EXPECT_EQ(ParseDouble(FormatDouble(value)), value);
}

TEST(Text, NearestNameFindsASlipButNotAStranger) {
  const std::vector<std::string> known = {"camera.fx", "camera.fy", "depth_scale"};
  EXPECT_EQ(NearestName("dept_scale", known), "depth_scale");
  EXPECT_EQ(NearestName("colour", known), std::nullopt);
}

}  // namespace
}  // namespace lumen
