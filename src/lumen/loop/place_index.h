// Who looks alike: keyframes by their words, asked with a new frame's. A frame has half of all words, so
// there is nothing to be gained from lists of who has which: every keyframe is met, but with sixteen-bit
// shares that are no smaller than the real ones, many at a time. Only who could be among the best is then
// compared exactly.
#pragma once

#include <cstdint>
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
  size_t Size() const { return slot_of_.size(); }
  bool Contains(KeyframeId id) const { return slot_of_.contains(id); }
  const BagOfWords& Words(KeyframeId id) const;

  // Those that share a word, most similar first; ties by number, so that the answer does not depend on order
  // of insertion.
  std::vector<PlaceScore> Ask(const BagOfWords& words, size_t most) const;

 private:
  static constexpr size_t kBlock = 64;
  // Keyframes that were added one after the other, by words: a row of shares for each word one of them has.
  struct Block {
    std::unordered_map<int, size_t> row_of;  // by word
    std::vector<int> words;                  // of the rows
    std::vector<uint16_t> shares;            // [row][keyframe of the block]
  };
  struct Entry {
    KeyframeId id = 0;
    BagOfWords words;  // none once it was removed
  };

  // What each entry's similarity cannot exceed.
  std::vector<uint16_t> Bounds(const BagOfWords& words) const;
  void SetShares(size_t slot, const BagOfWords& words, bool present);

  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  std::unordered_map<KeyframeId, size_t> slot_of_;
};

}  // namespace lumen
