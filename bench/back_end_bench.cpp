// The back end as the map grows: what an update costs on chains, ladders, chains whose scale breathes and
// maps with loops, at 100, 1,000 and 5,000 keyframes; each as a ratio to the shortest in the same run.
#include <benchmark/benchmark.h>

#include <map>

#include "lumen/base/timer.h"
#include "lumen/graph/incremental_smoother.h"
#include "lumen/graph/sample_factors_test.h"

namespace lumen {
namespace {

enum class Shape { kChain, kLadder, kBreathing, kLoops };
constexpr int kCodes = 16;
constexpr int kRung = 50;  // keyframes from one visit of a place to the next on a ladder

// Keyframes along a line, each tied to the three before it; on a ladder also to the one of the last visit.
class GrowingMap {
 public:
  explicit GrowingMap(Shape shape) : shape_(shape) {}

  // Many at a time: what is measured is what the next ones cost.
  void GrowTo(int64_t size) {
    constexpr int64_t kAtATime = 100;
    while (next_ < size) {
      SmootherChange change;
      for (int64_t i = 0; i < kAtATime && next_ < size; ++i) Add(change);
      smoother_.Update(change);
      HoldOlder();
    }
    for (int i = 0; i < 30 && smoother_.Update().largest_step > 1e-6;) ++i;
  }

  // What one more keyframe costs, the two updates of mapping included.
  double Grow() {
    SmootherChange change;
    const int64_t id = Add(change);
    if (shape_ == Shape::kBreathing) Breathe(id, change);
    if (id >= kSettled) change.held.push_back(KeyframeKey(id - kSettled));
    const Stopwatch watch;
    const SmootherSummary summary = smoother_.Update(change, kEvaluations);
    evaluated_ = summary.evaluated_factors;
    if (shape_ == Shape::kBreathing) pull_ = summary.new_factor_ids.back();
    evaluated_ += smoother_.Update({}, kEvaluations).evaluated_factors;
    return watch.ElapsedMs();
  }
  int Evaluated() const { return evaluated_; }

 private:
  static constexpr int64_t kSettled = 8;
  static constexpr int kEvaluations = 12;

  int64_t Add(SmootherChange& change) {
    const int64_t id = next_++;
    change.new_values.Insert(KeyframeKey(id), Place(id));
    change.new_factors.push_back(std::make_shared<HoldKeyframe>(id, Place(id), id == 0 ? 100 : 0, 1));
    for (int64_t other = std::max<int64_t>(0, id - 3); other < id; ++other) Tie(id, other, change);
    if (shape_ == Shape::kLadder && id >= kRung) Tie(id, id - kRung, change);
    if (shape_ == Shape::kLoops && id >= 100 && id % 25 == 0) Tie(id, random_.UniformInt(0, id - 50), change);
    return id;
  }
  // Codes of keyframes that got no tie for a while are held, as mapping does.
  void HoldOlder() {
    SmootherChange change;
    for (; held_ < next_ - kSettled; ++held_) change.held.push_back(KeyframeKey(held_));
    smoother_.Update(change);
  }

  KeyframeValue Place(int64_t id) const {
    return {Sim3(1, Eigen::Quaterniond::Identity(), {0.1 * static_cast<double>(id), 0, 0}),
            Eigen::VectorXd::Zero(kCodes)};
  }
  void Tie(int64_t a, int64_t b, SmootherChange& change) {
    const Sim3 measured = Place(b).world_from_keyframe.Inverse() * Place(a).world_from_keyframe;
    Vector7d weights = Vector7d::Constant(100);
    weights[6] = 20;
    const Vector7d noise = RandomVector(random_, 7, 1e-4);
    change.new_factors.push_back(std::make_shared<BetweenKeyframes>(
        a, b, measured * Sim3::Exp(noise), weights, RandomVector(random_, kCodes, 1e-3)));
  }
  // The newest keyframe is pulled to another size than the last one was: the whole chain follows.
  void Breathe(int64_t id, SmootherChange& change) {
    KeyframeValue goal = Place(id);
    goal.world_from_keyframe = Sim3(id % 2 == 0 ? 1.01 : 0.99, Eigen::Quaterniond::Identity(),
                                    goal.world_from_keyframe.Translation());
    if (pull_ >= 0) change.removed_factors.push_back(pull_);
    change.new_factors.push_back(std::make_shared<HoldKeyframe>(id, goal, 1, 0));
  }

  Shape shape_;
  Random random_{1};
  IncrementalSmoother smoother_;
  int64_t next_ = 0, held_ = 0;
  FactorId pull_ = -1;
  int evaluated_ = 0;
};

// The median of 25 keyframes at each size.
void Run(benchmark::State& state, Shape shape) {
  std::map<int64_t, double> ms;
  std::map<int64_t, int> evaluated;
  for (auto _ : state) {
    GrowingMap map(shape);
    for (const int64_t size : {100, 1000, 5000}) {
      map.GrowTo(size);
      std::vector<double> times;
      for (int i = 0; i < 25; ++i) times.push_back(map.Grow());
      std::nth_element(times.begin(), times.begin() + 12, times.end());
      ms[size] = times[12];
      evaluated[size] = map.Evaluated();
    }
  }
  for (const auto& [size, value] : ms) {
    state.counters["ms_" + std::to_string(size)] = value;
    state.counters["ratio_" + std::to_string(size)] = value / ms.at(100);
    state.counters["evaluated_" + std::to_string(size)] = evaluated.at(size);
  }
  if (evaluated.at(5000) > 3 * evaluated.at(100) + 10) state.SkipWithError("a longer map evaluates more");
}

void Chain(benchmark::State& state) { Run(state, Shape::kChain); }
void Ladder(benchmark::State& state) { Run(state, Shape::kLadder); }
void BreathingScale(benchmark::State& state) { Run(state, Shape::kBreathing); }
void Loops(benchmark::State& state) { Run(state, Shape::kLoops); }
BENCHMARK(Chain)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(Ladder)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BreathingScale)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(Loops)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
