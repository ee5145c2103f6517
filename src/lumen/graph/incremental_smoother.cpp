#include "lumen/graph/incremental_smoother.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lumen/base/error.h"

namespace lumen {

void SmootherOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("relinearize", relinearize);
  visitor.Field("wildfire", wildfire, {.min = 0, .help = "smallest change that back-substitution follows"});
  visitor.Field("max_error_rise", max_error_rise,
                {.min = 0, .help = "share by which re-evaluated factors' error may rise in one step"});
  visitor.Field("max_halvings", max_halvings,
                {.min = 0, .max = 30, .help = "how often a bad step is halved"});
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads that evaluate factors"});
}

namespace {
constexpr const char* kStatusNames[] = {"updated", "step shortened", "step dropped"};
}  // namespace

std::string ToString(SmootherStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

// A proposed move of linearisation points, and what it takes to judge it.
struct IncrementalSmoother::Move {
  std::vector<int> slots;
  std::vector<int> factors;  // that touch them
  std::vector<Value> from;
  std::vector<Eigen::VectorXd> step;
  double error = 0;  // of these factors, before
  std::vector<NormalBlock> blocks;
};

SmootherSummary IncrementalSmoother::Update(const SmootherChange& change) {
  CheckChange(change);
  SmootherSummary summary;
  AddVariables(change.new_values);
  RemoveFactors(change.removed_factors);
  Reinitialize(change.reinitialized, summary);
  AddFactors(change.new_factors, summary);
  Eliminate(summary);
  const std::vector<int> solved = tree_.Solve(options_.wildfire);
  summary.solved_variables = static_cast<int>(solved.size());
  MoveLinearizationPoints(solved, summary);
  summary.error = error_;
  return summary;
}

// All contracts first, so that a broken one leaves the smoother as it was.
void IncrementalSmoother::CheckChange(const SmootherChange& change) const {
  for (const Key& key : change.new_values.Keys()) {
    LUMEN_CHECK(!theta_.Contains(key), ToString(key), " is there already");
  }
  for (const Key& key : change.reinitialized.Keys()) {
    LUMEN_CHECK(Dimension(theta_.At(key)) == Dimension(change.reinitialized.At(key)));
  }
  for (const FactorPtr& factor : change.new_factors) {
    LUMEN_CHECK(factor != nullptr && !factor->Keys().empty(), "a factor needs keys");
    for (const Key& key : factor->Keys()) {
      LUMEN_CHECK(theta_.Contains(key) || change.new_values.Contains(key), ToString(key), " is not there");
    }
  }
  std::set<FactorId> removed;
  for (const FactorId id : change.removed_factors) {
    const bool is_there = id >= 0 && id < static_cast<FactorId>(factors_.size()) &&
                          factors_[static_cast<size_t>(id)] != nullptr;
    LUMEN_CHECK(is_there && removed.insert(id).second, "factor ", id, " is not there");
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
    slots_.emplace(key, tree_.AddVariable(Dimension(values.At(key))));
    keys_.push_back(key);
    factors_of_.emplace_back();
  }
}

void IncrementalSmoother::RemoveFactors(const std::vector<FactorId>& ids) {
  for (const FactorId id : ids) {
    const int factor = static_cast<int>(id);
    for (const int slot : Linear(factor).slots) {
      std::erase(factors_of_[static_cast<size_t>(slot)], factor);
      pending_.touched.push_back(slot);
    }
    error_ -= Linear(factor).block.error;
    linear_[static_cast<size_t>(id)] = {};
    factors_[static_cast<size_t>(id)] = nullptr;
    --num_factors_;
  }
}

void IncrementalSmoother::Reinitialize(const Values& values, SmootherSummary& summary) {
  if (values.Size() == 0) return;
  std::vector<int> slots;
  for (const Key& key : values.Keys()) {
    const int slot = SlotOf(key);
    theta_.Set(key, values.At(key));
    tree_.ResetDelta(slot);
    slots.push_back(slot);
  }
  pending_.touched.insert(pending_.touched.end(), slots.begin(), slots.end());
  const std::vector<int> factors = FactorsTouching(slots);
  StoreLinearizations(factors, LinearizeAll(Gather(factors), theta_, options_.threads));
  summary.evaluated_factors += static_cast<int>(factors.size());
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
    added.push_back(id);
    summary.new_factor_ids.push_back(id);
  }
  num_factors_ += factors.size();
  pending_.new_factors = added;
  StoreLinearizations(added, LinearizeAll(factors, theta_, options_.threads));
  summary.evaluated_factors += static_cast<int>(factors.size());
}

void IncrementalSmoother::StoreLinearizations(const std::vector<int>& factors,
                                              std::vector<NormalBlock> blocks) {
  LUMEN_CHECK(AllFinite(blocks), "a factor gave numbers that are not finite");
  for (size_t i = 0; i < factors.size(); ++i) {
    LinearFactor& linear = linear_[static_cast<size_t>(factors[i])];
    error_ += blocks[i].error - linear.block.error;
    linear.block = std::move(blocks[i]);
    pending_.touched.insert(pending_.touched.end(), linear.slots.begin(), linear.slots.end());
  }
}

