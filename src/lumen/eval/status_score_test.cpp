#include "lumen/eval/status_score.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

TEST(StatusScore, CountsWhatWasSaidOfGoodFramesAndOfOthers) {
  StatusScore score;
  score.AddPlaced(0.01, true, false);
  score.AddPlaced(0.6, false, false);
  score.AddPlaced(0.9, false, true);
  score.AddPlaced(0.02, true, true);
  score.AddPlaced(0.8, false, true);
  score.AddLost();
  EXPECT_EQ(score.Placed(), 5);
  EXPECT_EQ(score.Off(), 3);
  EXPECT_EQ(score.Lost(), 1);
  EXPECT_DOUBLE_EQ(score.OffCalledTracked(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(score.GoodCalledWeak(), 0.5);
  // Of the six pairs five are in order: 0.9 and 0.8 above both good ones, 0.02 above one.
  EXPECT_DOUBLE_EQ(score.Auc(), 5.0 / 6);
}

TEST(StatusScore, ChanceIsAHalf) {
  Random random(3);
  StatusScore score;
  for (int i = 0; i < 20000; ++i) {
    const double probability = random.Uniform(0, 1);
    const bool off = random.Uniform(0, 1) < 0.1;
    score.AddPlaced(probability, true, off);
  }
  EXPECT_NEAR(score.Auc(), 0.5, 0.02);
  StatusScore said_nothing;
  said_nothing.AddPlaced(0.1, true, true);
  said_nothing.AddPlaced(0.1, true, false);
  EXPECT_DOUBLE_EQ(said_nothing.Auc(), 0.5);
}

TEST(StatusScore, RunsAddUpAndCanBeKept) {
  StatusScore first, second, both;
  first.AddPlaced(0.3, true, true);
  first.AddPlaced(0.1, true, false);
  second.AddPlaced(1, false, true);
  second.AddPlaced(0, true, false);
  second.AddLost();
  both.Add(first);
  both.Add(StatusScore::FromJson(Json::Parse(second.ToJson().Dump(), "kept")));
  EXPECT_EQ(both.Placed(), 4);
  EXPECT_EQ(both.Lost(), 1);
  EXPECT_DOUBLE_EQ(both.Auc(), 1);
  EXPECT_DOUBLE_EQ(both.OffCalledTracked(), 0.5);
}

TEST(StatusScore, BinsTellHowTrueProbabilitiesAre) {
  Random random(4);
  StatusScore score;
  for (int i = 0; i < 50000; ++i) {
    const double probability = random.Uniform(0, 1);
    const bool off = random.Uniform(0, 1) < probability;
    score.AddPlaced(probability, probability < 0.5, off);
  }
  for (int i = 0; i < StatusScore::kBins; ++i) {
    const StatusScore::Bin bin = score.BinAt(i);
    if (bin.frames > 500) {
      EXPECT_NEAR(bin.off, bin.probability, 0.06);
    }
  }
}

TEST(StatusScore, NothingIsMadeOfOneKindAlone) {
  StatusScore score;
  score.AddPlaced(0.5, false, false);
  EXPECT_FALSE(score.HasAuc());
  EXPECT_THROW(score.Auc(), ContractError);
  EXPECT_EQ(score.ToJson().Find("auc"), nullptr);
  EXPECT_EQ(score.OffCalledTracked(), 0);
}

}  // namespace
}  // namespace lumen
