#include "lumen/loop/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lumen/base/error.h"
#include "lumen/base/random.h"
#include "lumen/base/safetensors.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr int kMaxWords = 1 << 20;

float SquaredDistance(const float* a, const float* b, int channels) {
  float sum = 0;
  for (int c = 0; c < channels; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

int NearestOf(const float* descriptor, const float* centers, int count, int channels) {
  int best = 0;
  float best_distance = std::numeric_limits<float>::max();
  for (int i = 0; i < count; ++i) {
    const float distance = SquaredDistance(
        descriptor, centers + static_cast<size_t>(i) * static_cast<size_t>(channels), channels);
    if (distance < best_distance) {
      best_distance = distance;
      best = i;
    }
  }
  return best;
}

// k-means over some of the descriptors, begun by drawing far points (k-means++). Where there are fewer
// descriptors than clusters, the last one is repeated: its copies are never the nearest.
class Clusters {
 public:
  Clusters(const std::vector<const float*>& descriptors, int channels, int count, int iterations,
           Random random)
      : descriptors_(descriptors), channels_(channels), count_(count) {
    Draw(random);
    for (int i = 0; i < iterations; ++i) {
      if (!Assign()) break;
      MoveCenters();
    }
    Assign();
  }

  const std::vector<float>& Centers() const { return centers_; }
  std::vector<const float*> Members(int cluster) const {
    std::vector<const float*> members;
    for (size_t i = 0; i < descriptors_.size(); ++i) {
      if (assignment_[i] == cluster) members.push_back(descriptors_[i]);
    }
    return members;
  }

 private:
  void Append(const float* descriptor) {
    centers_.insert(centers_.end(), descriptor, descriptor + channels_);
  }

  void Draw(Random& random) {
    assignment_.assign(descriptors_.size(), -1);
    std::vector<double> distance(descriptors_.size(), std::numeric_limits<double>::max());
    Append(descriptors_[static_cast<size_t>(
        random.UniformInt(0, static_cast<int64_t>(descriptors_.size()) - 1))]);
    for (int k = 1; k < count_; ++k) {
      const float* last = centers_.data() + static_cast<size_t>(k - 1) * static_cast<size_t>(channels_);
      double total = 0;
      for (size_t i = 0; i < descriptors_.size(); ++i) {
        distance[i] =
            std::min(distance[i], static_cast<double>(SquaredDistance(descriptors_[i], last, channels_)));
        total += distance[i];
      }
      double aim = random.Uniform() * total;
      size_t chosen = descriptors_.size() - 1;
      for (size_t i = 0; i < descriptors_.size(); ++i) {
        aim -= distance[i];
        if (aim < 0) {
          chosen = i;
          break;
        }
      }
      const std::vector<float> copy(descriptors_[chosen], descriptors_[chosen] + channels_);
      Append(copy.data());
    }
  }

  bool Assign() {
    bool changed = false;
    for (size_t i = 0; i < descriptors_.size(); ++i) {
      const int nearest = NearestOf(descriptors_[i], centers_.data(), count_, channels_);
      changed |= nearest != assignment_[i];
      assignment_[i] = nearest;
    }
    return changed;
  }

  void MoveCenters() {
    std::vector<double> sums(centers_.size(), 0);
    std::vector<int64_t> members(static_cast<size_t>(count_), 0);
    for (size_t i = 0; i < descriptors_.size(); ++i) {
      const auto cluster = static_cast<size_t>(assignment_[i]);
      ++members[cluster];
      for (size_t c = 0; c < static_cast<size_t>(channels_); ++c)
        sums[cluster * static_cast<size_t>(channels_) + c] += descriptors_[i][c];
    }
    for (size_t k = 0; k < members.size(); ++k) {
      if (members[k] == 0) continue;
      for (size_t c = 0; c < static_cast<size_t>(channels_); ++c) {
        const size_t at = k * static_cast<size_t>(channels_) + c;
        centers_[at] = static_cast<float>(sums[at] / static_cast<double>(members[k]));
      }
    }
  }

  const std::vector<const float*>& descriptors_;
  int channels_;
  int count_;
  std::vector<float> centers_;
  std::vector<int> assignment_;
};

// Every how many descriptors of all images one is taken.
std::vector<const float*> Thin(const std::vector<std::vector<float>>& images, int channels, int wanted) {
  std::vector<const float*> all;
  for (const std::vector<float>& image : images) {
    for (size_t i = 0; i + static_cast<size_t>(channels) <= image.size(); i += static_cast<size_t>(channels))
      all.push_back(image.data() + i);
  }
  if (all.size() <= static_cast<size_t>(wanted)) return all;
  std::vector<const float*> some;
  for (int i = 0; i < wanted; ++i)
    some.push_back(all[static_cast<size_t>(i) * all.size() / static_cast<size_t>(wanted)]);
  return some;
}

int64_t Power(int base, int exponent) {
  int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

[[noreturn]] void Refuse(const std::filesystem::path& path, const std::string& what) {
  throw InputError(StrCat(path.string(), ": ", what));
}

}  // namespace

double Similarity(const BagOfWords& a, const BagOfWords& b) {
  double common = 0;
  auto at = b.begin();
  for (const auto& [word, weight] : a) {
    while (at != b.end() && at->first < word) ++at;
    if (at == b.end()) break;
    if (at->first == word) common += std::min(weight, at->second);
  }
  return common;
}

std::vector<float> CollectDescriptors(ImageView<const float> descriptors, ImageView<const uint8_t> mask) {
  LUMEN_CHECK(descriptors.Width() == mask.Width() && descriptors.Height() == mask.Height());
  std::vector<float> collected;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      const float* pixel = descriptors.Pixel(x, y);
      collected.insert(collected.end(), pixel, pixel + descriptors.Channels());
    }
  }
  return collected;
}

