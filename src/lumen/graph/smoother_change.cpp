// What changes in an IncrementalSmoother from outside: variables and factors that come and go, are held or
// put elsewhere.
#include <set>

#include "lumen/base/error.h"
#include "lumen/graph/incremental_smoother.h"

namespace lumen {

// All contracts first, so that a broken one leaves the smoother as it was.
void IncrementalSmoother::CheckChange(const SmootherChange& change) const {
  for (const Key& key : change.new_values.Keys()) {
    LUMEN_CHECK(!Contains(key), ToString(key), " is there already");
  }
  for (const Key& key : change.reinitialized.Keys()) {
    LUMEN_CHECK(Dimension(estimate_.At(key)) == Dimension(change.reinitialized.At(key)));
  }
  std::set<FactorId> removed;
  for (const FactorId id : change.removed_factors) {
    const bool is_there = id >= 0 && id < static_cast<FactorId>(factors_.size()) &&
                          factors_[static_cast<size_t>(id)] != nullptr;
    LUMEN_CHECK(is_there && removed.insert(id).second, "factor ", id, " is not there");
  }
  std::set<Key> gone;
  for (const Key& key : change.removed_variables) {
    LUMEN_CHECK(Contains(key) && gone.insert(key).second, ToString(key), " is not there");
    for (const int factor : factors_of_[static_cast<size_t>(SlotOf(key))])
      LUMEN_CHECK(removed.contains(factor), "factor ", factor, " still holds ", ToString(key));
  }
  for (const auto* keys : {&change.held, &change.released}) {
    for (const Key& key : *keys)
      LUMEN_CHECK(key.kind == KeyKind::kKeyframe && Contains(key) && !gone.contains(key), ToString(key));
  }
  for (const FactorPtr& factor : change.new_factors) {
    LUMEN_CHECK(factor != nullptr && !factor->Keys().empty(), "a factor needs keys");
    for (const Key& key : factor->Keys()) {
      const bool is_there = (Contains(key) && !gone.contains(key)) || change.new_values.Contains(key);
      LUMEN_CHECK(is_there, ToString(key), " is not there");
    }
  }
}

int IncrementalSmoother::SlotOf(const Key& key) const {
  const auto found = slots_.find(key);
  LUMEN_CHECK(found != slots_.end(), ToString(key), " is not there");
  return found->second;
}

void IncrementalSmoother::AddVariables(const Values& values) {
  for (const Key& key : values.Keys()) {
    theta_.Insert(key, values.At(key));
    estimate_.Insert(key, values.At(key));
    slots_.emplace(key, tree_.AddVariable(Dimension(values.At(key))));
    keys_.push_back(key);
    factors_of_.emplace_back();
  }
}

void IncrementalSmoother::RemoveFactors(const std::vector<FactorId>& ids) {
  for (const FactorId id : ids) {
    const int factor = static_cast<int>(id);
    Touch(factor);
    for (const int slot : Linear(factor).slots) std::erase(factors_of_[static_cast<size_t>(slot)], factor);
    error_ -= Linear(factor).block.error;
    linear_[static_cast<size_t>(id)] = {};
    at_[static_cast<size_t>(id)] = {};
    factors_[static_cast<size_t>(id)] = nullptr;
    std::erase(waiting_, factor);
    --num_factors_;
  }
}

void IncrementalSmoother::RemoveVariables(const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    const int slot = SlotOf(key);
    pending_.touched.push_back(slot);
    pending_.removed.push_back(slot);
    std::erase(pending_.keep_last, slot);
    slots_.erase(key);
    theta_.Erase(key);
    estimate_.Erase(key);
  }
}

void IncrementalSmoother::Hold(const std::vector<Key>& keys, bool held) {
  for (const Key& key : keys) {
    const int slot = SlotOf(key);
    if (tree_.IsHeld(slot) == held) continue;
    tree_.SetFree(slot, held ? KeyframeValue::kPlace : tree_.Dimension(slot));
    for (const int factor : factors_of_[static_cast<size_t>(slot)]) Touch(factor);
  }
}

void IncrementalSmoother::Reinitialize(const Values& values, SmootherSummary& summary) {
  if (values.Size() == 0) return;
  std::vector<int> slots;
  for (const Key& key : values.Keys()) {
    estimate_.Set(key, values.At(key));
    slots.push_back(SlotOf(key));
  }
  Recentre(slots);
  Evaluate(Foremost(Strained(FactorsTouching(slots))), summary);
}

void IncrementalSmoother::AddFactors(const FactorGraph& factors, SmootherSummary& summary) {
  if (factors.empty()) return;
  std::vector<int> added;
  pending_.keep_last.clear();
  for (const FactorPtr& factor : factors) {
    const int id = static_cast<int>(factors_.size());
    LinearFactor linear;
    for (const Key& key : factor->Keys()) {
      const int slot = SlotOf(key);
      linear.slots.push_back(slot);
      factors_of_[static_cast<size_t>(slot)].push_back(id);
      pending_.keep_last.push_back(slot);
    }
    factors_.push_back(factor);
    linear_.push_back(std::move(linear));
    at_.emplace_back();
    added.push_back(id);
    summary.new_factor_ids.push_back(id);
  }
  num_factors_ += factors.size();
  pending_.new_factors = added;
  Evaluate(added, summary);
}

}  // namespace lumen
