#include "lumen/eval/figures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumen/eval/eval_test_data.h"

namespace lumen {
namespace {

size_t Count(const std::string& text, const std::string& piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

TEST(Svg, TextIsEscapedAndNumbersAreShort) {
  Svg svg(10, 20);
  svg.Text({1.0 / 3, -0.0001}, "a < b & \"c\"");
  const std::string text = svg.Finish();
  EXPECT_NE(text.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_NE(text.find("x=\"0.33\" y=\"0\""), std::string::npos);
}

TEST(Svg, Base64OfEveryRemainder) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foo"), "Zm9v");
  EXPECT_EQ(EncodeBase64("\xff\xfe\xfd"), "//79");
}

TEST(Figures, TicksAreRoundAndInside) {
  EXPECT_EQ(NiceTicks({0, 10}, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const std::vector<double> ticks = NiceTicks({-0.13, 0.27}, 4);
  ASSERT_EQ(ticks.size(), 4U);
  EXPECT_NEAR(ticks[0], -0.1, 1e-12);
  EXPECT_NEAR(ticks[3], 0.2, 1e-12);
  EXPECT_EQ(NiceTicks({3, 3}, 4).size(), 1U);
}

TEST(Figures, PlotAreaMapsCornersToCorners) {
  const PlotArea area({10, 20, 100, 50}, {0, 1}, {-1, 1});
  EXPECT_EQ(area.At(0, -1), Eigen::Vector2d(10, 70));
  EXPECT_EQ(area.At(1, 1), Eigen::Vector2d(110, 20));
}

TEST(Figures, AGapInTimeIsAGapInTheLine) {
  const Trajectory truth = MakeWindingPath(90);
  TrajectoryErrors whole = ComputeTrajectoryErrors(truth, truth);
  TrajectoryFigure figure;
  figure.frames = whole.poses;
  const size_t unbroken = Count(DrawTrajectory(figure), "<polyline");
  figure.frames.erase(figure.frames.begin() + 30, figure.frames.begin() + 60);
  EXPECT_EQ(Count(DrawTrajectory(figure), "<polyline"), unbroken + 3);  // one more in each view
}

TEST(Figures, LoopsAndLostSpansAreMarkedInBothPanels) {
  const Trajectory truth = MakeWindingPath(90);
  ErrorFigure figure;
  figure.time = {0, 3};
  figure.frames = ComputeTrajectoryErrors(Disturbed(truth, 0.1, 0.1, 1), truth).poses;
  const std::string plain = DrawErrors(figure);
  figure.lost = {{1, 1.5}};
  figure.loops = {{2, true, false}, {2.2, false, false}, {2.5, true, true}};
  const std::string marked = DrawErrors(figure);
  EXPECT_EQ(Count(marked, kOrange), Count(plain, kOrange) + 3);  // two panels and the legend
  EXPECT_EQ(Count(marked, kGreen), Count(plain, kGreen) + 3);
  for (const char* word : {"global loop", "local loop", "loop taken back", ">lost<"})
    EXPECT_NE(marked.find(word), std::string::npos) << word;
}

TEST(Figures, NothingToShowIsStillADrawing) {
  EXPECT_NE(DrawTrajectory({}).find("</svg>"), std::string::npos);
  EXPECT_NE(DrawErrors({}).find("</svg>"), std::string::npos);
  const std::string boxes = DrawBoxes({"t", {"a", "b"}, {{"m", {{}, {1, 2, 3}}}}});
  EXPECT_NE(boxes.find("</svg>"), std::string::npos);
  EXPECT_EQ(boxes.find("nan"), std::string::npos);
  EXPECT_EQ(DrawTrajectory({}).find("nan"), std::string::npos);
  EXPECT_EQ(DrawErrors({}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace lumen
