#include "lumen/eval/status_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr double kLeastLogOdds = -8, kLogOddsPerBin = 16.0 / StatusScore::kBins;

int BinOf(double probability) {
  const double p = std::clamp(probability, 1e-9, 1 - 1e-9);
  const double bin = (std::log(p / (1 - p)) - kLeastLogOdds) / kLogOddsPerBin;
  return static_cast<int>(std::clamp(bin, 0.0, StatusScore::kBins - 1.0));
}

double ShareOf(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

template <typename Counts>
Json ToArray(const Counts& counts) {
  Json array = Json::MakeArray();
  for (const int64_t count : counts) array.Append(count);
  return array;
}

template <typename Counts>
void ReadArray(const Json& json, Counts& counts) {
  const auto& array = json.AsArray();
  if (array.size() != counts.size()) throw InputError("statuses: not as many bins as there are");
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = array[i].AsInteger();
}

}  // namespace

int64_t StatusScore::Sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

void StatusScore::AddPlaced(double probability, bool sure, bool off) {
  ++(off ? off_ : good_)[static_cast<size_t>(BinOf(probability))];
  if (off && sure) ++off_tracked_;
  if (!off && !sure) ++good_weak_;
}

void StatusScore::Add(const StatusScore& other) {
  for (size_t i = 0; i < good_.size(); ++i) {
    good_[i] += other.good_[i];
    off_[i] += other.off_[i];
  }
  good_weak_ += other.good_weak_;
  off_tracked_ += other.off_tracked_;
  lost_ += other.lost_;
}

double StatusScore::OffCalledTracked() const { return ShareOf(off_tracked_, Off()); }
double StatusScore::GoodCalledWeak() const { return ShareOf(good_weak_, Good()); }

double StatusScore::Auc() const {
  LUMEN_CHECK(HasAuc());
  double pairs = 0;
  int64_t good_below = 0;
  for (size_t i = 0; i < good_.size(); ++i) {
    // Within a bin neither is likelier.
    pairs += static_cast<double>(off_[i]) *
             (static_cast<double>(good_below) + 0.5 * static_cast<double>(good_[i]));
    good_below += good_[i];
  }
  return pairs / (static_cast<double>(Off()) * static_cast<double>(Good()));
}

StatusScore::Bin StatusScore::BinAt(int bin) const {
  const auto i = static_cast<size_t>(bin);
  const double log_odds = kLeastLogOdds + (bin + 0.5) * kLogOddsPerBin;
  const int64_t frames = good_[i] + off_[i];
  return {1 / (1 + std::exp(-log_odds)), frames, ShareOf(off_[i], frames)};
}

Json StatusScore::ToJson() const {
  Json json = Json::MakeObject();
  json["placed"] = Placed();
  json["off"] = Off();
  json["lost"] = lost_;
  if (HasAuc()) json["auc"] = Auc();
  json["off_called_tracked"] = off_tracked_;
  json["good_called_weak"] = good_weak_;
  json["good_by_log_odds"] = ToArray(good_);
  json["off_by_log_odds"] = ToArray(off_);
  return json;
}

StatusScore StatusScore::FromJson(const Json& json) {
  StatusScore score;
  ReadArray(json.At("good_by_log_odds"), score.good_);
  ReadArray(json.At("off_by_log_odds"), score.off_);
  score.off_tracked_ = json.At("off_called_tracked").AsInteger();
  score.good_weak_ = json.At("good_called_weak").AsInteger();
  score.lost_ = json.At("lost").AsInteger();
  return score;
}

}  // namespace lumen
