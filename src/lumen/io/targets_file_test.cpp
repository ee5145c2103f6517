#include "lumen/io/targets_file.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {
namespace {

std::vector<Target> Read(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / name, text);
  return ReadTargets(folder.Path() / name);
}

std::string Refusal(const std::string& name, const std::string& text) {
  try {
    Read(name, text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TargetsFile, ATableWithOrWithoutAHead) {
  for (const char* head : {"", "name,x,y,z\n", "name, l, p, s\r\n", "# LPS\n\n"}) {
    const auto targets =
        Read("points.csv", StrCat(head, "ostium,1,-2,3.5\n\"left, lower\", 4,5,6\r\n,7,8,9"));
    ASSERT_EQ(targets.size(), 3U) << head;
    EXPECT_EQ(targets[0].name, "ostium");
    EXPECT_EQ(targets[0].place, Eigen::Vector3d(1, -2, 3.5));
    EXPECT_EQ(targets[1].name, "left, lower");
    EXPECT_EQ(targets[2].name, "target 3");
  }
}

TEST(TargetsFile, WhatSaysRasIsTurnedToLps) {
  const Eigen::Vector3d turned(-1, -2, 3);
  EXPECT_EQ(Read("p.csv", "name,r,a,s\na,1,2,3").front().place, turned);
  EXPECT_EQ(Read("p.csv", "# coordinate system: RAS\na,1,2,3").front().place, turned);
  EXPECT_EQ(Read("p.csv", "# grasped by hand\na,1,2,3").front().place, Eigen::Vector3d(1, 2, 3));
}

TEST(TargetsFile, SlicersMarkups) {
  const auto file = [](const std::string& axes) {
    return StrCat(
        R"({"markups": [{"type": "Fiducial", )", axes,
        R"("controlPoints": [{"label": "polyp", "position": [1, 2.5, -3], "positionStatus": "defined"},)",
        R"({"label": "none", "position": [0, 0, 0], "positionStatus": "undefined"}]}]})");
  };
  for (const char* axes : {"", "\"coordinateSystem\": \"LPS\", "}) {
    const auto targets = Read("F.mrk.json", file(axes));
    ASSERT_EQ(targets.size(), 1U);
    EXPECT_EQ(targets[0].name, "polyp");
    EXPECT_EQ(targets[0].place, Eigen::Vector3d(1, 2.5, -3));
  }
  EXPECT_EQ(Read("F.mrk.json", file("\"coordinateSystem\": \"RAS\", "))[0].place,
            Eigen::Vector3d(-1, -2.5, -3));
  EXPECT_NE(Refusal("F.json", file("\"coordinateSystem\": \"ijk\", ")).find("neither LPS nor RAS"),
            std::string::npos);
}

TEST(TargetsFile, SlicersOlderTablesAreRasUnlessTheySayOtherwise) {
  const std::string columns = "# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID\n";
  const std::string row = "vtkMRMLMarkupsFiducialNode_0,1,2,3,0,0,0,1,1,1,0,F-1,,\n";
  const auto ras =
      Read("F.fcsv", "# Markups fiducial file version = 4.10\n# CoordinateSystem = 0\n" + columns + row);
  EXPECT_EQ(ras.front().name, "F-1");
  EXPECT_EQ(ras.front().place, Eigen::Vector3d(-1, -2, 3));
  EXPECT_EQ(Read("F.fcsv", "# CoordinateSystem = LPS\n" + columns + row).front().place,
            Eigen::Vector3d(1, 2, 3));
}

TEST(TargetsFile, WhatIsWrongIsSaidWithItsLine) {
  for (const auto& [text, said] : {std::pair{"a,1,2,3\nb,1,2\n", "line 2"},
                                   {"a,1,2,nan", "line 1"},
                                   {"a,1,2,1e9", "line 1"},
                                   {"name,x,y,z\nname,x,y,z\n", "line 2"},
                                   {"", "no targets"},
                                   {"name,x,y,z\n", "no targets"}})
    EXPECT_NE(Refusal("p.csv", text).find(said), std::string::npos) << text << ": " << Refusal("p.csv", text);
  for (const auto& [text, said] :
       {std::pair{"{}", "no markups"},
        {R"({"markups": [1]})", "markup 1"},
        {R"({"markups": [{"controlPoints": [{"position": [1, 2]}]}]})", "markup 1, point 1"},
        {R"({"markups": [{"controlPoints": [)", "p.mrk.json"}})
    EXPECT_NE(Refusal("p.mrk.json", text).find(said), std::string::npos) << text;
  EXPECT_NE(Refusal("p.csv", std::string(1000, 'a') + ",1,2,3").find("line 1"), std::string::npos);
}

TEST(TargetsFile, ThereIsAnEndToHowMany) {
  std::string text;
  for (size_t i = 0; i < kMostTargets; ++i) text += "a,1,2,3\n";
  EXPECT_EQ(Read("p.csv", text).size(), kMostTargets);
  EXPECT_NE(Refusal("p.csv", text + "b,1,2,3\n").find("more than"), std::string::npos);
}

}  // namespace
}  // namespace lumen
