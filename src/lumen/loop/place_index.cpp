#include "lumen/loop/place_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr double kWhole = 60000;  // in shares: leaves room for rounding up

uint16_t ShareOf(float weight) {
  return static_cast<uint16_t>(std::clamp(std::ceil(kWhole * static_cast<double>(weight)), 0.0, kWhole));
}

// Similarity() to the bit, with the one side laid out for being looked up.
class Question {
 public:
  explicit Question(const BagOfWords& words)
      : weights_(words.empty() ? 0 : static_cast<size_t>(words.back().first) + 1) {
    for (const auto& [word, weight] : words) weights_[static_cast<size_t>(word)] = weight;
  }
  double SimilarityTo(const BagOfWords& other) const {
    double common = 0;
    for (const auto& [word, weight] : other) {
      if (static_cast<size_t>(word) >= weights_.size()) break;
      common += std::min(weight, weights_[static_cast<size_t>(word)]);
    }
    return common;
  }

 private:
  std::vector<float> weights_;
};

bool ComesFirst(const PlaceScore& a, const PlaceScore& b) {
  return a.similarity == b.similarity ? a.id < b.id : a.similarity > b.similarity;
}

}  // namespace

void PlaceIndex::Add(KeyframeId id, BagOfWords words) {
  LUMEN_CHECK(!Contains(id));
  const size_t slot = entries_.size();
  if (slot % kBlock == 0) blocks_.emplace_back();
  slot_of_.emplace(id, slot);
  SetShares(slot, words, true);
  entries_.push_back({id, std::move(words)});
}

void PlaceIndex::Remove(KeyframeId id) {
  const auto found = slot_of_.find(id);
  if (found == slot_of_.end()) return;
  Entry& entry = entries_[found->second];
  SetShares(found->second, entry.words, false);
  entry.words.clear();
  slot_of_.erase(found);
}

void PlaceIndex::SetShares(size_t slot, const BagOfWords& words, bool present) {
  Block& block = blocks_[slot / kBlock];
  for (const auto& [word, weight] : words) {
    const auto [row, is_new] = block.row_of.emplace(word, block.words.size());
    if (is_new) {
      block.words.push_back(word);
      block.shares.resize(block.shares.size() + kBlock, 0);
    }
    block.shares[row->second * kBlock + slot % kBlock] = present ? ShareOf(weight) : uint16_t{0};
  }
}

const BagOfWords& PlaceIndex::Words(KeyframeId id) const {
  const auto found = slot_of_.find(id);
  LUMEN_CHECK(found != slot_of_.end());
  return entries_[found->second].words;
}

std::vector<uint16_t> PlaceIndex::Bounds(const BagOfWords& words) const {
  std::vector<uint16_t> asked(words.empty() ? 0 : static_cast<size_t>(words.back().first) + 1, 0);
  for (const auto& [word, weight] : words) asked[static_cast<size_t>(word)] = ShareOf(weight);
  std::vector<uint16_t> bounds;
  for (const Block& block : blocks_) {
    std::array<uint16_t, kBlock> sums{};
    for (size_t row = 0; row < block.words.size(); ++row) {
      const auto word = static_cast<size_t>(block.words[row]);
      if (word >= asked.size() || asked[word] == 0) continue;
      const uint16_t share = asked[word];
      const uint16_t* others = block.shares.data() + row * kBlock;
      for (size_t i = 0; i < kBlock; ++i) {
        const auto sum = static_cast<uint16_t>(sums[i] + std::min(share, others[i]));
        sums[i] = sum < sums[i] ? std::numeric_limits<uint16_t>::max() : sum;  // no bound where it overflows
      }
    }
    bounds.insert(bounds.end(), sums.begin(), sums.end());
  }
  bounds.resize(entries_.size());
  return bounds;
}

std::vector<PlaceScore> PlaceIndex::Ask(const BagOfWords& words, size_t most) const {
  if (most == 0) return {};
  const std::vector<uint16_t> bounds = Bounds(words);
  std::vector<size_t> slots(entries_.size());
  std::iota(slots.begin(), slots.end(), size_t{0});
  std::erase_if(slots, [&](size_t slot) { return bounds[slot] == 0; });
  const auto likely_end = slots.begin() + static_cast<int64_t>(std::min(most, slots.size()));
  if (likely_end != slots.end())
    std::nth_element(slots.begin(), likely_end, slots.end(),
                     [&](size_t a, size_t b) { return bounds[a] > bounds[b]; });
  const Question question(words);
  const auto score = [&](size_t slot) {
    return PlaceScore{entries_[slot].id, question.SimilarityTo(entries_[slot].words)};
  };
  std::vector<PlaceScore> scores;
  double least = 1;
  for (auto slot = slots.begin(); slot != likely_end; ++slot) {
    scores.push_back(score(*slot));
    least = std::min(least, scores.back().similarity);
  }
  // Whoever cannot be as similar as the last of these is not among the best.
  const double needed = kWhole * (least - 1e-9);
  for (auto slot = likely_end; slot != slots.end(); ++slot) {
    if (bounds[*slot] >= needed) scores.push_back(score(*slot));
  }
  std::sort(scores.begin(), scores.end(), ComesFirst);
  if (scores.size() > most) scores.resize(most);
  return scores;
}

}  // namespace lumen
