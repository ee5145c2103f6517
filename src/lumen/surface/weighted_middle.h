// Medians: of many values, and of a few with weights.
#pragma once

#include <algorithm>
#include <vector>

namespace lumen {

// At least one. Puts them into another order.
inline float MedianOf(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Said {
  float value = 0, weight = 0;
};

// At least one. Sorts them, unless they all say the same to half a percent: then it is the mean.
inline float WeightedMiddle(std::vector<Said>& said) {
  constexpr float kSame = 1.005F;
  float low = said.front().value, high = low, sum = 0, whole = 0;
  for (const Said& one : said) {
    low = std::min(low, one.value);
    high = std::max(high, one.value);
    sum += one.weight * one.value;
    whole += one.weight;
  }
  if (high < kSame * low) return sum / whole;
  std::sort(said.begin(), said.end(), [](const Said& a, const Said& b) { return a.value < b.value; });
  float below = 0;
  for (const Said& one : said) {
    below += one.weight;
    if (2 * below >= whole) return one.value;
  }
  return said.back().value;
}

}  // namespace lumen
