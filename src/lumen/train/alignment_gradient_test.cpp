// The whole solve as one differentiable function: its gradients against finite differences in double
// precision, and what checkpointing costs and saves.
#include <c10/core/Allocator.h>
#include <gtest/gtest.h>

#include "lumen/train/alignment_test_pair.h"

namespace lumen {
namespace {

// A number that depends on everything the alignment ends with.
torch::Tensor Outcome(const AlignmentProblem& problem, const AlignmentState& start,
                      const AlignmentOptions& options) {
  const AlignmentState end = AlignPairs(problem, start, options).state;
  return end.rotation.select(2, 1).sum() + 2 * end.translation.sum() + end.log_scale.sum() +
         (end.code * torch::arange(1, kBases + 1, torch::kDouble)).sum();
}

struct Input {
  const char* name;
  torch::Tensor& (*of)(AlignmentProblem& problem);
};

class EveryInput : public testing::TestWithParam<Input> {};
INSTANTIATE_TEST_SUITE_P(
    Alignment, EveryInput,
    testing::Values(
        Input{"average", [](AlignmentProblem& p) -> torch::Tensor& { return p.average; }},
        Input{"bases", [](AlignmentProblem& p) -> torch::Tensor& { return p.bases; }},
        Input{"match_average", [](AlignmentProblem& p) -> torch::Tensor& { return p.match_average; }},
        Input{"match_bases", [](AlignmentProblem& p) -> torch::Tensor& { return p.match_bases; }},
        Input{"scale_goal", [](AlignmentProblem& p) -> torch::Tensor& { return p.scale_goal; }},
        Input{"source_features", [](AlignmentProblem& p) -> torch::Tensor& { return p.source_features[0]; }},
        Input{"coarse_source", [](AlignmentProblem& p) -> torch::Tensor& { return p.source_features[1]; }},
        Input{"target_features", [](AlignmentProblem& p) -> torch::Tensor& { return p.target_features[0]; }},
        Input{"coarse_target", [](AlignmentProblem& p) -> torch::Tensor& { return p.target_features[1]; }}),
    [](const auto& test) { return test.param.name; });

// Gradients agree to about 1e-8 here; larger steps change decisions of the solver, smaller ones lose digits.
TEST_P(EveryInput, GradientOfTheWholeSolveMatchesFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const TestPair pair = MakeTestPair();
  const AlignmentState start = ToState(pair);
  const AlignmentOptions options = WholeOptions();
  AlignmentProblem problem = ToProblem(pair);
  torch::Tensor& input = GetParam().of(problem);
  input = input.contiguous().set_requires_grad(true);
  Outcome(problem, start, options).backward();
  const torch::Tensor gradient = input.grad().flatten();
  torch::NoGradGuard no_grad;
  const auto at = [&](int64_t where, double shift) {
    AlignmentProblem moved = ToProblem(pair);
    torch::Tensor& other = GetParam().of(moved);
    other = other.contiguous();
    other.view({-1})[where] += shift;
    return Outcome(moved, start, options).item<double>();
  };
  // The entries that matter most, and some of the middle.
  const auto order = torch::argsort(gradient.abs(), 0, true);
  const auto used = gradient.abs().gt(1e-4).sum().item<int64_t>();
  ASSERT_GT(used, 0);
  for (const int64_t rank : {int64_t{0}, int64_t{1}, used / 4, used / 2}) {
    const auto where = order[std::min(rank, used - 1)].item<int64_t>();
    const double numeric = (at(where, kStep) - at(where, -kStep)) / (2 * kStep);
    EXPECT_NEAR(gradient[where].item<double>(), numeric, 1e-5 * std::abs(numeric)) << where;
  }
}

TEST(Alignment, CheckpointingChangesNoGradient) {
  const TestPair pair = MakeTestPair();
  std::vector<torch::Tensor> gradients;
  for (const bool checkpointing : {false, true}) {
    AlignmentOptions options = WholeOptions();
    options.checkpointing = checkpointing;
    AlignmentProblem problem = ToProblem(pair);
    problem.average.set_requires_grad(true);
    problem.target_features[1].set_requires_grad(true);
    const torch::Tensor outcome = Outcome(problem, ToState(pair), options);
    outcome.backward();
    gradients.push_back(
        torch::cat({problem.average.grad().flatten(), problem.target_features[1].grad().flatten(),
                    outcome.detach().view({1})}));
  }
  EXPECT_LT((gradients[0] - gradients[1]).abs().max().item<double>(),
            1e-10 * gradients[0].abs().max().item<double>());
  EXPECT_GT(gradients[0].abs().max().item<double>(), 0);
}

// Torch's releases differ in the type of two arguments that do not matter here.
template <typename Class, typename Total>
Total TotalOf(void (Class::*)(void*, int64_t, Total, Total, c10::Device));
using Total = decltype(TotalOf(&c10::MemoryReportingInfoBase::reportMemoryUsage));

// Bytes that tensors of this thread hold, and the most they held.
class HeldMemory : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*where*/, int64_t bytes, Total /*allocated*/, Total /*reserved*/,
                         c10::Device /*device*/) override {
    held_ += bytes;
    most_ = std::max(most_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t Most() const { return most_; }

 private:
  int64_t held_ = 0, most_ = 0;
};

// As large as in training, but for the number of pairs.
AlignmentProblem MakeLargeProblem() {
  constexpr int64_t kPairs = 2, kSamples = 1024, kMatches = 256, kMapBases = 16, kRows = 64, kColumns = 80;
  torch::manual_seed(1);
  AlignmentProblem problem;
  problem.average = 1 + 0.2 * torch::rand({kPairs, kSamples});
  problem.bases = 0.1 * torch::randn({kPairs, kSamples, kMapBases});
  problem.target_mask = problem.target_known = torch::ones({kPairs, 1, kRows, kColumns});
  problem.target_features =
      MakeFeatureLevels(torch::rand({kPairs, kChannels, kRows, kColumns}), problem.target_mask, 4);
  for (int level = 0; level < 4; ++level)
    problem.source_features.push_back(torch::rand({kPairs, kSamples, kChannels}));
  problem.target_depth =
      WithGradients(1 + 0.2 * torch::rand({kPairs, 1, kRows, kColumns}), problem.target_mask);
  problem.match_average = 1 + 0.2 * torch::rand({kPairs, kMatches});
  problem.match_bases = 0.1 * torch::randn({kPairs, kMatches, kMapBases});
  const auto rays = [](int64_t count) {
    return torch::cat({torch::rand({kPairs, count, 2}) - 0.5, torch::ones({kPairs, count, 1})}, 2);
  };
  problem.rays = rays(kSamples);
  problem.match_rays = rays(kMatches);
  problem.match_points = rays(kMatches);
  problem.match_pixels = 60 * torch::rand({kPairs, kMatches, 2});
  problem.weight = torch::ones({kPairs, kSamples});
  problem.match_weight = torch::ones({kPairs, kMatches});
  problem.camera = torch::tensor({45.0F, 45.0F, 39.5F, 31.5F, 0.4F}).expand({kPairs, 5});
  problem.mean_square = torch::ones({kPairs});
  problem.scale_goal = torch::zeros({kPairs});
  return problem;
}

// 6.9 times as little: 1.6 instead of 11.2 MB a pair.
TEST(Alignment, CheckpointingLowersThePeakOfMemory) {
  AlignmentState start;
  start.rotation = torch::eye(3).expand({2, 3, 3});
  start.translation = torch::zeros({2, 3});
  start.log_scale = torch::zeros({2});
  start.code = torch::zeros({2, 16});
  std::vector<double> most;
  for (const bool checkpointing : {false, true}) {
    AlignmentOptions options;
    options.checkpointing = checkpointing;
    AlignmentProblem problem = MakeLargeProblem();
    for (torch::Tensor* learned :
         {&problem.average, &problem.bases, &problem.match_average, &problem.match_bases})
      learned->set_requires_grad(true);
    const auto memory = std::make_shared<HeldMemory>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
    const AlignmentState end = AlignPairs(problem, start, options).state;
    (end.translation.sum() + end.code.sum()).backward();
    most.push_back(static_cast<double>(memory->Most()));
  }
  RecordProperty("factor", std::to_string(most[0] / most[1]));
  EXPECT_GT(most[0], 5 * most[1]) << most[0] << " " << most[1];
}

}  // namespace
}  // namespace lumen
