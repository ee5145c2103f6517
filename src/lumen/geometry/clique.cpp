#include "lumen/geometry/clique.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace lumen {

ConsistencyGraph::ConsistencyGraph(int size)
    : size_(size), words_((size + 63) / 64), rows_(static_cast<size_t>(size) * static_cast<size_t>(words_)) {}

void ConsistencyGraph::Connect(int i, int j) {
  rows_[Word(i, j)] |= uint64_t{1} << (j % 64);
  rows_[Word(j, i)] |= uint64_t{1} << (i % 64);
}

int ConsistencyGraph::Degree(int i) const {
  return std::accumulate(Row(i), Row(i) + words_, 0,
                         [](int sum, uint64_t word) { return sum + std::popcount(word); });
}

std::vector<int> FindLargeClique(const ConsistencyGraph& graph) {
  std::vector<int> order(static_cast<size_t>(graph.Size()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> degree(order.size());
  for (const int i : order) degree[i] = graph.Degree(i);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return degree[i] > degree[j]; });

  std::vector<int> best;
  std::vector<uint64_t> candidates(static_cast<size_t>(graph.Words()));
  for (const int start : order) {
    if (degree[start] + 1 <= static_cast<int>(best.size())) break;  // neither it nor any after it can win
    std::vector<int> clique = {start};
    std::copy_n(graph.Row(start), graph.Words(), candidates.begin());
    for (const int next : order) {
      if (((candidates[next / 64] >> (next % 64)) & 1) == 0) continue;
      clique.push_back(next);
      for (int w = 0; w < graph.Words(); ++w) candidates[w] &= graph.Row(next)[w];
    }
    if (clique.size() > best.size()) best = std::move(clique);
  }
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace lumen
