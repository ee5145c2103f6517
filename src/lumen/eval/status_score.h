// Whether a run is right about which of its frames are off: how likely it said that was, against the truth
// (docs/evaluation.md).
#pragma once

#include <array>
#include <cstdint>

#include "lumen/base/json.h"

namespace lumen {

// Frames counted by what was said of them. Counts of several runs may be added up.
class StatusScore {
 public:
  // A frame that was placed; `sure`: it was called tracked rather than weak.
  void AddPlaced(double probability, bool sure, bool off);
  void AddLost() { ++lost_; }
  void Add(const StatusScore& other);

  int64_t Placed() const { return Off() + Good(); }
  int64_t Off() const { return Sum(off_); }
  int64_t Good() const { return Sum(good_); }
  int64_t Lost() const { return lost_; }
  // Of the frames that are off, the share called tracked; of the good ones, the share called weak. 0 of none.
  double OffCalledTracked() const;
  double GoodCalledWeak() const;
  // The chance that of a frame that is off and a good one the former was said to be likelier off; nothing
  // where one of the kinds is missing.
  double Auc() const;
  bool HasAuc() const { return Off() > 0 && Good() > 0; }
  // Frames that were said to be off with about this probability, and the share that were.
  struct Bin {
    double probability = 0;
    int64_t frames = 0;
    double off = 0;
  };
  static constexpr int kBins = 48;
  Bin BinAt(int bin) const;

  Json ToJson() const;
  static StatusScore FromJson(const Json& json);  // throws InputError

 private:
  using Counts = std::array<int64_t, kBins>;  // evenly in the logarithm of the odds
  static int64_t Sum(const Counts& counts);

  Counts good_{}, off_{};
  int64_t good_weak_ = 0, off_tracked_ = 0, lost_ = 0;
};

}  // namespace lumen
