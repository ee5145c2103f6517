// A growing random graph and a smoother that follows it, for the smoother's tests.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "lumen/graph/incremental_smoother.h"
#include "lumen/graph/levenberg_marquardt.h"
#include "lumen/graph/sample_factors_test.h"

namespace lumen {

inline SmootherOptions Exact() {
  SmootherOptions options;
  options.relinearize = {.pose = 0, .log_scale = 0, .code = 0};
  options.recentre = 0;
  options.wildfire = 0;
  return options;
}

inline LevenbergMarquardtOptions TightBatch() {
  LevenbergMarquardtOptions options;
  options.max_iterations = 200;
  options.min_damping = 1e-15;
  options.max_damping = 1e6;
  options.damping_increase = 10;
  options.reuse_error_change = 0;
  options.gradient_tolerance = 1e-12;
  options.step_ratio_tolerance = 1e-13;
  return options;
}

// Steps until they are as small as this; the last one's summary.
inline SmootherSummary Converge(IncrementalSmoother& smoother, double tolerance = 1e-10) {
  SmootherSummary summary;
  for (int i = 0; i < 80; ++i) {
    summary = smoother.Update();
    if (summary.largest_step < tolerance) return summary;
  }
  ADD_FAILURE() << "no convergence: last step " << summary.largest_step << ", " << ToString(summary.status);
  return summary;
}

inline double LargestDifference(const Values& a, const Values& b) {
  double largest = 0;
  for (const Key& key : a.Keys()) largest = std::max(largest, Local(a.At(key), b.At(key)).norm());
  return largest;
}

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

// The same of keyframes that see each other: chained, with loops, the first held in place.
class RandomMap {
 public:
  static constexpr int kCodes = 3;
  explicit RandomMap(uint64_t seed) : random_(seed) {}

  SmootherChange Grow(double loop_chance = 0.5) {
    SmootherChange change;
    const int64_t id = count_++;
    Sim3 place;
    if (id > 0) place = truth_[static_cast<size_t>(id - 1)].world_from_keyframe * Sim3::Exp(Tangent(0.3));
    truth_.push_back({place, RandomVector(random_, kCodes, 0.5)});
    const KeyframeValue& truth = truth_.back();
    change.new_values.Insert(KeyframeKey(id), Disturbed(id, 0.05));
    change.new_factors.push_back(std::make_shared<HoldKeyframe>(id, truth, id == 0 ? 10 : 0, 0.5));
    for (int64_t back = 1; back <= 2 && back <= id; ++back) change.new_factors.push_back(Tie(id, id - back));
    if (id > 4 && random_.Chance(loop_chance))
      change.new_factors.push_back(Tie(id, random_.UniformInt(0, id - 4)));
    return change;
  }
  FactorPtr Tie(int64_t a, int64_t b) {
    const KeyframeValue& from = truth_[static_cast<size_t>(a)];
    const KeyframeValue& to = truth_[static_cast<size_t>(b)];
    const Sim3 b_from_a = to.world_from_keyframe.Inverse() * from.world_from_keyframe;
    return std::make_shared<BetweenKeyframes>(a, b, b_from_a * Sim3::Exp(Tangent(0.02)),
                                              Vector7d::Constant(2.0),
                                              from.code - to.code + RandomVector(random_, kCodes, 0.02));
  }
  Value Disturbed(int64_t id, double scale) {
    return Retract(Value(truth_[static_cast<size_t>(id)]), RandomVector(random_, 7 + kCodes, scale));
  }
  Value Disturbed(const Key& key, double scale) { return Disturbed(key.id, scale); }
  int64_t Count() const { return count_; }
  Random& GetRandom() { return random_; }

 private:
  Vector7d Tangent(double scale) { return RandomVector(random_, 7, scale); }

  Random random_;
  std::vector<KeyframeValue> truth_;
  int64_t count_ = 0;
};

// Runs a smoother over a random graph; keeps the factors that are alive beside it.
template <typename Graph>
struct Smoothed {
  Graph graph;
  IncrementalSmoother smoother;
  std::map<FactorId, FactorPtr> alive;

  Smoothed(uint64_t seed, const SmootherOptions& options) : graph(seed), smoother(options) {}

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
using SmoothedGraph = Smoothed<RandomGraph>;
using SmoothedMap = Smoothed<RandomMap>;

}  // namespace lumen
