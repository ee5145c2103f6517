// Keeps a growing factor graph solved, at the cost of what changed: iSAM2 in substance, made for few, large,
// dense factors that see their variables relative to each other.
//   - Every factor is linearised at the estimate and remembers where. It is evaluated again only when its own
//     variables have moved beyond the thresholds as the factor sees it: a stretch of map that drifts, turns
//     or grows as a whole evaluates nothing (relative relinearisation).
//   - A change re-eliminates only the cliques of the Bayes tree it concerns and those above them, and
//     back-substitution stops where nothing changes any more (wildfire).
//   - Before a step is kept, the factors it strains are evaluated there: if their error rises beyond a bound
//     the step is shortened, and dropped if even a short one fails.
//   - Of a variable that is held only the first entries are solved for; the rest keep their values, and its
//     factors keep all they know about them.
// One Update is one Gauss–Newton step; call it without a change to go on refining.
#pragma once

#include <map>
#include <vector>

#include "lumen/graph/bayes_tree.h"
#include "lumen/graph/factor.h"
#include "lumen/graph/step_thresholds.h"

namespace lumen {

struct SmootherOptions {
  StepThresholds relinearize;  // the paper's: pose 1e-3, log-scale 1e-3, code 1e-2
  // A tangent beyond this starts anew at the estimate, however common the motion: what factors are told of
  // each other's moves is exact to about half of it.
  double recentre = 0.1;
  double held_slack = 1;  // how many times further a factor may be strained all of whose variables are held
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
  std::vector<Key> removed_variables = {};  // which no factor holds afterwards
  Values reinitialized = {};                // variables to put elsewhere, as after a loop closure
  std::vector<Key> held = {};               // keyframes whose codes stay as they are from now on
  std::vector<Key> released = {};           // and those whose are free again
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
  int trial_evaluations = 0;             // those made for steps that were not taken
  int strained_factors = 0;              // beyond their thresholds after the step, those that wait included
  int eliminated_variables = 0;
  int solved_variables = 0;
  int singular_cliques = 0;  // parts of the graph without enough information; they hold still
  double step_fraction = 1;
  double largest_step = 0;  // largest entry by which a tangent changed, before the step is judged
  double error = 0;         // sum of the factors' errors where they were linearised
};

class IncrementalSmoother {
 public:
  explicit IncrementalSmoother(SmootherOptions options = {}) : options_(options) {}

  // Of the factors that a step strains `most_evaluations` are evaluated there, the most strained first; the
  // others wait for the next step with what they know, unless they are far beyond their thresholds. 0: all.
  SmootherSummary Update(const SmootherChange& change = {}, int most_evaluations = 0);

  size_t NumVariables() const { return slots_.size(); }
  size_t NumFactors() const { return num_factors_; }
  bool Contains(const Key& key) const { return slots_.contains(key); }
  bool IsHeld(const Key& key) const { return tree_.IsHeld(SlotOf(key)); }
  const Value& Estimate(const Key& key) const { return estimate_.At(key); }
  const Values& Estimate() const { return estimate_; }
  // Where a factor was linearised last, one value per key.
  const std::vector<Value>& LinearizedAt(FactorId id) const { return at_[static_cast<size_t>(id)]; }
  // The joint covariance of some variables' tangents, one after the other, by the factors as they are
  // linearised; of all entries, those that are held included.
  Eigen::MatrixXd MarginalCovariance(const std::vector<Key>& keys) const;

  // Cheaper, by the tree as it stands: what is held counts as known. Of each variable's tangent the first
  // `entries` that are not.
  Eigen::MatrixXd JointCovariance(const std::vector<Key>& keys, int entries) const;
  // Of every variable by itself; linear in the graph's size.
  std::map<Key, Eigen::MatrixXd> Covariances(int entries) const;
  // H⁻¹ B for a B of few columns, whose rows are given for the first entries of some variables.
  std::map<Key, Eigen::MatrixXd> ApplyInverse(const std::map<Key, Eigen::MatrixXd>& rhs, int columns) const;

 private:
  struct Step;
  struct Strain {
    int factor = 0;
    double share = 0;  // of its thresholds
  };

  void CheckChange(const SmootherChange& change) const;
  void AddVariables(const Values& values);
  void RemoveFactors(const std::vector<FactorId>& ids);
  void RemoveVariables(const std::vector<Key>& keys);
  void Hold(const std::vector<Key>& keys, bool held);
  void Reinitialize(const Values& values, SmootherSummary& summary);
  void AddFactors(const FactorGraph& factors, SmootherSummary& summary);
  void Eliminate(SmootherSummary& summary);
  void TakeStep(SmootherSummary& summary);
  bool MoveTo(const Step& step, double fraction);
  bool IsSound(Step& step) const;
  Values Before(const Step& step, const std::vector<int>& factors) const;
  // By the linearisations as they are.
  double ModelError(const std::vector<int>& factors, const Values& values) const;
  void Recentre(const std::vector<int>& slots);
  // Those of these factors, and of those that wait, which are strained; the most strained first.
  std::vector<Strain> Strained(const std::vector<int>& factors) const;
  double StrainOf(int factor) const;
  // What is to be evaluated now, by number; the rest waits.
  std::vector<int> Foremost(const std::vector<Strain>& strained);
  // Linearises at the estimate, or stores what was linearised there.
  void Evaluate(const std::vector<int>& factors, SmootherSummary& summary);
  void Store(const std::vector<int>& factors, std::vector<NormalBlock> blocks);
  // The gradient at zero tangents, by the step since a factor was linearised.
  void Carry(int factor);
  void Touch(int factor);
  Eigen::VectorXd DeltaOf(const LinearFactor& linear) const;
  std::vector<int> FactorsTouching(const std::vector<int>& slots) const;
  FactorGraph Gather(const std::vector<int>& factors) const;
  int SlotOf(const Key& key) const;
  const LinearFactor& Linear(int factor) const { return linear_[static_cast<size_t>(factor)]; }

  SmootherOptions options_;
  Values theta_;     // where tangents are zero
  Values estimate_;  // theta, moved by the tree's tangents
  std::unordered_map<Key, int, KeyHash> slots_;
  std::vector<Key> keys_;                     // by slot
  std::vector<std::vector<int>> factors_of_;  // by slot
  FactorGraph factors_;                       // by id; null where removed
  std::vector<LinearFactor> linear_;          // by id: the cached linearisations
  std::vector<std::vector<Value>> at_;        // by id: where each was made
  BayesTree tree_;
  TreeChange pending_;        // what the next elimination has to take in
  std::vector<int> waiting_;  // strained factors that were not evaluated yet
  size_t most_evaluations_ = 0;
  size_t num_factors_ = 0;
  double error_ = 0;
};

}  // namespace lumen
