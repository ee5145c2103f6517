#include "lumen/base/text.h"

#include <gtest/gtest.h>

#include <new>
#include <ostream>
#include <streambuf>

namespace lumen {
namespace {

// A stream keeps an exception of what it writes to itself, unless it is told otherwise.
struct Unwritable {};
std::ostream& operator<<(std::ostream& stream, const Unwritable&) {
  struct Full : std::streambuf {
    int overflow(int) override { throw std::bad_alloc(); }
  } full;
  std::ostream inner(&full);
  inner.exceptions(stream.exceptions());
  inner << "x";
  return stream;
}

TEST(Text, WhatDoesNotFitIntoMemoryIsNotCutShort) { EXPECT_THROW(StrCat("a", Unwritable()), std::bad_alloc); }

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

TEST(Text, OnlyUtf8IsLeft) {
  EXPECT_EQ(ToValidUtf8("plain \xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(ToValidUtf8("\xff"), mark);
  EXPECT_EQ(ToValidUtf8("\xc0\xaf"), mark + mark) << "longer than it need be";
  EXPECT_EQ(ToValidUtf8("\xed\xa0\x80"), mark + mark + mark) << "half of a pair";
  EXPECT_EQ(ToValidUtf8("\xe2\x82"), mark + mark) << "cut off";
  EXPECT_EQ(ToValidUtf8("\xf4\x90\x80\x80"), mark + mark + mark + mark) << "beyond the last";
}

TEST(Text, NothingSteersATerminal) { EXPECT_EQ(Printable("a\x1b[2Jb\nc\x7f"), "a\\x1b[2Jb c\\x7f"); }

}  // namespace
}  // namespace lumen
