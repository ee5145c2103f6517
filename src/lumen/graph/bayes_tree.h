// A Bayes tree: the square-root information of a graph, factored into cliques p(frontals | separator),
// so that a change re-eliminates only the cliques it concerns and those above them (Kaess et al., iSAM2).
// Variables are known by slot here; what they mean is the smoother's business.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lumen/graph/normal_block.h"

namespace lumen {

// A quadratic term over slots, as it was linearised somewhere; no slots: taken out.
struct LinearFactor {
  std::vector<int> slots;
  NormalBlock block;
  Eigen::VectorXd b;  // its gradient where all tangents are zero
};

// A variable whose tangent starts at another point from now on needs no mention of its own: all terms it
// occurs in have changed with it, and every clique it occurs in lies above one of them.
struct TreeChange {
  std::vector<int> touched;      // variables of terms that are new, changed or gone
  std::vector<int> new_factors;  // indices of terms not in the tree yet
  std::vector<int> removed;      // variables that no term holds any more
  std::vector<int> keep_last;    // variables to eliminate last: where the next change is expected
};

// What back-substitution found: the tangents of these variables, and what they were before, one after
// another.
struct TreeSolution {
  std::vector<int> slots;
  std::vector<double> before;
};

struct EliminationSummary {
  int variables = 0;
  int cliques = 0;
  int regularized = 0;  // cliques that were singular and got a small damping
};

class BayesTree {
 public:
  int AddVariable(int dimension);
  int Dimension(int slot) const { return At(slot).dimension; }
  int FreeDimension(int slot) const { return At(slot).free; }
  // Only the first `free` entries of its tangent are solved for; the rest stay what they are. From the next
  // elimination on, which has to touch every term it occurs in.
  void SetFree(int slot, int free) { At(slot).free = free; }
  bool IsHeld(int slot) const { return At(slot).free < At(slot).dimension; }

  // Independent branches are eliminated at the same time; the result does not depend on the threads.
  EliminationSummary Reeliminate(const TreeChange& change, const std::vector<LinearFactor>& factors,
                                 int threads = 1);
  // Back-substitution below what was re-eliminated last; goes on into a clique only while a variable of
  // its separator changed by more than `wildfire` since the clique last saw it.
  TreeSolution Solve(double wildfire);

  // The solution H δ = -b, per slot.
  Eigen::Map<const Eigen::VectorXd> Delta(int slot) const;
  // Puts a tangent elsewhere; what hangs on it has to be touched by the next elimination.
  void SetDelta(int slot, const Eigen::Ref<const Eigen::VectorXd>& delta);

  // Of what is solved for, the first `entries` of each variable; what is held counts as known.
  static constexpr int kAllEntries = 1 << 30;
  // The joint covariance (H⁻¹) of some variables, one after the other.
  Eigen::MatrixXd JointCovariance(const std::vector<int>& slots, int entries = kAllEntries) const;
  // Of every variable by itself, by slot; empty where no term has touched it. Linear in the tree's size.
  std::vector<Eigen::MatrixXd> Covariances(int entries = kAllEntries) const;
  // H⁻¹ B for a B of few columns, given and found by slot; slots that are not given are zero.
  std::vector<Eigen::MatrixXd> ApplyInverse(std::unordered_map<int, Eigen::MatrixXd> rhs, int columns) const;

 private:
  struct Variable {
    int dimension = 0;
    int free = 0;    // entries that are solved for; the rest are held
    int offset = 0;  // in delta_
    int clique = -1;
    int position = 0;         // scratch: its place in the elimination
    int64_t changed_at = -1;  // the last solve in which it changed beyond the wildfire threshold
  };
  struct Clique {
    std::vector<int> frontals, separator;  // slots
    Eigen::MatrixXd L;                     // Cholesky factor of the frontals' block
    Eigen::MatrixXd W;                     // L⁻¹ H(frontals, separator)
    Eigen::VectorXd y;                     // L⁻¹ b(frontals)
    Eigen::MatrixXd marginal_H;            // what elimination leaves to the separator
    Eigen::VectorXd marginal_b;
    int parent = -1;
    int depth = 0;  // scratch: below the root, where it was eliminated last
    std::vector<int> children;
    std::vector<int> factors;  // terms whose first eliminated variable is one of the frontals
    bool is_new = false;
    bool is_marked = false;
  };
  struct Detached {
    std::vector<int> variables, factors, orphans;
  };

  void MarkUp(int clique, std::vector<int>& marked);
  Detached Detach(const TreeChange& change, const std::vector<LinearFactor>& factors);
  std::vector<int> BuildCliques(const Detached& top, const TreeChange& change,
                                const std::vector<LinearFactor>& factors);
  void Attach(const Detached& top, const std::vector<LinearFactor>& factors);
  bool EliminateClique(Clique& clique, const std::vector<LinearFactor>& factors) const;
  int EliminateLevels(const std::vector<int>& cliques, const std::vector<LinearFactor>& factors, int threads);
  void SolveClique(Clique& clique, double wildfire);
  std::vector<int> CliquesFromRoot() const;  // parents before their children
  Eigen::MatrixXd SubstituteForward(const Clique& clique, int columns,
                                    std::unordered_map<int, Eigen::MatrixXd>& rhs) const;
  int FirstEliminated(const std::vector<int>& slots) const;
  int NewClique();
  int FreeDimensionOf(const std::vector<int>& slots) const;
  Eigen::VectorXd GatherDelta(const std::vector<int>& slots) const;

  Variable& At(int slot) { return variables_[static_cast<size_t>(slot)]; }
  const Variable& At(int slot) const { return variables_[static_cast<size_t>(slot)]; }
  Clique& CliqueAt(int index) { return cliques_[static_cast<size_t>(index)]; }
  const Clique& CliqueAt(int index) const { return cliques_[static_cast<size_t>(index)]; }

  std::vector<Variable> variables_;
  std::vector<Clique> cliques_;
  std::vector<int> free_cliques_;
  std::vector<int> new_roots_;
  std::vector<double> delta_;
  std::vector<double> seen_delta_;  // what the cliques below have been solved with
  int64_t solves_ = 0;
};

}  // namespace lumen
