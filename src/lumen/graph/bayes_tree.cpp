#include "lumen/graph/bayes_tree.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <map>
#include <unordered_map>

#include "lumen/base/error.h"
#include "lumen/graph/elimination_order.h"

namespace lumen {

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

}  // namespace

int BayesTree::AddVariable(int dimension) {
  variables_.push_back({.dimension = dimension, .offset = static_cast<int>(delta_.size())});
  delta_.resize(delta_.size() + static_cast<size_t>(dimension), 0.0);
  seen_delta_.resize(delta_.size(), 0.0);
  return NumVariables() - 1;
}

Eigen::Map<const Eigen::VectorXd> BayesTree::Delta(int slot) const {
  return {delta_.data() + At(slot).offset, At(slot).dimension};
}

void BayesTree::ResetDelta(int slot) {
  std::fill_n(delta_.begin() + At(slot).offset, At(slot).dimension, 0.0);
  std::fill_n(seen_delta_.begin() + At(slot).offset, At(slot).dimension, 0.0);
}

EliminationSummary BayesTree::Reeliminate(const TreeChange& change,
                                          const std::vector<LinearFactor>& factors) {
  const Detached top = Detach(change, factors);
  const std::vector<int> cliques = BuildCliques(top, change, factors);
  Attach(top, factors);
  EliminationSummary summary{.variables = static_cast<int>(top.variables.size()),
                             .cliques = static_cast<int>(cliques.size())};
  // Parents were built before their children, so backwards is bottom up.
  for (size_t i = cliques.size(); i-- > 0;) {
    if (EliminateClique(CliqueAt(cliques[i]), factors)) ++summary.regularized;
  }
  return summary;
}

// ---- taking the affected top off

void BayesTree::MarkUp(int clique, std::vector<int>& marked) {
  for (int c = clique; c >= 0 && !CliqueAt(c).is_marked; c = CliqueAt(c).parent) {
    CliqueAt(c).is_marked = true;
    marked.push_back(c);
  }
}

