#include "lumen/base/cold_list.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lumen {
namespace {

struct Element {
  int64_t number = 0;
  double half = 0;
};

TEST(ColdList, HoldsWhatWasPutInAndKeepsLittleOfItInMemory) {
  DiskMemory disk(testing::TempDir());
  {
    ColdList<Element> list(disk);
    EXPECT_TRUE(list.empty());
    constexpr int64_t kMany = 10 * static_cast<int64_t>(ColdList<Element>::kBlock) + 7;
    for (int64_t i = 0; i < kMany; ++i) {
      list.push_back({i, 0.5 * static_cast<double>(i)});
      ASSERT_EQ(list.back().number, i);
    }
    ASSERT_EQ(list.size(), static_cast<size_t>(kMany));
    EXPECT_GE(disk.BytesOnDisk(), 10 * ColdList<Element>::kBlock * sizeof(Element));
    for (int reading = 0; reading < 2; ++reading) {
      int64_t expected = 0;
      for (const Element& element : list) {
        ASSERT_EQ(element.number, expected);
        ASSERT_EQ(element.half, 0.5 * static_cast<double>(expected++));
      }
      EXPECT_EQ(expected, kMany);
      list.LetGo();  // and is there again the second time
    }
  }
  EXPECT_EQ(disk.BytesOnDisk(), 0U);
}

TEST(ColdList, WithoutADiskItIsAnOrdinaryOne) {
  DiskMemory nowhere("/no/such/folder");
  ColdList<Element> list(nowhere);
  for (int64_t i = 0; i < 3000; ++i) list.push_back({i, 0});
  list.LetGo();
  EXPECT_EQ(list[0].number, 0);
  EXPECT_EQ(list[1500].number, 1500);
  EXPECT_EQ(list[2999].number, 2999);
}

}  // namespace
}  // namespace lumen
