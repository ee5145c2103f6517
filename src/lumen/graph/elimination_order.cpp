#include "lumen/graph/elimination_order.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>

#include "lumen/base/error.h"

namespace lumen {

namespace {

void SortUnique(std::vector<int>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

std::vector<std::vector<int>> AdjacencyOf(const EliminationProblem& problem) {
  std::vector<std::vector<int>> adjacency(problem.dimensions.size());
  for (const std::vector<int>& clique : problem.cliques) {
    for (const int variable : clique) {
      auto& neighbours = adjacency[static_cast<size_t>(variable)];
      neighbours.insert(neighbours.end(), clique.begin(), clique.end());
    }
  }
  for (size_t variable = 0; variable < adjacency.size(); ++variable) {
    SortUnique(adjacency[variable]);
    std::erase(adjacency[variable], static_cast<int>(variable));
  }
  return adjacency;
}

}  // namespace

std::vector<EliminationStep> OrderElimination(const EliminationProblem& problem) {
  const size_t count = problem.dimensions.size();
  LUMEN_CHECK(problem.is_last.size() == count);
  std::vector<std::vector<int>> adjacency = AdjacencyOf(problem);
  using Candidate = std::tuple<bool, int64_t, int>;  // last, degree, variable
  const auto candidate = [&](size_t variable) {
    int64_t degree = 0;
    for (const int n : adjacency[variable]) degree += problem.dimensions[static_cast<size_t>(n)];
    return Candidate(problem.is_last[variable] != 0, degree, static_cast<int>(variable));
  };
  std::set<Candidate> queue;
  for (size_t variable = 0; variable < count; ++variable) queue.insert(candidate(variable));

  std::vector<EliminationStep> steps;
  steps.reserve(count);
  std::vector<int> merged;
  while (!queue.empty()) {
    const int variable = std::get<2>(*queue.begin());
    queue.erase(queue.begin());
    std::vector<int> neighbours = std::move(adjacency[static_cast<size_t>(variable)]);
    for (const int n : neighbours) {
      const auto index = static_cast<size_t>(n);
      queue.erase(candidate(index));
      // The eliminated variable's neighbours now meet each other.
      merged.clear();
      std::set_union(adjacency[index].begin(), adjacency[index].end(), neighbours.begin(), neighbours.end(),
                     std::back_inserter(merged));
      std::erase_if(merged, [&](int m) { return m == n || m == variable; });
      adjacency[index] = merged;
      queue.insert(candidate(index));
    }
    steps.push_back({variable, std::move(neighbours)});
  }
  return steps;
}

}  // namespace lumen
