// A growing random graph and a smoother that follows it, for the smoother's tests.
#pragma once

#include <map>

#include "lumen/graph/incremental_smoother.h"
#include "lumen/graph/sample_factors_test.h"

namespace lumen {

// A random graph that grows: poses with scales and codes, chained and with loops, measured with noise.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {}

  SmootherChange Grow() {
    SmootherChange change;
    const int64_t id = count_++;
    const Rigid3 pose =
        id == 0 ? Rigid3() : truth_.Pose(PoseKey(id - 1)) * Rigid3::Exp(RandomTangent(random_, 0.3));
    AddVariable(PoseKey(id), pose, change);
    AddVariable(LogScaleKey(id), random_.Normal(0, 0.3), change);
    AddVariable(CodeKey(id), RandomVector(random_, 3, 0.5), change);
    change.new_factors.push_back(
        std::make_shared<BentFactor>(std::vector<Key>{CodeKey(id), LogScaleKey(id)}, truth_, random_));
    if (id == 0) change.new_factors.push_back(std::make_shared<AnchorFactor>(PoseKey(0), pose, 10));
    if (id > 0) Connect(id, id - 1, change);
    if (id > 2 && random_.Chance(0.5)) Connect(id, random_.UniformInt(0, id - 2), change);
    return change;
  }

  Value Disturbed(const Key& key, double scale) {
    const Value& value = truth_.At(key);
    return Retract(value, RandomVector(random_, Dimension(value), scale));
  }
  int64_t Count() const { return count_; }
  Random& GetRandom() { return random_; }

 private:
  void AddVariable(const Key& key, Value truth, SmootherChange& change) {
    truth_.Insert(key, std::move(truth));
    change.new_values.Insert(key, Disturbed(key, 0.05));
  }

  void Connect(int64_t a, int64_t b, SmootherChange& change) {
    const Rigid3 b_from_a = truth_.Pose(PoseKey(b)).Inverse() * truth_.Pose(PoseKey(a));
    change.new_factors.push_back(std::make_shared<BetweenFactor>(
        PoseKey(a), PoseKey(b), b_from_a.Retract(RandomTangent(random_, 0.02)), 2.0));
    change.new_factors.push_back(std::make_shared<BentFactor>(
        std::vector<Key>{LogScaleKey(a), CodeKey(b), LogScaleKey(b)}, truth_, random_));
  }

  Random random_;
  Values truth_;
  int64_t count_ = 0;
};

// Runs a smoother over a random graph; keeps the factors that are alive beside it.
struct SmoothedGraph {
  RandomGraph graph;
  IncrementalSmoother smoother;
  std::map<FactorId, FactorPtr> alive;

  SmoothedGraph(uint64_t seed, const SmootherOptions& options) : graph(seed), smoother(options) {}

  SmootherSummary Apply(const SmootherChange& change) {
    const SmootherSummary summary = smoother.Update(change);
    for (size_t i = 0; i < change.new_factors.size(); ++i) {
      alive[summary.new_factor_ids[i]] = change.new_factors[i];
    }
    for (const FactorId id : change.removed_factors) alive.erase(id);
    return summary;
  }
  FactorGraph Factors() const {
    FactorGraph factors;
    for (const auto& [_, factor] : alive) factors.push_back(factor);
    return factors;
  }
};

}  // namespace lumen