void IncrementalSmoother::Eliminate(SmootherSummary& summary) {
  const EliminationSummary eliminated = tree_.Reeliminate(pending_, linear_);
  summary.eliminated_variables = eliminated.variables;
  summary.singular_cliques = eliminated.regularized;
  // What is kept last stays so until newer factors come: the next ones will attach there too.
  pending_.touched.clear();
  pending_.new_factors.clear();
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

// Only what was solved just now can have passed its threshold.
void IncrementalSmoother::MoveLinearizationPoints(const std::vector<int>& solved, SmootherSummary& summary) {
  Move move;
  for (const int slot : solved) {
    const Key& key = keys_[static_cast<size_t>(slot)];
    const auto delta = tree_.Delta(slot);
    const double size = delta.cwiseAbs().maxCoeff();
    summary.largest_step = std::max(summary.largest_step, size);
    if (size <= options_.relinearize.Of(key.kind)) continue;
    move.slots.push_back(slot);
    move.from.push_back(theta_.At(key));
    move.step.emplace_back(delta);
  }
  if (move.slots.empty()) return;
  move.factors = FactorsTouching(move.slots);
  for (const int factor : move.factors) move.error += Linear(factor).block.error;

  double fraction = 1;
  bool is_sound = TryMove(move, fraction, summary);
  for (int halving = 0; !is_sound && halving < options_.max_halvings; ++halving) {
    fraction *= 0.5;
    is_sound = TryMove(move, fraction, summary);
  }
  for (const int slot : move.slots) tree_.ResetDelta(slot);
  pending_.touched.insert(pending_.touched.end(), move.slots.begin(), move.slots.end());
  summary.step_fraction = is_sound ? fraction : 0;
  if (!is_sound) {
    for (size_t i = 0; i < move.slots.size(); ++i) {
      theta_.Set(keys_[static_cast<size_t>(move.slots[i])], move.from[i]);
    }
    summary.status = SmootherStatus::kStepDropped;
    return;
  }
  if (fraction < 1) summary.status = SmootherStatus::kStepShortened;
  summary.relinearized_variables = static_cast<int>(move.slots.size());
  summary.evaluated_factors += static_cast<int>(move.factors.size());
  StoreLinearizations(move.factors, std::move(move.blocks));
}

// What the cached linearisations say about a fraction of the move.
double IncrementalSmoother::PredictError(const Move& move, double fraction) const {
  std::unordered_map<int, size_t> place;
  for (size_t i = 0; i < move.slots.size(); ++i) place.emplace(move.slots[i], i);
  double predicted = 0;
  for (const int factor : move.factors) {
    const LinearFactor& linear = Linear(factor);
    const BlockLayout& layout = linear.block.layout;
    Eigen::VectorXd step = Eigen::VectorXd::Zero(layout.TotalDimension());
    for (int k = 0; k < layout.Size(); ++k) {
      const auto found = place.find(linear.slots[static_cast<size_t>(k)]);
      if (found == place.end()) continue;
      step.segment(layout.Offset(k), layout.Dimension(k)) = fraction * move.step[found->second];
    }
    predicted += linear.block.PredictError(step);
  }
  return predicted;
}

// Puts theta at this fraction of the move; true if the error allows it, and then with linearisations.
bool IncrementalSmoother::TryMove(Move& move, double fraction, SmootherSummary& summary) {
  for (size_t i = 0; i < move.slots.size(); ++i) {
    Value moved = Retract(move.from[i], fraction * move.step[i]);
    if (!IsFinite(moved)) return false;
    theta_.Set(keys_[static_cast<size_t>(move.slots[i])], std::move(moved));
  }
  // A move of some variables without their neighbours' small ones may raise the error even where the
  // quadratic model is exact; that much is not held against it.
  const double predicted = PredictError(move, fraction);
  const double allowed =
      move.error * (1 + options_.max_error_rise) + std::max(0.0, predicted - move.error) + 1e-12;
  const FactorGraph factors = Gather(move.factors);
  double error = 0;
  if (fraction == 1) {
    move.blocks = LinearizeAll(factors, theta_, options_.threads);
    for (const NormalBlock& block : move.blocks) error += block.error;
    if (!AllFinite(move.blocks)) error = std::numeric_limits<double>::infinity();
    if (!(error <= allowed)) summary.trial_evaluations += static_cast<int>(factors.size());
    return error <= allowed;
  }
  error = TotalError(factors, theta_, options_.threads);
  summary.trial_evaluations += static_cast<int>(factors.size());
  if (!(error <= allowed)) return false;
  move.blocks = LinearizeAll(factors, theta_, options_.threads);
  return true;
}

Value IncrementalSmoother::Estimate(const Key& key) const {
  return Retract(theta_.At(key), tree_.Delta(SlotOf(key)));
}

Values IncrementalSmoother::Estimate() const {
  Values estimate;
  for (const Key& key : keys_) estimate.Insert(key, Estimate(key));
  return estimate;
}

Eigen::MatrixXd IncrementalSmoother::MarginalCovariance(const std::vector<Key>& keys) const {
  std::vector<int> slots;
  slots.reserve(keys.size());
  for (const Key& key : keys) slots.push_back(SlotOf(key));
  return tree_.JointCovariance(slots);
}

}  // namespace lumen
