#include "lumen/base/csv.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"

namespace lumen {
namespace {

using Cells = std::vector<std::string>;

std::string CsvFault(const std::string& text) {
  try {
    ParseCsv(text, "list.csv");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Csv, RowsKnowTheirLines) {
  const auto rows = ParseCsv("input,fov\n\na.mp4 , 90\r\n\"b\nc.mp4\",70\nlast", "list.csv");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].cells, (Cells{"input", "fov"}));
  EXPECT_EQ(rows[1].cells, (Cells{"a.mp4", "90"}));
  EXPECT_EQ(rows[1].line, 3);
  EXPECT_EQ(rows[2].cells, (Cells{"b\nc.mp4", "70"}));
  EXPECT_EQ(rows[2].line, 4);
  EXPECT_EQ(rows[3].cells, Cells{"last"});
  EXPECT_EQ(rows[3].line, 6);
}

TEST(Csv, EmptyCellsAreKept) {
  EXPECT_EQ(ParseCsv(",a,\n", "x")[0].cells, (Cells{"", "a", ""}));
  EXPECT_EQ(ParseCsv("a;;b", "x", ';')[0].cells, (Cells{"a", "", "b"}));
  EXPECT_TRUE(ParseCsv("", "x").empty());
  EXPECT_EQ(ParseCsv("\xEF\xBB\xBF"
                     "a",
                     "x")[0]
                .cells,
            Cells{"a"});
}

TEST(Csv, WhatIsWrittenReadsBack) {
  const Cells texts{"plain", "a,b", "say \"x\"", "two\nlines", " blank ", "", "\r", "a;b"};
  std::string line;
  for (const std::string& text : texts) line += (line.empty() ? "" : ",") + CsvCell(text);
  EXPECT_EQ(ParseCsv(line, "x")[0].cells, texts);
}

TEST(Csv, BrokenQuotesAreRefusedWithTheirLine) {
  EXPECT_EQ(CsvFault("a\n\"b\n\nc"), "list.csv: line 2: a quote that is never closed");
  EXPECT_EQ(CsvFault("a\nb\"c\""),
            "list.csv: line 2: a quote in the midst of a cell: the whole cell must be in quotes");
  EXPECT_EQ(CsvFault("\"a\"b"), "list.csv: line 1: something stands behind a cell in quotes");
}

}  // namespace
}  // namespace lumen
