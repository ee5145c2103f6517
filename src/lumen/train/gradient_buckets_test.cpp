#include "lumen/train/gradient_buckets.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "lumen/train/losses.h"
#include "lumen/train/optimizer.h"

namespace lumen {
namespace {

// The other rank, played by this one: a sum adds what it would have sent for the same piece.
class Echo : public Peers {
 public:
  explicit Echo(std::function<torch::Tensor(const torch::Tensor&)> other) : other_(std::move(other)) {}

  int Rank() const override { return 0; }
  int Count() const override { return 2; }
  int LocalRank() const override { return 0; }
  int LocalCount() const override { return 2; }
  std::string Use(const torch::Device& /*device*/, const std::string& /*by*/) override { return "echo"; }
  void Broadcast(torch::Tensor& /*tensor*/) override {}
  std::unique_ptr<PendingSum> StartSum(torch::Tensor tensor) override {
    struct Add : PendingSum {
      void Wait() override { mine.add_(theirs); }
      torch::Tensor mine, theirs;
    };
    auto sum = std::make_unique<Add>();
    started.push_back(tensor.numel());
    sum->mine = tensor;
    sum->theirs = other_(tensor);
    return sum;
  }
  std::vector<double> Largest(std::vector<double> numbers) override { return numbers; }
  void RequireSame(const std::string& /*what*/, const std::string& /*value*/) override {}
  bool Fail(const std::string& /*reason*/) override { return false; }
  void Leave() override {}

  std::vector<int64_t> started;

 private:
  std::function<torch::Tensor(const torch::Tensor&)> other_;
};

std::vector<torch::Tensor> Parameters() {
  std::vector<torch::Tensor> all;
  for (const int64_t size : {3, 4, 5, 6}) all.push_back(torch::ones({size}).set_requires_grad(true));
  return all;
}

TEST(GradientBuckets, EachSetsOutWhileBackwardGoesOnAndAllAreSummed) {
  const std::vector<torch::Tensor> parameters = Parameters();
  FlatAdamW optimizer(parameters);
  Echo peers([](const torch::Tensor& mine) { return 10 * torch::ones_like(mine); });
  GradientBuckets buckets(peers, parameters, optimizer.Gradient(), 8);
  EXPECT_EQ(buckets.Count(), 2);  // 6 + 5, 4 + 3
  optimizer.ZeroGradient();
  (2 * parameters[0].sum()).backward();  // a part of the step that only adds
  EXPECT_TRUE(peers.started.empty());
  buckets.Arm();
  // A chain, so that the last parameter's gradient comes first.
  torch::Tensor x = torch::ones({1});
  for (const torch::Tensor& parameter : parameters) x = x * parameter.sum();
  size_t under_way = 0;
  parameters[0].register_hook([&](const torch::Tensor& gradient) {
    under_way = peers.started.size();
    return gradient;
  });
  x.sum().backward();
  EXPECT_EQ(under_way, 1U);
  buckets.Finish();
  EXPECT_EQ(peers.started, (std::vector<int64_t>{11, 7}));
  EXPECT_NEAR(parameters[0].grad()[0].item<double>(), 2 + 4 * 5 * 6 + 10, 1e-4);
  EXPECT_NEAR(parameters[3].grad()[0].item<double>(), 3 * 4 * 5 + 10, 1e-4);
}

TEST(GradientBuckets, WhatBackwardNeverComesToIsSummedAsWell) {
  const std::vector<torch::Tensor> parameters = Parameters();
  FlatAdamW optimizer(parameters);
  Echo peers([](const torch::Tensor& mine) { return torch::ones_like(mine); });
  GradientBuckets buckets(peers, parameters, optimizer.Gradient(), 8);
  for (int step = 0; step < 2; ++step) {
    optimizer.ZeroGradient();
    buckets.Arm();
    parameters[0].sum().backward();  // the second piece is whole, the first is not
    buckets.Finish();
    EXPECT_EQ(parameters[0].grad()[0].item<double>(), 1 + 1);
    EXPECT_EQ(parameters[3].grad()[0].item<double>(), 0 + 1);
  }
  EXPECT_EQ(peers.started, (std::vector<int64_t>{11, 7, 11, 7}));  // in the same order on every rank
}

TEST(GradientBuckets, WithoutOverlapAllIsSummedAtTheEnd) {
  const std::vector<torch::Tensor> parameters = Parameters();
  FlatAdamW optimizer(parameters);
  Echo peers([](const torch::Tensor& mine) { return torch::ones_like(mine); });
  GradientBuckets buckets(peers, parameters, optimizer.Gradient(), 8);
  for (int step = 1; step <= 2; ++step) {
    optimizer.ZeroGradient();
    parameters[0].sum().backward();  // never armed
    EXPECT_EQ(peers.started.size(), 2U * (step - 1));
    buckets.Finish();
    EXPECT_EQ(parameters[0].grad()[0].item<double>(), 1 + 1);
  }
}

TEST(GradientBuckets, AloneNothingIsSent) {
  const std::vector<torch::Tensor> parameters = Parameters();
  FlatAdamW optimizer(parameters);
  const auto alone = TrainAlone();
  GradientBuckets buckets(*alone, parameters, optimizer.Gradient());
  optimizer.ZeroGradient();
  buckets.Arm();
  parameters[1].sum().backward();
  buckets.Finish();
  EXPECT_EQ(buckets.Count(), 0);
  EXPECT_EQ(parameters[1].grad()[0].item<double>(), 1);
}

// What makes a batch shared out among ranks the whole batch: the mean of the halves' losses is the whole's.
TEST(GradientBuckets, HalvesOfABatchGiveTheGradientOfTheWhole) {
  torch::manual_seed(3);
  const torch::Tensor truth = torch::rand({4, 1, 8, 8}) + 0.5;
  const torch::Tensor valid = torch::rand({4, 1, 8, 8}).gt(0.3).to(torch::kFloat);
  const torch::Tensor guess = (torch::rand({4, 1, 8, 8}) + 0.5).set_requires_grad(true);
  const torch::Tensor bases = torch::randn({4, 3, 8, 8});
  const auto loss = [&](int64_t from, int64_t until) {
    const auto part = [&](const torch::Tensor& x) { return x.slice(0, from, until); };
    return ScaleInvariantLoss(part(guess), part(truth), part(valid), 0.85) +
           BasisSpanLoss(part(guess), part(bases), part(truth), part(valid));
  };
  loss(0, 4).backward();
  const torch::Tensor whole = guess.grad().clone();
  guess.mutable_grad().zero_();
  loss(0, 2).backward();
  loss(2, 4).backward();
  EXPECT_LT((guess.grad() / 2 - whole).abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace lumen
