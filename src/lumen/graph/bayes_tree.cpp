#include "lumen/graph/bayes_tree.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/graph/elimination_order.h"

namespace lumen {

int BayesTree::AddVariable(int dimension) {
  variables_.push_back(
      {.dimension = dimension, .free = dimension, .offset = static_cast<int>(delta_.size())});
  delta_.resize(delta_.size() + static_cast<size_t>(dimension), 0.0);
  seen_delta_.resize(delta_.size(), 0.0);
  return static_cast<int>(variables_.size()) - 1;
}

Eigen::Map<const Eigen::VectorXd> BayesTree::Delta(int slot) const {
  return {delta_.data() + At(slot).offset, At(slot).dimension};
}

void BayesTree::SetDelta(int slot, const Eigen::Ref<const Eigen::VectorXd>& delta) {
  LUMEN_CHECK(delta.size() == At(slot).dimension);
  std::copy_n(delta.data(), delta.size(), delta_.begin() + At(slot).offset);
  std::copy_n(delta.data(), delta.size(), seen_delta_.begin() + At(slot).offset);
}

EliminationSummary BayesTree::Reeliminate(const TreeChange& change, const std::vector<LinearFactor>& factors,
                                          int threads) {
  const Detached top = Detach(change, factors);
  const std::vector<int> cliques = BuildCliques(top, change, factors);
  Attach(top, factors);
  return {.variables = static_cast<int>(top.variables.size()),
          .cliques = static_cast<int>(cliques.size()),
          .regularized = EliminateLevels(cliques, factors, threads)};
}

// From the leaves up, all cliques of one depth at a time: none of them needs another.
int BayesTree::EliminateLevels(const std::vector<int>& cliques, const std::vector<LinearFactor>& factors,
                               int threads) {
  std::vector<std::vector<int>> levels;
  for (const int c : cliques) {  // parents were built before their children
    const int parent = CliqueAt(c).parent;
    CliqueAt(c).depth = parent < 0 ? 0 : CliqueAt(parent).depth + 1;
    levels.resize(std::max(levels.size(), static_cast<size_t>(CliqueAt(c).depth) + 1));
    levels[static_cast<size_t>(CliqueAt(c).depth)].push_back(c);
  }
  int regularized = 0;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    constexpr size_t kWorthIt = 4;  // a clique takes less time than waking a thread
    std::vector<char> is_singular(level->size());
    const int used = level->size() < kWorthIt ? 1 : threads;
    ParallelFor(static_cast<int64_t>(level->size()), used, [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      is_singular[at] = EliminateClique(CliqueAt((*level)[at]), factors) ? 1 : 0;
    });
    regularized += static_cast<int>(std::count(is_singular.begin(), is_singular.end(), 1));
  }
  return regularized;
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
  for (const int slot : change.removed) At(slot).free = 0;
  std::erase_if(top.variables, [&](int slot) { return At(slot).free == 0; });
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
    problem.dimensions.push_back(At(top.variables[i]).free);
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

}  // namespace lumen
