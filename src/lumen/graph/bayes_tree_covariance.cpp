// What a Bayes tree knows of how sure it is: blocks of H⁻¹.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "lumen/base/error.h"
#include "lumen/graph/bayes_tree.h"

namespace lumen {

namespace {

// The rows of some variables in a matrix over a clique's, one after the other.
struct Rows {
  std::unordered_map<int, std::pair<int, int>> of;  // slot → first, count
  int count = 0;

  void Add(int slot, int dimension) {
    of[slot] = {count, dimension};
    count += dimension;
  }
};

// The part of a joint covariance that concerns these slots, in their order.
Eigen::MatrixXd Select(const Eigen::MatrixXd& joint, const Rows& rows, const std::vector<int>& slots) {
  std::vector<int> picked;
  for (const int slot : slots) {
    const auto [first, count] = rows.of.at(slot);
    for (int i = 0; i < count; ++i) picked.push_back(first + i);
  }
  return joint(picked, picked);
}

}  // namespace

std::vector<int> BayesTree::CliquesFromRoot() const {
  std::vector<int> ordered;
  for (const Variable& variable : variables_) {
    if (variable.clique >= 0 && CliqueAt(variable.clique).parent < 0) ordered.push_back(variable.clique);
  }
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  for (size_t i = 0; i < ordered.size(); ++i) {
    const std::vector<int>& children = CliqueAt(ordered[i]).children;
    ordered.insert(ordered.end(), children.begin(), children.end());
  }
  return ordered;
}

// With H = L̂ L̂ᵀ over the whole tree, E picking the variables and Y = L̂⁻¹ E: Eᵀ H⁻¹ E = YᵀY. Forward
// substitution only concerns the cliques between the variables and their root.
Eigen::MatrixXd BayesTree::JointCovariance(const std::vector<int>& slots, int entries) const {
  const auto taken = [&](int slot) { return std::min(entries, At(slot).free); };
  int dimension = 0;
  std::map<std::pair<int, int>, int> by_depth;  // deepest first
  for (const int slot : slots) {
    LUMEN_CHECK(At(slot).clique >= 0, "a variable that no factor has touched yet has no covariance");
    dimension += taken(slot);
    std::vector<int> path;
    for (int c = At(slot).clique; c >= 0; c = CliqueAt(c).parent) path.push_back(c);
    for (size_t i = 0; i < path.size(); ++i) {
      by_depth.emplace(std::pair(-static_cast<int>(path.size() - i), path[i]), path[i]);
    }
  }
  std::unordered_map<int, Eigen::MatrixXd> rhs;
  int column = 0;
  for (const int slot : slots) {
    rhs[slot].setZero(At(slot).free, dimension);
    rhs[slot].block(0, column, taken(slot), taken(slot)).setIdentity();
    column += taken(slot);
  }
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(dimension, dimension);
  for (const auto& [_, c] : by_depth) {
    const Eigen::MatrixXd y = SubstituteForward(CliqueAt(c), dimension, rhs);
    covariance.noalias() += y.transpose() * y;
  }
  return covariance;
}

// y = L⁻¹ of what has come to the clique's own variables; the rest is handed on to its separator.
Eigen::MatrixXd BayesTree::SubstituteForward(const Clique& clique, int columns,
                                             std::unordered_map<int, Eigen::MatrixXd>& rhs) const {
  Eigen::MatrixXd y = Eigen::MatrixXd::Zero(FreeDimensionOf(clique.frontals), columns);
  int row = 0;
  for (const int slot : clique.frontals) {
    if (const auto found = rhs.find(slot); found != rhs.end())
      y.middleRows(row, At(slot).free) = found->second;
    row += At(slot).free;
  }
  clique.L.triangularView<Eigen::Lower>().solveInPlace(y);
  if (clique.separator.empty()) return y;
  const Eigen::MatrixXd passed = clique.W.transpose() * y;
  row = 0;
  for (const int slot : clique.separator) {
    Eigen::MatrixXd& up = rhs[slot];
    if (up.size() == 0) up.setZero(At(slot).free, columns);
    up -= passed.middleRows(row, At(slot).free);
    row += At(slot).free;
  }
  return y;
}

// From the root on, a clique's frontals given its separator: x_F = -R x_S + noise of (L Lᵀ)⁻¹ with
// R = L⁻ᵀ W, and all of the separator is among its parent's variables.
std::vector<Eigen::MatrixXd> BayesTree::Covariances(int entries) const {
  struct Joint {
    Rows rows;
    Eigen::MatrixXd covariance;
    size_t children = 0;  // that still need it
  };
  std::vector<Eigen::MatrixXd> found(variables_.size());
  std::unordered_map<int, Joint> joints;
  for (const int c : CliquesFromRoot()) {
    const Clique& clique = CliqueAt(c);
    const int own = FreeDimensionOf(clique.frontals), rest = FreeDimensionOf(clique.separator);
    Joint joint{{}, Eigen::MatrixXd(own + rest, own + rest), clique.children.size()};
    for (const int slot : clique.frontals) joint.rows.Add(slot, At(slot).free);
    for (const int slot : clique.separator) joint.rows.Add(slot, At(slot).free);
    Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(own, own);
    clique.L.triangularView<Eigen::Lower>().solveInPlace(inverse);
    joint.covariance.topLeftCorner(own, own).noalias() = inverse.transpose() * inverse;
    if (rest > 0) {
      Joint& above = joints.at(clique.parent);
      const Eigen::MatrixXd separator = Select(above.covariance, above.rows, clique.separator);
      const Eigen::MatrixXd by_separator = inverse.transpose() * clique.W;
      const Eigen::MatrixXd across = -by_separator * separator;
      joint.covariance.topLeftCorner(own, own).noalias() -= across * by_separator.transpose();
      joint.covariance.topRightCorner(own, rest) = across;
      joint.covariance.bottomLeftCorner(rest, own) = across.transpose();
      joint.covariance.bottomRightCorner(rest, rest) = separator;
    }
    if (clique.parent >= 0 && --joints.at(clique.parent).children == 0) joints.erase(clique.parent);
    for (const int slot : clique.frontals) {
      const auto [first, count] = joint.rows.of.at(slot);
      const int taken = std::min(entries, count);
      found[static_cast<size_t>(slot)] = joint.covariance.block(first, first, taken, taken);
    }
    if (joint.children > 0) joints.emplace(c, std::move(joint));
  }
  return found;
}

std::vector<Eigen::MatrixXd> BayesTree::ApplyInverse(std::unordered_map<int, Eigen::MatrixXd> rhs,
                                                     int columns) const {
  const std::vector<int> cliques = CliquesFromRoot();
  std::unordered_map<int, Eigen::MatrixXd> y;
  for (auto c = cliques.rbegin(); c != cliques.rend(); ++c)
    y[*c] = SubstituteForward(CliqueAt(*c), columns, rhs);
  std::vector<Eigen::MatrixXd> solution(variables_.size());
  for (const int c : cliques) {
    const Clique& clique = CliqueAt(c);
    Eigen::MatrixXd x = std::move(y[c]);
    int row = 0;
    for (const int slot : clique.separator) {
      x.noalias() -= clique.W.middleCols(row, At(slot).free) * solution[static_cast<size_t>(slot)];
      row += At(slot).free;
    }
    clique.L.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
    row = 0;
    for (const int slot : clique.frontals) {
      solution[static_cast<size_t>(slot)] = x.middleRows(row, At(slot).free);
      row += At(slot).free;
    }
  }
  return solution;
}

}  // namespace lumen
