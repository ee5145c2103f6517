#include "lumen/loop/place_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lumen/base/random.h"

namespace lumen {
namespace {

// Bags along a way whose look changes slowly, with words of very different weight.
std::vector<BagOfWords> MakeBags(int count, int words, uint64_t seed) {
  Random random(seed);
  std::vector<double> look(static_cast<size_t>(words));
  for (double& log_weight : look) log_weight = random.Normal(0, 1.5);
  std::vector<BagOfWords> bags;
  for (int i = 0; i < count; ++i) {
    BagOfWords& bag = bags.emplace_back();
    float sum = 0;
    for (int w = 0; w < words; ++w) {
      look[static_cast<size_t>(w)] += random.Normal(0, 0.2);
      if (random.Chance(0.5)) continue;
      bag.emplace_back(w, static_cast<float>(std::exp(look[static_cast<size_t>(w)])));
      sum += bag.back().second;
    }
    for (auto& [word, weight] : bag) weight /= sum;
  }
  return bags;
}

// The plain way: everybody is compared.
std::vector<PlaceScore> AskPlainly(const std::map<KeyframeId, BagOfWords>& bags, const BagOfWords& words,
                                   size_t most) {
  std::vector<PlaceScore> scores;
  for (const auto& [id, bag] : bags) {
    const double similarity = Similarity(words, bag);
    if (similarity > 0) scores.push_back({id, similarity});
  }
  std::stable_sort(scores.begin(), scores.end(),
                   [](const PlaceScore& a, const PlaceScore& b) { return a.similarity > b.similarity; });
  if (scores.size() > most) scores.resize(most);
  return scores;
}

void ExpectSame(const std::vector<PlaceScore>& a, const std::vector<PlaceScore>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id) << i;
    EXPECT_EQ(a[i].similarity, b[i].similarity) << i;
  }
}

TEST(PlaceIndex, AnswersLikeAComparisonWithEverybody) {
  const std::vector<BagOfWords> bags = MakeBags(500, 200, 3);
  PlaceIndex index;
  std::map<KeyframeId, BagOfWords> plain;
  for (size_t i = 0; i < bags.size(); ++i) {
    const auto id = static_cast<KeyframeId>(3 * i);  // numbers with holes
    index.Add(id, bags[i]);
    plain.emplace(id, bags[i]);
    if (i % 7 == 0) {
      index.Remove(static_cast<KeyframeId>(3 * (i / 2)));
      plain.erase(static_cast<KeyframeId>(3 * (i / 2)));
    }
    if (i % 10 != 0) continue;
    for (const size_t most : {1, 3, 40, 1000})
      ExpectSame(index.Ask(bags[i], most), AskPlainly(plain, bags[i], most));
  }
  EXPECT_EQ(index.Size(), plain.size());
}

TEST(PlaceIndex, TiesGoByNumber) {
  const std::vector<BagOfWords> bags = MakeBags(2, 50, 5);
  PlaceIndex index;
  std::map<KeyframeId, BagOfWords> plain;
  for (KeyframeId id = 199; id >= 0; --id) {
    index.Add(id, bags[static_cast<size_t>(id % 2)]);
    plain.emplace(id, bags[static_cast<size_t>(id % 2)]);
  }
  for (const size_t most : {1, 7, 100, 150})
    ExpectSame(index.Ask(bags[1], most), AskPlainly(plain, bags[1], most));
}

TEST(PlaceIndex, WhoSharesNoWordIsNotNamed) {
  PlaceIndex index;
  EXPECT_TRUE(index.Ask({{3, 1.0F}}, 5).empty());
  index.Add(1, {{3, 0.5F}, {8, 0.5F}});
  index.Add(2, {{9, 1.0F}});
  index.Add(4, {});
  ASSERT_EQ(index.Ask({{3, 1.0F}}, 5).size(), 1U);
  EXPECT_EQ(index.Ask({{3, 1.0F}}, 5)[0].id, 1);
  EXPECT_TRUE(index.Ask({}, 5).empty());
  EXPECT_TRUE(index.Ask({{3, 1.0F}}, 0).empty());
  EXPECT_TRUE(index.Ask({{70, 1.0F}}, 5).empty());
}

}  // namespace
}  // namespace lumen
