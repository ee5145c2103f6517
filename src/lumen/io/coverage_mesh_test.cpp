#include "lumen/io/coverage_mesh.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

namespace lumen {
namespace {

CoverageMesh ReadCoverage(const std::string& content) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / kCoverageMeshFile, content);
  return LoadCoverageMesh(folder.Path() / kCoverageMeshFile);
}

// Must name the file in one line.
void ExpectRefused(const std::string& content, const std::string& reason) {
  try {
    ReadCoverage(content);
    ADD_FAILURE() << "was taken: " << content;
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(kCoverageMeshFile), std::string::npos) << what;
    EXPECT_NE(what.find(reason), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

constexpr const char* kSquare = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0.5\n";
constexpr const char* kAnswers = "vt 0 0\nvt 1 1\n";

TEST(CoverageMesh, ReadsBack) {
  const TemporaryFolder folder;
  CoverageMesh coverage;
  coverage.mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {-12.5F, 1, 0.25F}};
  coverage.mesh.triangles = {{0, 1, 2}, {0, 2, 3}, {3, 2, 1}};
  coverage.seen = {1, 0, 1};
  SaveCoverageMesh(folder.Path() / "a.obj", coverage);
  const CoverageMesh back = LoadCoverageMesh(folder.Path() / "a.obj");
  EXPECT_EQ(back.mesh.vertices, coverage.mesh.vertices);
  EXPECT_EQ(back.mesh.triangles, coverage.mesh.triangles);
  EXPECT_EQ(back.seen, coverage.seen);
}

TEST(CoverageMesh, IsWrittenInTheFormOfC3vd) {
  const TemporaryFolder folder;
  CoverageMesh coverage;
  coverage.mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}};
  coverage.mesh.triangles = {{0, 1, 2}, {2, 1, 0}};
  coverage.seen = {1, 0};
  SaveCoverageMesh(folder.Path() / "a.obj", coverage);
  const std::string text = ReadFile(folder.Path() / "a.obj");
  EXPECT_NE(text.find("vt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 3/2 2/2 1/2\n"), std::string::npos) << text;
}

TEST(CoverageMesh, OfC3vdIsRead) {
  const CoverageMesh coverage =
      ReadCoverage(std::string(kSquare) + kAnswers + "f 1/1 2/1 3/1\nf 1/2 3/2 4/2\n");
  ASSERT_EQ(coverage.mesh.triangles.size(), 2U);
  EXPECT_EQ(coverage.mesh.triangles[1], (std::array<int32_t, 3>{0, 2, 3}));
  EXPECT_EQ(coverage.seen, (std::vector<char>{1, 0}));
}

TEST(CoverageMesh, WhatATexturePlaceStandsForIsSaidByItself) {
  const std::string faces = "f 1/1 2/1 3/1\nf 1/2 3/2 4/2\n";
  EXPECT_EQ(ReadCoverage(std::string(kSquare) + "vt 1 1\nvt 0 0\n" + faces).seen, (std::vector<char>{0, 1}));
  EXPECT_EQ(ReadCoverage(std::string(kSquare) + "vt 0.0 0.0 0.0\nvt 1.000000 1.000000\n" + faces).seen,
            (std::vector<char>{1, 0}));
}

TEST(CoverageMesh, LooserFormsOfTheSameAreRead) {
  const auto seen = [](const std::string& faces) {
    return ReadCoverage(std::string("\xEF\xBB\xBF# x\nmtllib x.mtl\r\n") + kSquare + kAnswers + "vn 0 0 1\n" +
                        faces)
        .seen;
  };
  EXPECT_EQ(seen("f 1/1/1 2/1/1 3/1/1\nf 1/2/1 3/2/1 4/2/1\n"), (std::vector<char>{1, 0}));
  EXPECT_EQ(seen("f 1/1 2/1 3/1\r\nf 1/2 3/2 4/2\r\n"), (std::vector<char>{1, 0}));
  EXPECT_EQ(seen("f 1/2 2/2 3/2 4/2\nf 1/1 2/1 3/1"), (std::vector<char>{0, 0, 1}))
      << "a square is two triangles";
  EXPECT_EQ(seen("  f 1/1 2/1 3/1\n\tf\t1/2 3/2 4/2\n"), (std::vector<char>{1, 0})) << "blanks before it";
}

TEST(CoverageMesh, BadInputIsRefusedInOneLine) {
  const std::string known = std::string(kSquare) + kAnswers;
  ExpectRefused(known + "f 1 2 3\n", "line 7: \"1\" does not say whether the face was seen");
  ExpectRefused(known + "f 1//1 2//1 3//1\n", "does not say");
  ExpectRefused(known + "f 1/3 2/3 3/3\n", "\"1/3\" does not say");
  ExpectRefused(known + "f 1/0 2/0 3/0\n", "does not say");
  ExpectRefused(known + "f 1/-1 2/-1 3/-1\n", "does not say");
  ExpectRefused(known + "f 1/x 2/x 3/x\n", "does not say");
  ExpectRefused(std::string(kSquare) + "f 1/1 2/1 3/1\n" + kAnswers, "line 5");
  ExpectRefused(std::string(kSquare) + "vt\nf 1/1 2/1 3/1\n", "line 5: a texture place needs numbers");
  ExpectRefused(std::string(kSquare) + "vt a b\nf 1/1 2/1 3/1\n", "line 5: a texture place needs numbers");
  ExpectRefused(known, "has no faces");
  ExpectRefused(known + "f 1/1 2/1\n", "three vertices");
  ExpectRefused(known + "f 1/1 2/1 5/1\n", "names vertex 4 of 4");
  ExpectRefused(known + "v 0 0 x\n", "not a number");
  ExpectRefused("", "holds no vertices");
  EXPECT_THROW(LoadCoverageMesh("/nowhere/coverage_mesh.obj"), InputError);
}

}  // namespace
}  // namespace lumen
