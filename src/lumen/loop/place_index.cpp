#include "lumen/loop/place_index.h"

#include <algorithm>

#include "lumen/base/error.h"

namespace lumen {

void PlaceIndex::Add(KeyframeId id, BagOfWords words) {
  LUMEN_CHECK(!bags_.contains(id));
  for (const auto& [word, weight] : words) occurrences_[word].emplace_back(id, weight);
  bags_.emplace(id, std::move(words));
}

void PlaceIndex::Remove(KeyframeId id) {
  const auto found = bags_.find(id);
  if (found == bags_.end()) return;
  for (const auto& [word, weight] : found->second)
    std::erase_if(occurrences_[word], [&](const auto& entry) { return entry.first == id; });
  bags_.erase(found);
}

const BagOfWords& PlaceIndex::Words(KeyframeId id) const {
  const auto found = bags_.find(id);
  LUMEN_CHECK(found != bags_.end());
  return found->second;
}

std::vector<PlaceScore> PlaceIndex::Ask(const BagOfWords& words, size_t most) const {
  std::unordered_map<KeyframeId, double> common;
  for (const auto& [word, weight] : words) {
    const auto found = occurrences_.find(word);
    if (found == occurrences_.end()) continue;
    for (const auto& [id, other] : found->second) common[id] += std::min(weight, other);
  }
  std::vector<PlaceScore> scores;
  for (const auto& [id, similarity] : common) scores.push_back({id, similarity});
  std::sort(scores.begin(), scores.end(), [](const PlaceScore& a, const PlaceScore& b) {
    return a.similarity == b.similarity ? a.id < b.id : a.similarity > b.similarity;
  });
  if (scores.size() > most) scores.resize(most);
  return scores;
}

}  // namespace lumen
