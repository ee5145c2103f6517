// Who looks alike: keyframes by their words, asked with a new frame's. An inverted file, so that asking
// costs what the frame's own words hold, not what the map does.
#pragma once

#include <unordered_map>
#include <vector>

#include "lumen/loop/vocabulary.h"
#include "lumen/scene/map.h"

namespace lumen {

struct PlaceScore {
  KeyframeId id = 0;
  double similarity = 0;
};

class PlaceIndex {
 public:
  void Add(KeyframeId id, BagOfWords words);
  void Remove(KeyframeId id);  // nothing happens if it is not there
  size_t Size() const { return bags_.size(); }
  bool Contains(KeyframeId id) const { return bags_.contains(id); }
  const BagOfWords& Words(KeyframeId id) const;

  // All that share a word, most similar first; ties by number, so that the answer does not depend on order
  // of insertion.
  std::vector<PlaceScore> Ask(const BagOfWords& words, size_t most) const;

 private:
  std::unordered_map<KeyframeId, BagOfWords> bags_;
  std::unordered_map<int, std::vector<std::pair<KeyframeId, float>>> occurrences_;  // by word
};

}  // namespace lumen
