#include "lumen/geometry/voting.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/error.h"

namespace lumen {

namespace {

// Sums over a set of measurements that agree, w = 1/bound².
struct Sums {
  double weight = 0;    // Σ w
  double weighted = 0;  // Σ w v
  double squares = 0;   // Σ w v²
  int members = 0;

  void Add(const Sums& other, double sign) {
    weight += sign * other.weight;
    weighted += sign * other.weighted;
    squares += sign * other.squares;
    members += sign > 0 ? other.members : -other.members;
  }
  void DropRounding() {
    if (members == 0) *this = {};
  }
  double Mean() const { return weighted / weight; }
  // What the members cost at their mean, everybody else costing one. No less than the least cost there is.
  double Cost(size_t all) const {
    const double spread = weight > 0 ? std::max(0.0, squares - weighted * Mean()) : 0.0;
    return spread + static_cast<double>(all) - members;
  }
};

Sums One(double value, double bound) {
  const double w = 1 / (bound * bound);
  return {w, w * value, w * value * value, 1};
}

// The line cut into buckets of equal width where most values are; the first and the last reach to infinity.
class Buckets {
 public:
  explicit Buckets(const std::vector<double>& values) {
    constexpr size_t kSampled = 256;
    constexpr size_t kPerBucket = 16;
    std::vector<double> sample;
    const size_t step = values.size() / kSampled + 1;
    for (size_t i = 0; i < values.size(); i += step) sample.push_back(values[i]);
    std::sort(sample.begin(), sample.end());
    low_ = sample[sample.size() / 16];
    high_ = sample[sample.size() - 1 - sample.size() / 16];
    if (high_ > low_) count_ = static_cast<int>(std::clamp<size_t>(values.size() / kPerBucket, 1, 4096));
    per_unit_ = count_ / (high_ - low_);
  }
  int Count() const { return count_; }
  // Never falls as `at` grows.
  int Of(double at) const {
    if (!(at > low_)) return 0;
    if (!(at < high_)) return count_ - 1;
    return std::min(count_ - 1, static_cast<int>((at - low_) * per_unit_));
  }

 private:
  double low_ = 0, high_ = 0, per_unit_ = 0;
  int count_ = 1;
};

struct Best {
  double cost = std::numeric_limits<double>::infinity();
  double value = 0;

  void Try(const Sums& sums, size_t all) {
    if (!(sums.weight > 0)) return;
    const double cost_of_sums = sums.Cost(all);
    if (cost_of_sums < cost) *this = {cost_of_sums, sums.Mean()};
  }
};

class Voting {
 public:
  Voting(const std::vector<double>& values, const std::vector<double>& bounds)
      : values_(values), bounds_(bounds), buckets_(values) {}

  double Solve() {
    Count();
    FindPromising();
    Best best;
    for (Bucket& bucket : content_) {
      if (bucket.promising) Sweep(bucket, best);
    }
    return best.value;
  }

 private:
  struct Bucket {
    Sums core;         // of those who agree with all of the bucket
    int touching = 0;  // those who agree with a part of it
    bool promising = false;
    std::vector<int> who;  // the latter, where it is promising
  };
  struct End {
    double at;
    int index;
    double sign;
  };

  std::pair<int, int> BucketsOf(size_t i) const {
    return {buckets_.Of(values_[i] - bounds_[i]), buckets_.Of(values_[i] + bounds_[i])};
  }

  void Count() {
    content_.resize(static_cast<size_t>(buckets_.Count()));
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto [first, last] = BucketsOf(i);
      ++content_[static_cast<size_t>(first)].touching;
      if (first == last) continue;
      ++content_[static_cast<size_t>(last)].touching;
      if (first + 1 == last) continue;
      // As differences between one bucket and the next.
      const Sums one = One(values_[i], bounds_[i]);
      content_[static_cast<size_t>(first + 1)].core.Add(one, 1);
      content_[static_cast<size_t>(last)].core.Add(one, -1);
    }
    for (size_t k = 1; k < content_.size(); ++k) {
      content_[k].core.Add(content_[k - 1].core, 1);
      content_[k].core.DropRounding();
    }
  }

  // Whoever agrees somewhere in a bucket is in its core or touches it, and each of the latter lowers the
  // core's cost by one at most. The core's cost itself can be had. So most buckets cannot hold the best.
  void FindPromising() {
    const size_t all = values_.size();
    double reachable = static_cast<double>(all);
    for (const Bucket& bucket : content_) reachable = std::min(reachable, bucket.core.Cost(all));
    const double rounding = 1e-9 * static_cast<double>(all);
    for (Bucket& bucket : content_)
      bucket.promising = bucket.core.Cost(all) - bucket.touching <= reachable + rounding;
    for (size_t i = 0; i < all; ++i) {
      const auto [first, last] = BucketsOf(i);
      Bucket& opens = content_[static_cast<size_t>(first)];
      Bucket& closes = content_[static_cast<size_t>(last)];
      if (opens.promising) opens.who.push_back(static_cast<int>(i));
      if (closes.promising && first != last) closes.who.push_back(static_cast<int>(i));
    }
  }

  // Over the ends within the bucket in order, keeping the sums of those who agree at the time.
  void Sweep(const Bucket& bucket, Best& best) const {
    const int number = static_cast<int>(&bucket - content_.data());
    Sums sums = bucket.core;
    std::vector<End> ends;
    for (const int i : bucket.who) {
      const auto index = static_cast<size_t>(i);
      const auto [first, last] = BucketsOf(index);
      if (first == number)
        ends.push_back({values_[index] - bounds_[index], i, 1});
      else
        sums.Add(One(values_[index], bounds_[index]), 1);
      if (last == number) ends.push_back({values_[index] + bounds_[index], i, -1});
    }
    std::stable_sort(ends.begin(), ends.end(), [](const End& x, const End& y) { return x.at < y.at; });
    best.Try(sums, values_.size());
    for (const End& end : ends) {
      const auto index = static_cast<size_t>(end.index);
      sums.Add(One(values_[index], bounds_[index]), end.sign);
      sums.DropRounding();
      best.Try(sums, values_.size());
    }
  }

  const std::vector<double>& values_;
  const std::vector<double>& bounds_;
  Buckets buckets_;
  std::vector<Bucket> content_;
};

}  // namespace

Vote EstimateByVoting(const std::vector<double>& values, const std::vector<double>& bounds) {
  LUMEN_CHECK(values.size() == bounds.size());
  Vote vote;
  if (values.empty()) return vote;
  vote.value = Voting(values, bounds).Solve();
  Sums agreeing;
  for (size_t i = 0; i < values.size(); ++i) {
    vote.agrees.push_back(std::abs(values[i] - vote.value) <= bounds[i]);
    if (vote.agrees.back() != 0) agreeing.Add(One(values[i], bounds[i]), 1);
  }
  // Summed up afresh: running sums carry the rounding of all who came and went.
  if (agreeing.weight > 0) vote.value = agreeing.Mean();
  return vote;
}

}  // namespace lumen
