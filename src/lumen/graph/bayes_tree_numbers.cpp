// The numbers in a Bayes tree: eliminating a clique, back-substitution.
#include <Eigen/Cholesky>
#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/graph/bayes_tree.h"

namespace lumen {

int BayesTree::FreeDimensionOf(const std::vector<int>& slots) const {
  int dimension = 0;
  for (const int slot : slots) dimension += At(slot).free;
  return dimension;
}

namespace {

// A pivot that is this small a share of its diagonal entry is rounding, not information.
constexpr double kSmallestPivot = 1e-12;
constexpr double kFirstRegularization = 1e-8;
constexpr double kDiagonalFloor = 1e-6;

bool PivotsAreSound(const Eigen::MatrixXd& L, const Eigen::VectorXd& diagonal) {
  return (L.diagonal().array().square() > kSmallestPivot * diagonal.array()).all();
}

// The lower Cholesky factor of A, damped until it exists. Damping acts on the step from the current
// point and not on the point, so it slows a singular direction down without biasing the rest.
bool FactorRegularized(const Eigen::MatrixXd& A, Eigen::MatrixXd& L) {
  Eigen::LLT<Eigen::MatrixXd> llt(A);
  L = llt.matrixL();
  if (llt.info() == Eigen::Success && PivotsAreSound(L, A.diagonal())) return false;
  const double largest = A.diagonal().maxCoeff();
  const Eigen::VectorXd floor = A.diagonal().cwiseMax(std::max(kDiagonalFloor * largest, 1e-12));
  for (double damping = kFirstRegularization; damping < 1e8; damping *= 100) {
    Eigen::MatrixXd damped = A;
    damped.diagonal() += damping * floor;
    llt.compute(damped);
    L = llt.matrixL();
    if (llt.info() == Eigen::Success && PivotsAreSound(L, A.diagonal())) return true;
  }
  LUMEN_CHECK(false, "a clique's matrix is not finite");
  return true;
}

// Where each variable of a clique stands in its frontal matrix.
class FrontalPlaces {
 public:
  void Add(int slot, int offset) { places_.emplace_back(slot, offset); }
  void Sort() { std::sort(places_.begin(), places_.end()); }
  int Of(int slot) const {
    return std::lower_bound(places_.begin(), places_.end(), std::pair(slot, 0))->second;
  }

 private:
  std::vector<std::pair<int, int>> places_;
};

}  // namespace

// True if the clique was singular.
bool BayesTree::EliminateClique(Clique& clique, const std::vector<LinearFactor>& factors) const {
  const int nf = FreeDimensionOf(clique.frontals);
  const int ns = FreeDimensionOf(clique.separator);
  FrontalPlaces places;
  int offset = 0;
  for (const auto* slots : {&clique.frontals, &clique.separator}) {
    for (const int slot : *slots) {
      places.Add(slot, offset);
      offset += At(slot).free;
    }
  }
  places.Sort();
  Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(nf + ns, nf + ns);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(nf + ns);
  // A term's variables may have more entries than are free: the rest stand where they are held.
  const auto scatter = [&](const std::vector<int>& slots, const Eigen::MatrixXd& from_H,
                           const Eigen::VectorXd& from_b, bool is_whole) {
    int row = 0;
    for (const int i : slots) {
      const int at_i = places.Of(i);
      const int free_i = At(i).free;
      b.segment(at_i, free_i) += from_b.segment(row, free_i);
      int column = 0;
      for (const int j : slots) {
        const int free_j = At(j).free;
        hessian.block(at_i, places.Of(j), free_i, free_j) += from_H.block(row, column, free_i, free_j);
        const int held = is_whole ? At(j).dimension - free_j : 0;
        if (held > 0)
          b.segment(at_i, free_i).noalias() +=
              from_H.block(row, column + free_j, free_i, held) * Delta(j).tail(held);
        column += free_j + held;
      }
      row += is_whole ? At(i).dimension : free_i;
    }
  };
  for (const int index : clique.factors) {
    const LinearFactor& factor = factors[static_cast<size_t>(index)];
    scatter(factor.slots, factor.block.H, factor.b, true);
  }
  for (const int child : clique.children) {
    scatter(CliqueAt(child).separator, CliqueAt(child).marginal_H, CliqueAt(child).marginal_b, false);
  }
  const bool is_singular = FactorRegularized(hessian.topLeftCorner(nf, nf), clique.L);
  const auto triangle = clique.L.triangularView<Eigen::Lower>();
  clique.y = triangle.solve(b.head(nf));
  if (ns == 0) {  // a root passes nothing on; products with nothing are not defined behaviour in Eigen
    clique.W.resize(nf, 0);
    clique.marginal_H.resize(0, 0);
    clique.marginal_b.resize(0);
    return is_singular;
  }
  clique.W = triangle.solve(hessian.topRightCorner(nf, ns));
  clique.marginal_H = hessian.bottomRightCorner(ns, ns);
  clique.marginal_H.selfadjointView<Eigen::Lower>().rankUpdate(clique.W.transpose(), -1);
  clique.marginal_H.triangularView<Eigen::StrictlyUpper>() = clique.marginal_H.transpose();
  clique.marginal_b = b.tail(ns) - clique.W.transpose() * clique.y;
  return is_singular;
}

// ---- solving

Eigen::VectorXd BayesTree::GatherDelta(const std::vector<int>& slots) const {
  Eigen::VectorXd gathered(FreeDimensionOf(slots));
  int row = 0;
  for (const int slot : slots) {
    gathered.segment(row, At(slot).free) = Delta(slot).head(At(slot).free);
    row += At(slot).free;
  }
  return gathered;
}

void BayesTree::SolveClique(Clique& clique, double wildfire) {
  Eigen::VectorXd rhs = -clique.y;
  if (!clique.separator.empty()) rhs.noalias() -= clique.W * GatherDelta(clique.separator);
  const Eigen::VectorXd solution = clique.L.triangularView<Eigen::Lower>().transpose().solve(rhs);
  int row = 0;
  for (const int slot : clique.frontals) {
    Variable& variable = At(slot);
    bool changed = false;
    for (int i = 0; i < variable.free; ++i) {
      const auto at = static_cast<size_t>(variable.offset) + static_cast<size_t>(i);
      delta_[at] = solution[row + i];
      changed = changed || std::abs(delta_[at] - seen_delta_[at]) > wildfire;
    }
    if (changed) {
      variable.changed_at = solves_;
      const auto first = delta_.begin() + variable.offset;
      std::copy(first, first + variable.dimension, seen_delta_.begin() + variable.offset);
    }
    row += variable.free;
  }
}

TreeSolution BayesTree::Solve(double wildfire) {
  ++solves_;
  TreeSolution solved;
  std::vector<int> stack = new_roots_;
  while (!stack.empty()) {
    Clique& clique = CliqueAt(stack.back());
    stack.pop_back();
    const bool is_stale = std::any_of(clique.separator.begin(), clique.separator.end(),
                                      [&](int slot) { return At(slot).changed_at == solves_; });
    if (!clique.is_new && !is_stale) continue;
    clique.is_new = false;
    for (const int slot : clique.frontals) {
      solved.slots.push_back(slot);
      const auto delta = Delta(slot);
      solved.before.insert(solved.before.end(), delta.data(), delta.data() + delta.size());
    }
    SolveClique(clique, wildfire);
    stack.insert(stack.end(), clique.children.begin(), clique.children.end());
  }
  new_roots_.clear();
  return solved;
}

}  // namespace lumen
