#include "lumen/graph/incremental_smoother.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lumen/base/error.h"

namespace lumen {

void SmootherOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("relinearize", relinearize);
  visitor.Field("recentre", recentre, {.min = 0, .help = "largest tangent before it starts anew"});
  visitor.Field("wildfire", wildfire, {.min = 0, .help = "smallest change that back-substitution follows"});
  visitor.Field("max_error_rise", max_error_rise,
                {.min = 0, .help = "share by which re-evaluated factors' error may rise in one step"});
  visitor.Field("max_halvings", max_halvings,
                {.min = 0, .max = 30, .help = "how often a bad step is halved"});
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads that evaluate and eliminate"});
}

namespace {
constexpr const char* kStatusNames[] = {"updated", "step shortened", "step dropped"};
}  // namespace

std::string ToString(SmootherStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

SmootherSummary IncrementalSmoother::Update(const SmootherChange& change) {
  CheckChange(change);
  SmootherSummary summary;
  AddVariables(change.new_values);
  RemoveFactors(change.removed_factors);
  RemoveVariables(change.removed_variables);
  Hold(change.held, true);
  Hold(change.released, false);
  Reinitialize(change.reinitialized, summary);
  AddFactors(change.new_factors, summary);
  Eliminate(summary);
  TakeStep(summary);
  summary.error = error_;
  return summary;
}

// ---- what changes from outside

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
  const std::vector<int> strained = Strained(FactorsTouching(slots));
  Evaluate(strained, summary);
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

// ---- linearisations

void IncrementalSmoother::Touch(int factor) {
  pending_.touched.insert(pending_.touched.end(), Linear(factor).slots.begin(), Linear(factor).slots.end());
}

Eigen::VectorXd IncrementalSmoother::DeltaOf(const LinearFactor& linear) const {
  Eigen::VectorXd delta(linear.block.layout.TotalDimension());
  int row = 0;
  for (const int slot : linear.slots) {
    delta.segment(row, tree_.Dimension(slot)) = tree_.Delta(slot);
    row += tree_.Dimension(slot);
  }
  return delta;
}

void IncrementalSmoother::Evaluate(const std::vector<int>& factors, SmootherSummary& summary) {
  Store(factors, LinearizeAll(Gather(factors), estimate_, options_.threads));
  summary.evaluated_factors += static_cast<int>(factors.size());
}

void IncrementalSmoother::Store(const std::vector<int>& factors, std::vector<NormalBlock> blocks) {
  LUMEN_CHECK(AllFinite(blocks), "a factor gave numbers that are not finite");
  for (size_t i = 0; i < factors.size(); ++i) {
    const auto id = static_cast<size_t>(factors[i]);
    LinearFactor& linear = linear_[id];
    error_ += blocks[i].error - linear.block.error;
    linear.block = std::move(blocks[i]);
    at_[id].clear();
    for (const Key& key : factors_[id]->Keys()) at_[id].push_back(estimate_.At(key));
    linear.b = linear.block.b;
    linear.b.noalias() -= linear.block.H * DeltaOf(linear);
    Touch(factors[i]);
  }
}

void IncrementalSmoother::Carry(int factor) {
  const auto id = static_cast<size_t>(factor);
  LinearFactor& linear = linear_[id];
  linear.b = linear.block.b;
  linear.b.noalias() += linear.block.H * (factors_[id]->StepFrom(at_[id], estimate_) - DeltaOf(linear));
  Touch(factor);
}

void IncrementalSmoother::Recentre(const std::vector<int>& slots) {
  for (const int slot : slots) {
    const Key& key = keys_[static_cast<size_t>(slot)];
    theta_.Set(key, estimate_.At(key));
    tree_.SetDelta(slot, Eigen::VectorXd::Zero(tree_.Dimension(slot)));
  }
  for (const int factor : FactorsTouching(slots)) Carry(factor);
}

std::vector<int> IncrementalSmoother::Strained(const std::vector<int>& factors) const {
  std::vector<int> strained;
  for (const int factor : factors) {
    const auto id = static_cast<size_t>(factor);
    const Eigen::VectorXd step = factors_[id]->StepFrom(at_[id], estimate_);
    const BlockLayout& layout = Linear(factor).block.layout;
    double share = 0;
    for (int k = 0; k < layout.Size(); ++k) {
      const KeyKind kind = layout.Keys()[static_cast<size_t>(k)].kind;
      share = std::max(share,
                       options_.relinearize.Share(kind, step.segment(layout.Offset(k), layout.Dimension(k))));
    }
    if (share > 1) strained.push_back(factor);
  }
  return strained;
}

std::vector<int> IncrementalSmoother::FactorsTouching(const std::vector<int>& slots) const {
  std::vector<int> factors;
  for (const int slot : slots) {
    const auto& touching = factors_of_[static_cast<size_t>(slot)];
    factors.insert(factors.end(), touching.begin(), touching.end());
  }
  std::sort(factors.begin(), factors.end());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  return factors;
}

FactorGraph IncrementalSmoother::Gather(const std::vector<int>& factors) const {
  FactorGraph graph;
  for (const int factor : factors) graph.push_back(factors_[static_cast<size_t>(factor)]);
  return graph;
}

// ---- the step

void IncrementalSmoother::Eliminate(SmootherSummary& summary) {
  const EliminationSummary eliminated = tree_.Reeliminate(pending_, linear_, options_.threads);
  summary.eliminated_variables = eliminated.variables;
  summary.singular_cliques = eliminated.regularized;
  // What is kept last stays so until newer factors come: the next ones will attach there too.
  pending_.touched.clear();
  pending_.new_factors.clear();
  pending_.removed.clear();
}

// A step of the estimate, and what it takes to judge it.
struct IncrementalSmoother::Step {
  std::vector<int> slots;
  std::vector<Eigen::VectorXd> from, to;  // tangents
  Values before;                          // estimates
  std::vector<int> touched, strained;     // factors
  std::vector<NormalBlock> blocks;        // of those that are strained, after it
};

void IncrementalSmoother::TakeStep(SmootherSummary& summary) {
  const TreeSolution solution = tree_.Solve(options_.wildfire);
  summary.solved_variables = static_cast<int>(solution.slots.size());
  Step step;
  step.slots = solution.slots;
  const double* before = solution.before.data();
  for (const int slot : step.slots) {
    const int dimension = tree_.Dimension(slot);
    step.from.emplace_back(Eigen::Map<const Eigen::VectorXd>(before, dimension));
    step.to.emplace_back(tree_.Delta(slot));
    const Key& key = keys_[static_cast<size_t>(slot)];
    step.before.Insert(key, estimate_.At(key));
    summary.largest_step =
        std::max(summary.largest_step, (step.to.back() - step.from.back()).cwiseAbs().maxCoeff());
    before += dimension;
  }
  step.touched = FactorsTouching(step.slots);

  double fraction = 1;
  bool is_sound = MoveTo(step, fraction);
  step.strained = Strained(step.touched);
  is_sound = is_sound && IsSound(step);
  for (int halving = 0; !is_sound && halving < options_.max_halvings; ++halving) {
    summary.trial_evaluations += static_cast<int>(step.strained.size());
    fraction *= 0.5;
    is_sound = MoveTo(step, fraction) && IsSound(step);
  }
  if (!is_sound) MoveTo(step, fraction = 0);
  summary.step_fraction = fraction;
  if (fraction < 1) {  // the tree has to solve for these again
    summary.status = is_sound ? SmootherStatus::kStepShortened : SmootherStatus::kStepDropped;
    pending_.touched.insert(pending_.touched.end(), step.slots.begin(), step.slots.end());
  }
  if (is_sound) {
    summary.strained_factors = static_cast<int>(step.strained.size());
    summary.evaluated_factors += summary.strained_factors;
    Store(step.strained, std::move(step.blocks));
  }
  std::vector<int> far;
  for (const int slot : step.slots) {
    const auto delta = tree_.Delta(slot);
    const Eigen::Index place = std::min<Eigen::Index>(delta.size(), KeyframeValue::kPlace);
    if (delta.head(place).cwiseAbs().maxCoeff() > options_.recentre) far.push_back(slot);
  }
  if (!far.empty()) Recentre(far);
}

// Puts the estimate at this fraction of the step; false where numbers overflow.
bool IncrementalSmoother::MoveTo(const Step& step, double fraction) {
  for (size_t i = 0; i < step.slots.size(); ++i) {
    const Key& key = keys_[static_cast<size_t>(step.slots[i])];
    const Eigen::VectorXd delta = step.from[i] + fraction * (step.to[i] - step.from[i]);
    Value moved = fraction == 0 ? step.before.At(key) : Retract(theta_.At(key), delta);
    if (!IsFinite(moved)) return false;
    if (fraction < 1) tree_.SetDelta(step.slots[i], delta);
    estimate_.Set(key, std::move(moved));
  }
  return true;
}

// The same factors' errors before and after; what falls elsewhere, by the linearisations there, may rise
// here.
bool IncrementalSmoother::IsSound(Step& step) const {
  step.blocks = LinearizeAll(Gather(step.strained), estimate_, options_.threads);
  if (!AllFinite(step.blocks)) return false;
  double error = 0;
  for (const NormalBlock& block : step.blocks) error += block.error;
  const double allowed =
      ModelError(step.strained, Before(step, step.strained)) * (1 + options_.max_error_rise) + 1e-12;
  if (error <= allowed) return true;
  std::vector<int> others;
  std::set_difference(step.touched.begin(), step.touched.end(), step.strained.begin(), step.strained.end(),
                      std::back_inserter(others));
  const double fall = ModelError(others, Before(step, others)) - ModelError(others, estimate_);
  return error <= allowed + std::max(0.0, fall);
}

// What these factors saw before the step.
Values IncrementalSmoother::Before(const Step& step, const std::vector<int>& factors) const {
  Values before;
  for (const int factor : factors) {
    for (const Key& key : factors_[static_cast<size_t>(factor)]->Keys()) {
      if (before.Contains(key)) continue;
      before.Insert(key, step.before.Contains(key) ? step.before.At(key) : estimate_.At(key));
    }
  }
  return before;
}

double IncrementalSmoother::ModelError(const std::vector<int>& factors, const Values& values) const {
  double error = 0;
  for (const int factor : factors) {
    const auto id = static_cast<size_t>(factor);
    error += Linear(factor).block.PredictError(factors_[id]->StepFrom(at_[id], values));
  }
  return error;
}

// ---- what is known

Eigen::MatrixXd IncrementalSmoother::MarginalCovariance(const std::vector<Key>& keys) const {
  std::vector<int> slots;
  slots.reserve(keys.size());
  for (const Key& key : keys) slots.push_back(SlotOf(key));
  const bool any_held = std::any_of(slots_.begin(), slots_.end(),
                                    [&](const auto& entry) { return tree_.IsHeld(entry.second); });
  if (!any_held) return tree_.JointCovariance(slots);
  // With everything free, as the factors have kept it.
  BayesTree whole;
  TreeChange all;
  for (size_t slot = 0; slot < keys_.size(); ++slot) {
    whole.AddVariable(tree_.Dimension(static_cast<int>(slot)));
    if (!factors_of_[slot].empty()) all.touched.push_back(static_cast<int>(slot));
  }
  for (size_t factor = 0; factor < factors_.size(); ++factor) {
    if (factors_[factor] != nullptr) all.new_factors.push_back(static_cast<int>(factor));
  }
  whole.Reeliminate(all, linear_, options_.threads);
  return whole.JointCovariance(slots);
}

}  // namespace lumen
