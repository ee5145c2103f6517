// Words for looks: a tree of descriptor clusters (hierarchical k-means). A frame becomes a bag of words:
// how often each word occurs in it, weighted by how rarely the word occurs elsewhere (tf-idf), summing to
// one. Two frames that see the same place share words whatever the view.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lumen/base/config.h"
#include "lumen/image/image.h"

namespace lumen {

// Sorted by word; weights are positive and sum to one. Empty where nothing was seen.
using BagOfWords = std::vector<std::pair<int, float>>;

// The share two bags have in common, Σ min(a, b): 1 for equal bags, 0 for disjoint ones.
double Similarity(const BagOfWords& a, const BagOfWords& b);

struct VocabularyOptions {
  int branching = 10;
  int depth = 3;
  int iterations = 12;           // of k-means at each node
  int max_descriptors = 200000;  // the training set is thinned to this many
  uint64_t seed = 1;
};

class Vocabulary {
 public:
  // One row-major list of descriptors per training image. Throws InputError where there are too few to
  // make words of.
  static Vocabulary Train(const std::vector<std::vector<float>>& images, int channels,
                          const VocabularyOptions& options = {});

  // A safetensors file, readable by any other tool. Loading checks names, shapes, sizes and values.
  static Vocabulary Load(const std::filesystem::path& path);
  void Save(const std::filesystem::path& path) const;

  int NumWords() const { return static_cast<int>(inverse_frequency_.size()); }
  int Channels() const { return channels_; }
  int WordOf(const float* descriptor) const;
  // All pixels of the mask. A map with another number of channels breaks the contract.
  BagOfWords Describe(ImageView<const float> descriptors, ImageView<const uint8_t> mask) const;
  BagOfWords Describe(const std::vector<float>& descriptors) const;

  // Free words about where it came from, kept in the file.
  std::map<std::string, std::string> notes;

 private:
  template <typename Visit>
  BagOfWords Count(const Visit& for_each_descriptor) const;
  const float* Center(int level, int node) const {
    return centers_[static_cast<size_t>(level)].data() +
           static_cast<size_t>(node) * static_cast<size_t>(channels_);
  }

  int channels_ = 0;
  int branching_ = 0;
  std::vector<std::vector<float>> centers_;  // by level: [branching^(level + 1)][channels]
  std::vector<float> inverse_frequency_;     // by word
};

// The descriptors of a map's valid pixels, one after the other: what Vocabulary::Train takes.
std::vector<float> CollectDescriptors(ImageView<const float> descriptors, ImageView<const uint8_t> mask);

}  // namespace lumen