BayesTree::Detached BayesTree::Detach(const TreeChange& change, const std::vector<LinearFactor>& factors) {
  Detached top;
  std::vector<int> marked;
  for (const int slot : change.touched) {
    if (At(slot).clique >= 0) {
      MarkUp(At(slot).clique, marked);
    } else {
      top.variables.push_back(slot);
    }
  }
  top.factors = change.new_factors;
  for (const int c : marked) {
    Clique& clique = CliqueAt(c);
    top.variables.insert(top.variables.end(), clique.frontals.begin(), clique.frontals.end());
    for (const int factor : clique.factors) {
      if (!factors[static_cast<size_t>(factor)].slots.empty()) top.factors.push_back(factor);
    }
    for (const int child : clique.children) {
      if (!CliqueAt(child).is_marked) top.orphans.push_back(child);
    }
  }
  for (const int c : marked) {
    for (const int slot : CliqueAt(c).frontals) At(slot).clique = -1;
    CliqueAt(c) = Clique();
    free_cliques_.push_back(c);
  }
  for (const int orphan : top.orphans) CliqueAt(orphan).parent = -1;
  // Oldest first: the order decides ties, and results must not depend on how the change was listed.
  for (auto* list : {&top.variables, &top.factors, &top.orphans}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return top;
}

// ---- building the new top

int BayesTree::NewClique() {
  if (free_cliques_.empty()) {
    cliques_.emplace_back();
    return static_cast<int>(cliques_.size()) - 1;
  }
  const int index = free_cliques_.back();
  free_cliques_.pop_back();
  CliqueAt(index) = Clique();
  return index;
}

int BayesTree::FirstEliminated(const std::vector<int>& slots) const {
  return *std::min_element(slots.begin(), slots.end(),
                           [&](int a, int b) { return At(a).position < At(b).position; });
}

std::vector<int> BayesTree::BuildCliques(const Detached& top, const TreeChange& change,
                                         const std::vector<LinearFactor>& factors) {
  EliminationProblem problem;
  for (size_t i = 0; i < top.variables.size(); ++i) {
    At(top.variables[i]).position = static_cast<int>(i);
    problem.dimensions.push_back(At(top.variables[i]).dimension);
  }
  problem.is_last.assign(top.variables.size(), 0);
  for (const int slot : change.keep_last) {
    const auto position = static_cast<size_t>(At(slot).position);
    if (position < top.variables.size() && top.variables[position] == slot) problem.is_last[position] = 1;
  }
  const auto add = [&](const std::vector<int>& slots) {
    auto& clique = problem.cliques.emplace_back();
    for (const int slot : slots) clique.push_back(At(slot).position);
  };
  for (const int factor : top.factors) add(factors[static_cast<size_t>(factor)].slots);
  for (const int orphan : top.orphans) add(CliqueAt(orphan).separator);

  const std::vector<EliminationStep> steps = OrderElimination(problem);
  for (size_t i = 0; i < steps.size(); ++i) {
    At(top.variables[static_cast<size_t>(steps[i].variable)]).position = static_cast<int>(i);
  }
  std::vector<int> cliques;
  new_roots_.clear();
  // From the last eliminated backwards, a variable joins the clique of its first neighbour if it sees
  // exactly what that clique sees, and starts a clique of its own otherwise.
  for (size_t i = steps.size(); i-- > 0;) {
    const int slot = top.variables[static_cast<size_t>(steps[i].variable)];
    std::vector<int> separator;
    for (const int n : steps[i].neighbours) separator.push_back(top.variables[static_cast<size_t>(n)]);
    const int parent = separator.empty() ? -1 : At(FirstEliminated(separator)).clique;
    if (parent >= 0 &&
        CliqueAt(parent).frontals.size() + CliqueAt(parent).separator.size() == separator.size()) {
      CliqueAt(parent).frontals.push_back(slot);
      At(slot).clique = parent;
      continue;
    }
    const int index = NewClique();
    Clique& clique = CliqueAt(index);
    clique.frontals = {slot};
    clique.separator = std::move(separator);
    clique.parent = parent;
    clique.is_new = true;
    At(slot).clique = index;
    cliques.push_back(index);
    if (parent >= 0) {
      CliqueAt(parent).children.push_back(index);
    } else {
      new_roots_.push_back(index);
    }
  }
  return cliques;
}

// Terms and orphans go to the clique that first eliminates one of their variables.
void BayesTree::Attach(const Detached& top, const std::vector<LinearFactor>& factors) {
  for (const int factor : top.factors) {
    const int home = At(FirstEliminated(factors[static_cast<size_t>(factor)].slots)).clique;
    CliqueAt(home).factors.push_back(factor);
  }
  for (const int orphan : top.orphans) {
    const int home = At(FirstEliminated(CliqueAt(orphan).separator)).clique;
    CliqueAt(orphan).parent = home;
    CliqueAt(home).children.push_back(orphan);
  }
}

int BayesTree::DimensionOf(const std::vector<int>& slots) const {
  int dimension = 0;
  for (const int slot : slots) dimension += At(slot).dimension;
  return dimension;
}

// True if the clique was singular.
bool BayesTree::EliminateClique(Clique& clique, const std::vector<LinearFactor>& factors) {
  const int nf = DimensionOf(clique.frontals);
  const int ns = DimensionOf(clique.separator);
  int offset = 0;
  for (const auto* slots : {&clique.frontals, &clique.separator}) {
    for (const int slot : *slots) {
      At(slot).position = offset;
      offset += At(slot).dimension;
    }
  }
  Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(nf + ns, nf + ns);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(nf + ns);
  const auto scatter = [&](const std::vector<int>& slots, const Eigen::MatrixXd& from_H,
                           const Eigen::VectorXd& from_b) {
    int row = 0;
    for (const int i : slots) {
      b.segment(At(i).position, At(i).dimension) += from_b.segment(row, At(i).dimension);
      int column = 0;
      for (const int j : slots) {
        hessian.block(At(i).position, At(j).position, At(i).dimension, At(j).dimension) +=
            from_H.block(row, column, At(i).dimension, At(j).dimension);
        column += At(j).dimension;
      }
      row += At(i).dimension;
    }
  };
  for (const int index : clique.factors) {
    const LinearFactor& factor = factors[static_cast<size_t>(index)];
    scatter(factor.slots, factor.block.H, factor.block.b);
  }
  for (const int child : clique.children) {
    scatter(CliqueAt(child).separator, CliqueAt(child).marginal_H, CliqueAt(child).marginal_b);
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
  clique.marginal_H.noalias() -= clique.W.transpose() * clique.W;
  clique.marginal_b = b.tail(ns) - clique.W.transpose() * clique.y;
  return is_singular;
}

// ---- solving

Eigen::VectorXd BayesTree::GatherDelta(const std::vector<int>& slots) const {
  Eigen::VectorXd gathered(DimensionOf(slots));
  int row = 0;
  for (const int slot : slots) {
    gathered.segment(row, At(slot).dimension) = Delta(slot);
    row += At(slot).dimension;
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
    for (int i = 0; i < variable.dimension; ++i) {
      const auto at = static_cast<size_t>(variable.offset) + static_cast<size_t>(i);
      delta_[at] = solution[row + i];
      changed = changed || std::abs(delta_[at] - seen_delta_[at]) > wildfire;
    }
    if (changed) {
      variable.changed_at = solves_;
      const auto first = delta_.begin() + variable.offset;
      std::copy(first, first + variable.dimension, seen_delta_.begin() + variable.offset);
    }
    row += variable.dimension;
  }
}

std::vector<int> BayesTree::Solve(double wildfire) {
  ++solves_;
  std::vector<int> solved;
  std::vector<int> stack = new_roots_;
  while (!stack.empty()) {
    Clique& clique = CliqueAt(stack.back());
    stack.pop_back();
    const bool is_stale = std::any_of(clique.separator.begin(), clique.separator.end(),
                                      [&](int slot) { return At(slot).changed_at == solves_; });
    if (!clique.is_new && !is_stale) continue;
    clique.is_new = false;
    SolveClique(clique, wildfire);
    solved.insert(solved.end(), clique.frontals.begin(), clique.frontals.end());
    stack.insert(stack.end(), clique.children.begin(), clique.children.end());
  }
  new_roots_.clear();
  return solved;
}

// With H = L̂ L̂ᵀ over the whole tree, E picking the variables and Y = L̂⁻¹ E: Eᵀ H⁻¹ E = YᵀY. Forward
// substitution only concerns the cliques between the variables and their root.
Eigen::MatrixXd BayesTree::JointCovariance(const std::vector<int>& slots) const {
  const int dimension = DimensionOf(slots);
  std::map<std::pair<int, int>, int> by_depth;  // deepest first
  for (const int slot : slots) {
    LUMEN_CHECK(At(slot).clique >= 0, "a variable that no factor has touched yet has no covariance");
    std::vector<int> path;
    for (int c = At(slot).clique; c >= 0; c = CliqueAt(c).parent) path.push_back(c);
    for (size_t i = 0; i < path.size(); ++i) {
      by_depth.emplace(std::pair(-static_cast<int>(path.size() - i), path[i]), path[i]);
    }
  }
  std::unordered_map<int, Eigen::MatrixXd> rhs;
  int column = 0;
  for (const int slot : slots) {
    rhs[slot].setZero(At(slot).dimension, dimension);
    rhs[slot].middleCols(column, At(slot).dimension).setIdentity();
    column += At(slot).dimension;
  }
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(dimension, dimension);
  for (const auto& [_, c] : by_depth) {
    const Clique& clique = CliqueAt(c);
    Eigen::MatrixXd e = Eigen::MatrixXd::Zero(DimensionOf(clique.frontals), dimension);
    int row = 0;
    for (const int slot : clique.frontals) {
      if (rhs.contains(slot)) e.middleRows(row, At(slot).dimension) = rhs[slot];
      row += At(slot).dimension;
    }
    const Eigen::MatrixXd y = clique.L.triangularView<Eigen::Lower>().solve(e);
    covariance.noalias() += y.transpose() * y;
    if (clique.separator.empty()) continue;
    const Eigen::MatrixXd passed = clique.W.transpose() * y;
    row = 0;
    for (const int slot : clique.separator) {
      Eigen::MatrixXd& up = rhs[slot];
      if (up.size() == 0) up.setZero(At(slot).dimension, dimension);
      up -= passed.middleRows(row, At(slot).dimension);
      row += At(slot).dimension;
    }
  }
  return covariance;
}

}  // namespace lumen
