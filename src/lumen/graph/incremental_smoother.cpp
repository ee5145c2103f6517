#include "lumen/graph/incremental_smoother.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lumen/base/error.h"

namespace lumen {

void SmootherOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("relinearize", relinearize);
  visitor.Field("recentre", recentre, {.min = 0, .help = "largest tangent before it starts anew"});
  visitor.Field("held_slack", held_slack,
                {.min = 1, .help = "by how much wider the thresholds are where everything is held"});
  visitor.Field("wildfire", wildfire, {.min = 0, .help = "smallest change that back-substitution follows"});
  visitor.Field("max_error_rise", max_error_rise,
                {.min = 0, .help = "share by which re-evaluated factors' error may rise in one step"});
  visitor.Field("max_halvings", max_halvings,
                {.min = 0, .max = 30, .help = "how often a bad step is halved"});
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads that evaluate and eliminate"});
}

namespace {
// So far beyond its thresholds, in their unit, what a factor knew is worth nothing.
constexpr double kFar = 20;
constexpr const char* kStatusNames[] = {"updated", "step shortened", "step dropped"};
}  // namespace

std::string ToString(SmootherStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

SmootherSummary IncrementalSmoother::Update(const SmootherChange& change, int most_evaluations) {
  CheckChange(change);
  most_evaluations_ = most_evaluations > 0 ? static_cast<size_t>(most_evaluations) : SIZE_MAX;
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

double IncrementalSmoother::StrainOf(int factor) const {
  const auto id = static_cast<size_t>(factor);
  const Eigen::VectorXd step = factors_[id]->StepFrom(at_[id], estimate_);
  const BlockLayout& layout = Linear(factor).block.layout;
  double share = 0;
  for (int k = 0; k < layout.Size(); ++k) {
    const KeyKind kind = layout.Keys()[static_cast<size_t>(k)].kind;
    share = std::max(share,
                     options_.relinearize.Share(kind, step.segment(layout.Offset(k), layout.Dimension(k))));
  }
  const std::vector<int>& slots = Linear(factor).slots;
  const bool is_held = std::all_of(slots.begin(), slots.end(), [&](int slot) { return tree_.IsHeld(slot); });
  return is_held ? share / options_.held_slack : share;
}

std::vector<IncrementalSmoother::Strain> IncrementalSmoother::Strained(
    const std::vector<int>& factors) const {
  std::vector<int> asked;
  std::set_union(factors.begin(), factors.end(), waiting_.begin(), waiting_.end(), std::back_inserter(asked));
  std::vector<Strain> strained;
  for (const int factor : asked) {
    const double share = StrainOf(factor);
    if (share > 1) strained.push_back({factor, share});
  }
  std::stable_sort(strained.begin(), strained.end(),
                   [](const Strain& a, const Strain& b) { return a.share > b.share; });
  return strained;
}

std::vector<int> IncrementalSmoother::Foremost(const std::vector<Strain>& strained) {
  std::vector<int> now;
  waiting_.clear();
  for (const Strain& strain : strained) {
    const bool waits = now.size() >= most_evaluations_ && strain.share < kFar;
    (waits ? waiting_ : now).push_back(strain.factor);
  }
  std::sort(waiting_.begin(), waiting_.end());
  std::sort(now.begin(), now.end());
  return now;
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
  const std::vector<Strain> strained = Strained(step.touched);
  step.strained = Foremost(strained);
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
    summary.strained_factors = static_cast<int>(strained.size());
    summary.evaluated_factors += static_cast<int>(step.strained.size());
    Store(step.strained, std::move(step.blocks));
  } else {
    // All of them, if they still are where the estimate is now.
    waiting_.insert(waiting_.end(), step.strained.begin(), step.strained.end());
    std::sort(waiting_.begin(), waiting_.end());
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

Eigen::MatrixXd IncrementalSmoother::JointCovariance(const std::vector<Key>& keys, int entries) const {
  std::vector<int> slots;
  slots.reserve(keys.size());
  for (const Key& key : keys) slots.push_back(SlotOf(key));
  return tree_.JointCovariance(slots, entries);
}

std::map<Key, Eigen::MatrixXd> IncrementalSmoother::Covariances(int entries) const {
  std::vector<Eigen::MatrixXd> by_slot = tree_.Covariances(entries);
  std::map<Key, Eigen::MatrixXd> by_key;
  for (const auto& [key, slot] : slots_) by_key.emplace(key, std::move(by_slot[static_cast<size_t>(slot)]));
  return by_key;
}

std::map<Key, Eigen::MatrixXd> IncrementalSmoother::ApplyInverse(const std::map<Key, Eigen::MatrixXd>& rhs,
                                                                 int columns) const {
  std::unordered_map<int, Eigen::MatrixXd> by_slot;
  for (const auto& [key, given] : rhs) {
    const int slot = SlotOf(key);
    Eigen::MatrixXd& rows = by_slot[slot];
    rows.setZero(tree_.FreeDimension(slot), columns);
    rows.topRows(given.rows()) = given;
  }
  std::vector<Eigen::MatrixXd> solved = tree_.ApplyInverse(std::move(by_slot), columns);
  std::map<Key, Eigen::MatrixXd> by_key;
  for (const auto& [key, slot] : slots_) by_key.emplace(key, std::move(solved[static_cast<size_t>(slot)]));
  return by_key;
}

}  // namespace lumen
