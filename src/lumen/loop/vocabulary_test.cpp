#include "lumen/loop/vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/loop/place_index.h"

namespace lumen {
namespace {

constexpr int kChannels = 4;

// Images whose descriptors lie around a few centres of their own.
std::vector<std::vector<float>> MakeImages(int count, uint64_t seed) {
  std::vector<std::vector<float>> images;
  for (int i = 0; i < count; ++i) {
    Random random = Random(seed).Split(static_cast<uint64_t>(i));
    std::vector<float>& image = images.emplace_back();
    for (int cluster = 0; cluster < 5; ++cluster) {
      float center[kChannels];
      for (float& c : center) c = static_cast<float>(random.Uniform(-1, 1));
      for (int k = 0; k < 40; ++k) {
        for (const float c : center) image.push_back(c + static_cast<float>(random.Normal(0, 0.01)));
      }
    }
  }
  return images;
}

VocabularyOptions SmallOptions() { return {.branching = 4, .depth = 3, .iterations = 10, .seed = 3}; }

TEST(Vocabulary, SimilarityIsTheCommonShare) {
  const BagOfWords a{{1, 0.5F}, {4, 0.25F}, {9, 0.25F}};
  const BagOfWords b{{1, 0.25F}, {5, 0.5F}, {9, 0.25F}};
  EXPECT_DOUBLE_EQ(Similarity(a, b), 0.5);
  EXPECT_DOUBLE_EQ(Similarity(a, a), 1.0);
  EXPECT_DOUBLE_EQ(Similarity(a, {}), 0.0);
}

TEST(Vocabulary, WordIsTheNearestLeafOfTheNearestBranch) {
  const auto images = MakeImages(20, 5);
  const Vocabulary vocabulary = Vocabulary::Train(images, kChannels, SmallOptions());
  EXPECT_EQ(vocabulary.NumWords(), 64);
  // Descriptors of one tight cluster mostly share a word.
  for (const auto& image : images) {
    int same = 0;
    const int word = vocabulary.WordOf(image.data());
    for (int k = 0; k < 40; ++k) same += vocabulary.WordOf(image.data() + k * kChannels) == word ? 1 : 0;
    EXPECT_GE(same, 20);
  }
}

TEST(Vocabulary, TermsAreCountedAndRareWordsWeighMore) {
  const auto images = MakeImages(20, 5);
  const Vocabulary vocabulary = Vocabulary::Train(images, kChannels, SmallOptions());
  // One image with a descriptor three times and another once: three quarters to one quarter, times idf.
  const float* a = images[0].data();
  const float* b = images[7].data();
  ASSERT_NE(vocabulary.WordOf(a), vocabulary.WordOf(b));
  const auto bag_of = [&](int times_a, int times_b) {
    std::vector<float> descriptors;
    descriptors.reserve(64);
    for (int i = 0; i < times_a * kChannels; ++i) descriptors.push_back(a[i % kChannels]);
    for (int i = 0; i < times_b * kChannels; ++i) descriptors.push_back(b[i % kChannels]);
    return vocabulary.Describe(descriptors);
  };
  const auto weight = [&](const BagOfWords& bag, const float* descriptor) {
    for (const auto& [word, w] : bag) {
      if (word == vocabulary.WordOf(descriptor)) return static_cast<double>(w);
    }
    return 0.0;
  };
  const BagOfWords even = bag_of(1, 1);
  const BagOfWords uneven = bag_of(3, 1);
  EXPECT_NEAR(weight(uneven, a) / weight(uneven, b), 3 * weight(even, a) / weight(even, b), 1e-5);
  EXPECT_NEAR(weight(uneven, a) + weight(uneven, b), 1, 1e-6);
}

TEST(Vocabulary, TheSamePlaceIsMostSimilar) {
  const auto images = MakeImages(30, 9);
  const auto again = MakeImages(30, 9);  // the same centres and noise
  const Vocabulary vocabulary = Vocabulary::Train(images, kChannels, SmallOptions());
  PlaceIndex index;
  for (size_t i = 0; i < images.size(); ++i)
    index.Add(static_cast<KeyframeId>(i), vocabulary.Describe(images[i]));
  for (size_t i = 0; i < again.size(); ++i) {
    const auto scores = index.Ask(vocabulary.Describe(again[i]), 3);
    ASSERT_FALSE(scores.empty());
    EXPECT_EQ(scores[0].id, static_cast<KeyframeId>(i));
    EXPECT_NEAR(scores[0].similarity, 1, 1e-5);
    EXPECT_NEAR(scores[1].similarity, Similarity(vocabulary.Describe(again[i]), index.Words(scores[1].id)),
                1e-6);
  }
  index.Remove(4);
  EXPECT_EQ(index.Size(), 29U);
  for (const PlaceScore& score : index.Ask(vocabulary.Describe(again[4]), 30)) EXPECT_NE(score.id, 4);
}

TEST(Vocabulary, FileKeepsEverything) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "words.safetensors";
  Vocabulary vocabulary = Vocabulary::Train(MakeImages(20, 5), kChannels, SmallOptions());
  vocabulary.notes["made of"] = "noise";
  vocabulary.Save(path);
  const Vocabulary loaded = Vocabulary::Load(path);
  EXPECT_EQ(loaded.notes, vocabulary.notes);
  for (const auto& image : MakeImages(5, 77)) EXPECT_EQ(loaded.Describe(image), vocabulary.Describe(image));
}

TEST(Vocabulary, BadFilesAndTooLittleDataAreRefused) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "words.safetensors";
  Vocabulary::Train(MakeImages(20, 5), kChannels, SmallOptions()).Save(path);
  const std::string good = ReadFile(path);
  WriteFileAtomically(path, good.substr(0, good.size() / 2));
  EXPECT_THROW(Vocabulary::Load(path), InputError);
  WriteFileAtomically(path, "");
  EXPECT_THROW(Vocabulary::Load(path), InputError);
  EXPECT_THROW(Vocabulary::Train(MakeImages(1, 5), kChannels, {}), InputError);
}

TEST(Vocabulary, TrainingIsRepeatable) {
  const auto images = MakeImages(10, 5);
  const auto once = Vocabulary::Train(images, kChannels, SmallOptions());
  const auto twice = Vocabulary::Train(images, kChannels, SmallOptions());
  for (const auto& image : images) EXPECT_EQ(once.Describe(image), twice.Describe(image));
}

}  // namespace
}  // namespace lumen
