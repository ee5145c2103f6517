#include "lumen/sim/degrade.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lumen/base/error.h"
#include "lumen/sim/appearance.h"

namespace lumen {
namespace {

constexpr int kWidth = 96;
constexpr int kHeight = 80;

Mask RoundMask() { return MakeContentMask({}, kWidth, kHeight); }

RgbImage Picture() {
  const Mask mask = RoundMask();
  RgbImage image(kWidth, kHeight, 3);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      if (mask(x, y) == 0) continue;
      image(x, y, 0) = static_cast<uint8_t>(120 + (x * 7 + y * 3) % 80);
      image(x, y, 1) = static_cast<uint8_t>(60 + (x * 5) % 60);
      image(x, y, 2) = static_cast<uint8_t>(50 + (y * 5) % 60);
    }
  }
  return image;
}

double Difference(const RgbImage& a, const RgbImage& b) {
  double sum = 0;
  for (size_t i = 0; i < a.Size(); ++i) sum += std::abs(a.Data()[i] - b.Data()[i]);
  return sum / static_cast<double>(a.Size());
}

class EveryDegradation : public testing::TestWithParam<std::string> {
 protected:
  Degrader Make(int severity) const {
    return Degrader(ParseDegradations(GetParam() + ":" + std::to_string(severity)), 5);
  }
  // How much is changed over a while: mean change of the picture, frames that are not where they were, and
  // tissue that is not.
  double Harm(int severity) const {
    const Degrader degrader = Make(severity);
    double harm = degrader.TissueMillimetres();
    const std::vector<int> timeline = degrader.MakeTimeline(120);
    for (int frame = 1; frame < 120; ++frame) {
      harm += std::abs(timeline[static_cast<size_t>(frame)] - timeline[static_cast<size_t>(frame - 1)] - 1);
      if (frame % 3 == 0) harm += Difference(degrader.Apply(Picture(), RoundMask(), frame), Picture()) / 40;
    }
    return harm;
  }
};
INSTANTIATE_TEST_SUITE_P(Sim, EveryDegradation, testing::ValuesIn(DegradationNames()), [](const auto& test) {
  std::string name = test.param;
  std::erase(name, '-');
  return name;
});

TEST_P(EveryDegradation, OfSeverityZeroChangesNothing) {
  const Degrader degrader = Make(0);
  for (int frame = 0; frame < 300; frame += 7) {
    EXPECT_EQ(degrader.Apply(Picture(), RoundMask(), frame), Picture());
    EXPECT_FALSE(degrader.IsBlackedOut(frame));
  }
  const std::vector<int> timeline = degrader.MakeTimeline(300);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(timeline[static_cast<size_t>(i)], i);
}

TEST_P(EveryDegradation, ChangesPictureOrSequenceAndGetsWorseWithSeverity) {
  double last = 0.05;
  for (int severity = 1; severity <= kMaxSeverity; ++severity) {
    const double harm = Harm(severity);
    EXPECT_GT(harm, last) << severity;
    last = harm;
  }
}

TEST_P(EveryDegradation, IsReproducibleAndStaysInsideTheMask) {
  const Mask mask = RoundMask();
  for (const int frame : {0, 31, 50}) {
    const RgbImage spoilt = Make(4).Apply(Picture(), mask, frame);
    EXPECT_EQ(spoilt, Make(4).Apply(Picture(), mask, frame));
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        if (mask(x, y) == 0) {
          ASSERT_EQ(spoilt(x, y, 0) + spoilt(x, y, 1) + spoilt(x, y, 2), 0);
        }
      }
    }
  }
  EXPECT_EQ(Make(4).MakeTimeline(200), Make(4).MakeTimeline(200));
}

TEST(Timeline, DroppedFramesAreMissingAndJumpsAreFar) {
  const auto largest_step = [](const std::string& text) {
    const std::vector<int> timeline = Degrader(ParseDegradations(text), 5).MakeTimeline(200);
    EXPECT_EQ(timeline.size(), 200U);
    EXPECT_EQ(timeline.front(), 0);
    int largest = 0;
    for (size_t i = 1; i < timeline.size(); ++i) {
      EXPECT_GE(timeline[i], timeline[i - 1]);
      largest = std::max(largest, timeline[i] - timeline[i - 1]);
    }
    return largest;
  };
  EXPECT_EQ(largest_step("dropped-frames:1"), 2);
  EXPECT_EQ(largest_step("dropped-frames:5"), 6);
  EXPECT_GE(largest_step("jump:2"), 20);
  EXPECT_EQ(largest_step("duplicated-frames:3"), 1);
}

TEST(Timeline, DuplicatedFramesComeAgain) {
  const std::vector<int> timeline = Degrader(ParseDegradations("duplicated-frames:2"), 5).MakeTimeline(60);
  const std::set<int> distinct(timeline.begin(), timeline.end());
  EXPECT_EQ(distinct.size(), 60U - 4U);
}

TEST(Blackout, IsBlackForAWhile) {
  const Degrader degrader(ParseDegradations("blackout:2"), 5);
  int black = 0;
  for (int frame = 0; frame < 75; ++frame) {
    if (!degrader.IsBlackedOut(frame)) continue;
    ++black;
    EXPECT_EQ(degrader.Apply(Picture(), RoundMask(), frame), RgbImage(kWidth, kHeight, 3));
  }
  EXPECT_EQ(black, 6);
}

TEST(ParseDegradations, ReadsAList) {
  const std::vector<Degradation> list = ParseDegradations("smoke:3, blood:0,tool:5");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].kind, DegradationKind::kSmoke);
  EXPECT_EQ(list[0].severity, 3);
  EXPECT_EQ(list[2].kind, DegradationKind::kTool);
  EXPECT_TRUE(ParseDegradations("").empty());
}

TEST(ParseDegradations, RefusesWhatItDoesNotKnow) {
  for (const char* bad :
       {"smoke", "smoke:", "smoke:6", "smoke:-1", "smoke:2.5", "smoke:1:2", "smoke:3,", "fog:1"}) {
    EXPECT_THROW(ParseDegradations(bad), InputError) << bad;
  }
  try {
    ParseDegradations("smok:1");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"smoke\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lumen
