#include "lumen/io/sparse_depth.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

namespace lumen {
namespace {

TEST(SparseDepth, FourOrSixColumnsAreRead) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / kSparseDepthFile;
  WriteFileAtomically(path, "frame,u,v,depth\n3,1.5,2.25,4\n3,7,8,-1\n5,0,0,2.5,6,0.75\r\n\n");
  const SparseDepth depth = LoadSparseDepth(path);
  ASSERT_EQ(depth.size(), 2U);
  ASSERT_EQ(depth.at(3).size(), 1U) << "a depth that is not positive says nothing";
  EXPECT_EQ(depth.at(3)[0].uv, Eigen::Vector2d(1.5, 2.25));
  EXPECT_EQ(depth.at(3)[0].depth, 4);
  EXPECT_EQ(depth.at(3)[0].track_length, 0);
  EXPECT_EQ(depth.at(5)[0].track_length, 6);
  EXPECT_EQ(depth.at(5)[0].error, 0.75);
}

TEST(SparseDepth, WhatIsNotALineOfNumbersIsRefusedWithItsLine) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / kSparseDepthFile;
  for (const char* line : {"1,2,3", "1,2,3,4,5", "x,2,3,4", "-1,2,3,4", "1,2,nan,4", "1,2,,4", "1,2,3,4,-1,0",
                           "1,2,3,4,1e300,0"}) {
    WriteFileAtomically(path, std::string("frame,u,v,depth\n0,1,1,1\n") + line + "\n");
    try {
      LoadSparseDepth(path);
      FAIL() << line;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
    }
  }
}

TEST(SparseDepth, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  SparseDepth depth;
  depth[3] = {{{1.25, -0.5}, 4.5, 7, 0.25}, {{100.0625, 50}, 0.125, 2, 1.5}};
  depth[12] = {{{0, 0}, 1e-5, 0, 0}};
  depth[13] = {{{1e300, -1e300}, 1e300, 2, 1e300}};
  SaveSparseDepth(folder.Path() / "d.csv", depth);
  const SparseDepth back = LoadSparseDepth(folder.Path() / "d.csv");
  ASSERT_EQ(back.size(), 3U);
  EXPECT_EQ(back.at(13)[0].uv, depth[13][0].uv) << "however long its line is";
  ASSERT_EQ(back.at(3).size(), 2U);
  EXPECT_EQ(back.at(3)[0].uv, depth[3][0].uv);
  EXPECT_EQ(back.at(3)[0].track_length, 7);
  EXPECT_EQ(back.at(3)[1].depth, 0.125);
  EXPECT_EQ(back.at(3)[1].error, 1.5);
  EXPECT_NEAR(back.at(12)[0].depth, 1e-5, 1e-12);
}

}  // namespace
}  // namespace lumen
