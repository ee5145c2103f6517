// A large set of mutually consistent items: a clique of their consistency graph, found greedily from
// every start (exact search is exponential; with geometry the greedy one is nearly always the largest).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lumen {

class ConsistencyGraph {
 public:
  explicit ConsistencyGraph(int size);
  void Connect(int i, int j);
  bool Connected(int i, int j) const { return (rows_[Word(i, j)] >> (j % 64)) & 1; }
  int Size() const { return size_; }
  int Degree(int i) const;
  const uint64_t* Row(int i) const { return &rows_[static_cast<size_t>(i) * words_]; }
  int Words() const { return words_; }

 private:
  size_t Word(int i, int j) const { return static_cast<size_t>(i) * words_ + static_cast<size_t>(j / 64); }

  int size_;
  int words_;
  std::vector<uint64_t> rows_;
};

std::vector<int> FindLargeClique(const ConsistencyGraph& graph);  // indices, ascending

}  // namespace lumen