Vocabulary Vocabulary::Train(const std::vector<std::vector<float>>& images, int channels,
                             const VocabularyOptions& options) {
  LUMEN_CHECK(channels > 0 && options.branching > 1 && options.depth > 0);
  const int64_t words = Power(options.branching, options.depth);
  LUMEN_CHECK(words <= kMaxWords);
  const std::vector<const float*> descriptors = Thin(images, channels, options.max_descriptors);
  if (static_cast<int64_t>(descriptors.size()) < words) {
    throw InputError(StrCat("a vocabulary of ", words, " words cannot be made of ", descriptors.size(),
                            " descriptors: give more images"));
  }
  Vocabulary vocabulary;
  vocabulary.channels_ = channels;
  vocabulary.branching_ = options.branching;
  std::vector<std::vector<const float*>> nodes{descriptors};
  const Random random(options.seed);
  for (int level = 0; level < options.depth; ++level) {
    std::vector<float>& centers = vocabulary.centers_.emplace_back();
    std::vector<std::vector<const float*>> children;
    for (size_t node = 0; node < nodes.size(); ++node) {
      // An empty node keeps a place in the tree that no descriptor is sent to.
      if (nodes[node].empty()) nodes[node].push_back(descriptors[0]);
      const Clusters clusters(nodes[node], channels, options.branching, options.iterations,
                              random.Split(static_cast<uint64_t>(level)).Split(node));
      centers.insert(centers.end(), clusters.Centers().begin(), clusters.Centers().end());
      for (int k = 0; k < options.branching; ++k) children.push_back(clusters.Members(k));
    }
    nodes = std::move(children);
  }
  // Inverse document frequency: log(images / images that have the word), never less than a little.
  vocabulary.inverse_frequency_.assign(static_cast<size_t>(words), 1.0F);
  std::vector<int> occurrences(static_cast<size_t>(words), 0);
  for (const std::vector<float>& image : images) {
    for (const auto& [word, weight] : vocabulary.Describe(image)) ++occurrences[static_cast<size_t>(word)];
  }
  for (size_t word = 0; word < occurrences.size(); ++word) {
    vocabulary.inverse_frequency_[word] = static_cast<float>(
        std::log((1.0 + static_cast<double>(images.size())) / (0.5 + std::max(0, occurrences[word]))));
    vocabulary.inverse_frequency_[word] = std::max(0.01F, vocabulary.inverse_frequency_[word]);
  }
  return vocabulary;
}

int Vocabulary::WordOf(const float* descriptor) const {
  int node = 0;
  for (size_t level = 0; level < centers_.size(); ++level)
    node = node * branching_ +
           NearestOf(descriptor, Center(static_cast<int>(level), node * branching_), branching_, channels_);
  return node;
}

