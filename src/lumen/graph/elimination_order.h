// Symbolic elimination of a graph of block variables: in which order they go, and whom each still meets
// when it goes. Greedy minimum degree (counted in scalar dimensions), with some variables kept for last.
#pragma once

#include <vector>

namespace lumen {

struct EliminationStep {
  int variable = 0;
  std::vector<int> neighbours;  // not yet eliminated, sorted
};

struct EliminationProblem {
  std::vector<int> dimensions;            // of the variables 0 … n-1
  std::vector<std::vector<int>> cliques;  // sets of variables that occur in one term
  std::vector<char> is_last;              // these go after all others
};

std::vector<EliminationStep> OrderElimination(const EliminationProblem& problem);

}  // namespace lumen
