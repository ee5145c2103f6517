// Keeps a growing factor graph solved, at the cost of what changed: iSAM2 in substance, made for few,
// large, dense factors.
//   - Every factor's linearisation is cached; it is evaluated again only when one of its variables moved
//     beyond that kind's threshold (fluid relinearisation).
//   - A change re-eliminates only the cliques of the Bayes tree it concerns and those above them, and
//     back-substitution stops where nothing changes any more (wildfire).
//   - Before a move of linearisation points is kept, the factors it touches are evaluated there: if their
//     error rises beyond a bound the step is shortened, and dropped if even a short one fails. So the
//     estimate never leaves a state that was checked by more than the thresholds.
// One Update is one Gauss–Newton step; call it without a change to go on refining.
#pragma once

#include <vector>

#include "lumen/graph/bayes_tree.h"
#include "lumen/graph/factor.h"
#include "lumen/graph/levenberg_marquardt.h"

namespace lumen {

struct SmootherOptions {
  StepThresholds relinearize;  // the paper's: pose 1e-3, log-scale 1e-3, code 1e-2
  double wildfire = 1e-5;
  double max_error_rise = 0.05;  // share by which the error of re-evaluated factors may rise in one step
  int max_halvings = 6;          // how often a step that fails is shortened before it is dropped
  int threads = 1;

  void Describe(ConfigVisitor& visitor);
};

using FactorId = int64_t;

struct SmootherChange {
  Values new_values = {};  // variables that are not there yet
  FactorGraph new_factors = {};
  std::vector<FactorId> removed_factors = {};
  Values reinitialized = {};  // variables to put elsewhere, as after a loop closure
};

enum class SmootherStatus {
  kUpdated,
  kStepShortened,  // the full step would have raised the error beyond the bound
  kStepDropped,    // so would have every shorter one: the estimate stays where it was
};

std::string ToString(SmootherStatus status);

struct SmootherSummary {
  SmootherStatus status = SmootherStatus::kUpdated;
  std::vector<FactorId> new_factor_ids;  // in the order of new_factors
  int evaluated_factors = 0;             // linearisations made
  int trial_evaluations = 0;             // errors evaluated besides, for shortened steps
  int relinearized_variables = 0;
  int eliminated_variables = 0;
  int solved_variables = 0;
  int singular_cliques = 0;  // parts of the graph without enough information; they hold still
  double step_fraction = 1;
  double largest_step = 0;  // largest entry of the solved tangents, before any is applied
  double error = 0;         // sum of the factors' errors at their linearisation points
};

class IncrementalSmoother {
 public:
  explicit IncrementalSmoother(SmootherOptions options = {}) : options_(options) {}

  SmootherSummary Update(const SmootherChange& change = {});

  size_t NumVariables() const { return slots_.size(); }
  size_t NumFactors() const { return num_factors_; }
  bool Contains(const Key& key) const { return theta_.Contains(key); }
  // The current estimate of one variable, or of all.
  Value Estimate(const Key& key) const;
  Values Estimate() const;
  // Where the factors are linearised: at most a threshold away from the estimate.
  const Values& LinearizationPoints() const { return theta_; }
  // The joint covariance of some variables' tangents, one after the other, for the system solved last.
  Eigen::MatrixXd MarginalCovariance(const std::vector<Key>& keys) const;

 private:
  struct Move;

  void CheckChange(const SmootherChange& change) const;
  void AddVariables(const Values& values);
  void RemoveFactors(const std::vector<FactorId>& ids);
  void Reinitialize(const Values& values, SmootherSummary& summary);
  void AddFactors(const FactorGraph& factors, SmootherSummary& summary);
  void Eliminate(SmootherSummary& summary);
  void MoveLinearizationPoints(const std::vector<int>& solved, SmootherSummary& summary);
  double PredictError(const Move& move, double fraction) const;
  bool TryMove(Move& move, double fraction, SmootherSummary& summary);
  void StoreLinearizations(const std::vector<int>& factors, std::vector<NormalBlock> blocks);
  std::vector<int> FactorsTouching(const std::vector<int>& slots) const;
  FactorGraph Gather(const std::vector<int>& factors) const;
  int SlotOf(const Key& key) const;
  const LinearFactor& Linear(int factor) const { return linear_[static_cast<size_t>(factor)]; }

  SmootherOptions options_;
  Values theta_;  // linearisation points
  std::unordered_map<Key, int, KeyHash> slots_;
  std::vector<Key> keys_;                     // by slot
  std::vector<std::vector<int>> factors_of_;  // by slot
  FactorGraph factors_;                       // by id; null where removed
  std::vector<LinearFactor> linear_;          // by id: the cached linearisations
  BayesTree tree_;
  TreeChange pending_;  // what the next elimination has to take in
  size_t num_factors_ = 0;
  double error_ = 0;
};

}  // namespace lumen