template <typename Visit>
BagOfWords Vocabulary::Count(const Visit& for_each_descriptor) const {
  std::vector<int> counts(inverse_frequency_.size(), 0);
  for_each_descriptor([&](const float* descriptor) { ++counts[static_cast<size_t>(WordOf(descriptor))]; });
  BagOfWords bag;
  double total = 0;
  for (size_t word = 0; word < counts.size(); ++word) {
    if (counts[word] == 0) continue;
    const float weight = static_cast<float>(counts[word]) * inverse_frequency_[word];
    bag.emplace_back(static_cast<int>(word), weight);
    total += weight;
  }
  for (auto& [word, weight] : bag) weight = static_cast<float>(weight / total);
  return bag;
}

BagOfWords Vocabulary::Describe(ImageView<const float> descriptors, ImageView<const uint8_t> mask) const {
  LUMEN_CHECK(descriptors.Channels() == channels_);
  LUMEN_CHECK(descriptors.Width() == mask.Width() && descriptors.Height() == mask.Height());
  return Count([&](const auto& take) {
    for (int y = 0; y < mask.Height(); ++y) {
      for (int x = 0; x < mask.Width(); ++x) {
        if (mask(x, y) != 0) take(descriptors.Pixel(x, y));
      }
    }
  });
}

BagOfWords Vocabulary::Describe(const std::vector<float>& descriptors) const {
  return Count([&](const auto& take) {
    for (size_t i = 0; i + static_cast<size_t>(channels_) <= descriptors.size();
         i += static_cast<size_t>(channels_))
      take(descriptors.data() + i);
  });
}

void Vocabulary::Save(const std::filesystem::path& path) const {
  TensorFile file;
  for (size_t level = 0; level < centers_.size(); ++level) {
    const auto nodes = static_cast<int64_t>(centers_[level].size()) / channels_;
    file.tensors[StrCat("level", level)] = {{nodes, channels_}, centers_[level]};
  }
  file.tensors["inverse_frequency"] = {{NumWords()}, inverse_frequency_};
  file.metadata = notes;
  file.metadata["kind"] = "vocabulary";
  SaveSafetensors(path, file);
}

Vocabulary Vocabulary::Load(const std::filesystem::path& path) {
  TensorFile file = LoadSafetensors(path);
  if (file.metadata["kind"] != "vocabulary") Refuse(path, "not a vocabulary");
  const auto frequency = file.tensors.find("inverse_frequency");
  if (frequency == file.tensors.end()) Refuse(path, "no word weights");
  Vocabulary vocabulary;
  vocabulary.inverse_frequency_ = frequency->second.values;
  for (size_t level = 0;; ++level) {
    const auto found = file.tensors.find(StrCat("level", level));
    if (found == file.tensors.end()) break;
    const Tensor& centers = found->second;
    if (centers.shape.size() != 2 || centers.shape[0] < 2 || centers.shape[1] < 1 ||
        centers.shape[0] > kMaxWords)
      Refuse(path, StrCat("level ", level, " has a wrong shape"));
    if (level == 0) {
      vocabulary.branching_ = static_cast<int>(centers.shape[0]);
      vocabulary.channels_ = static_cast<int>(centers.shape[1]);
    }
    const int64_t expected =
        static_cast<int64_t>(vocabulary.centers_.empty() ? 1
                                                         : vocabulary.centers_.back().size() /
                                                               static_cast<size_t>(vocabulary.channels_)) *
        vocabulary.branching_;
    if (centers.shape[0] != expected || centers.shape[1] != vocabulary.channels_)
      Refuse(path, StrCat("level ", level, " does not fit the one above it"));
    vocabulary.centers_.push_back(centers.values);
  }
  if (vocabulary.centers_.empty()) Refuse(path, "no words");
  const auto words = vocabulary.centers_.back().size() / static_cast<size_t>(vocabulary.channels_);
  if (vocabulary.inverse_frequency_.size() != words) Refuse(path, "words and their weights differ in number");
  const auto finite = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  bool all_finite = finite(vocabulary.inverse_frequency_);
  for (const std::vector<float>& level : vocabulary.centers_) all_finite = all_finite && finite(level);
  if (!all_finite) Refuse(path, "numbers that are not finite");
  if (std::any_of(vocabulary.inverse_frequency_.begin(), vocabulary.inverse_frequency_.end(),
                  [](float v) { return v <= 0; }))
    Refuse(path, "a word's weight is not positive");
  vocabulary.notes = file.metadata;
  vocabulary.notes.erase("kind");
  return vocabulary;
}

}  // namespace lumen
