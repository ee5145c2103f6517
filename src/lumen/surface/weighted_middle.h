// The weighted median of a few values.
#pragma once

#include <algorithm>
#include <vector>

namespace lumen {

struct Said {
  float value = 0, weight = 0;
};

// Sorts them; at least one.
inline float WeightedMiddle(std::vector<Said>& said) {
  std::sort(said.begin(), said.end(), [](const Said& a, const Said& b) { return a.value < b.value; });
  float weights = 0, below = 0;
  for (const Said& one : said) weights += one.weight;
  for (const Said& one : said) {
    below += one.weight;
    if (2 * below >= weights) return one.value;
  }
  return said.back().value;
}

}  // namespace lumen
