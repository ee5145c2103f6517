#include "lumen/train/losses.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

torch::Tensor Map(std::initializer_list<double> values, torch::IntArrayRef shape) {
  return torch::tensor(std::vector<double>(values), torch::kDouble).view(shape);
}

TEST(ScaleInvariantLoss, IsTheFormulaByHand) {
  const torch::Tensor predicted = Map({2, 1, 4, 9}, {1, 1, 2, 2});
  const torch::Tensor truth = Map({1, 1, 1, 1}, {1, 1, 2, 2});
  const torch::Tensor valid = Map({1, 1, 1, 0}, {1, 1, 2, 2});  // the nine does not count
  const double a = std::log(2.0001 / 1.0001);
  const double c = std::log(4.0001 / 1.0001);
  const double squares = (a * a + c * c) / 3;
  const double mean = (a + c) / 3;
  EXPECT_NEAR(ScaleInvariantLoss(predicted, truth, valid, 0.85).item<double>(), squares - 0.85 * mean * mean,
              1e-12);
  EXPECT_NEAR(ScaleInvariantLoss(predicted, truth, valid, -1).item<double>(), squares + mean * mean, 1e-12);
}

TEST(ScaleInvariantLoss, DoesNotSeeTheScaleWhereAllOfItIsForgiven) {
  const torch::Tensor truth = torch::rand({2, 1, 4, 5}, torch::kDouble) + 1;
  const torch::Tensor valid = torch::ones_like(truth);
  EXPECT_NEAR(ScaleInvariantLoss(7 * truth, truth, valid, 1).item<double>(), 0, 1e-7);
  EXPECT_GT(ScaleInvariantLoss(7 * truth, truth, valid, -1).item<double>(), 1);
}

TEST(RelativeResponseLoss, IsMinusLogOfASoftmaxByHand) {
  // One keypoint, one channel, 2×2 target pixels with the values 0, 1, 2, 3; the descriptor is 1.
  const ResponseProblem problem{Map({1}, {1, 1, 1}), Map({0, 1, 2, 3}, {1, 1, 2, 2}),
                                Map({1, 1, 1, 0}, {1, 1, 2, 2}), Map({1, 0}, {1, 1, 2}), Map({1}, {1, 1})};
  const double sigma = 0.7;
  const double sum = 2 * std::exp(-sigma) + 1;  // the fourth is not valid
  EXPECT_NEAR(RelativeResponseLoss(problem, sigma).item<double>(), std::log(sum), 1e-6);
}

TEST(RelativeResponseLoss, BlendsProbabilitiesBetweenPixels) {
  ResponseProblem problem{Map({1}, {1, 1, 1}), Map({0, 1, 2, 3}, {1, 1, 2, 2}),
                          torch::ones({1, 1, 2, 2}, torch::kDouble), Map({0.25, 0}, {1, 1, 2}),
                          Map({1}, {1, 1})};
  const double sum = std::exp(-1.0) + 1 + std::exp(-1.0) + std::exp(-4.0);
  const double expected = (0.75 * std::exp(-1.0) + 0.25) / sum;
  EXPECT_NEAR(RelativeResponseLoss(problem, 1).item<double>(), -std::log(expected), 1e-6);
}

// Places that only shift with the first two numbers of the pose, and features that are the place itself.
DriftProblem MakeShiftProblem(double shift_x, double shift_y) {
  constexpr int kPoints = 12;
  torch::Tensor moves = torch::zeros({1, kPoints, 2, 6}, torch::kDouble);
  moves.select(2, 0).select(2, 0).fill_(1);
  moves.select(2, 1).select(2, 1).fill_(1);
  const torch::Tensor source = torch::rand({1, kPoints, 2}, torch::kDouble);
  const torch::Tensor value = source + torch::tensor({shift_x, shift_y}, torch::kDouble);
  const torch::Tensor slope = Map({1, 0, 0, 1}, {1, 1, 4}).expand({1, kPoints, 4});
  return {source, torch::cat({value, slope}, 2), moves, torch::ones({1, kPoints}, torch::kDouble)};
}

TEST(PoseDriftLoss, IsTheLengthOfTheStepByHand) {
  // A shift of (0.3, 0.4) px: half a pixel, bounded by 2 to 0.5 / 1.25. The damping takes its thousandth of a
  // third, since two of the six directions are seen.
  const double step = 0.5 / (1 + 1e-3 / 3);
  EXPECT_NEAR(PoseDriftLoss(MakeShiftProblem(0.3, 0.4), 1).item<double>(), step / (1 + step / 2), 1e-5);
  EXPECT_NEAR(PoseDriftLoss(MakeShiftProblem(0.3, 0.4), 3).item<double>(), step / (1 + step / 2), 1e-5);
  EXPECT_NEAR(PoseDriftLoss(MakeShiftProblem(0, 0), 1).item<double>(), 0, 2e-3);
}

TEST(PoseDriftLoss, ForgivesErrorsThatCancelOut) {
  DriftProblem problem = MakeShiftProblem(0, 0);
  const torch::Tensor sign = torch::arange(12, torch::kDouble).remainder(2).mul(2).sub(1).view({1, 12, 1});
  problem.target.slice(2, 0, 1) += 0.4 * sign;
  EXPECT_LT(PoseDriftLoss(problem, 1).item<double>(), 2e-3);
  EXPECT_GT(PoseDriftLoss(problem, 12).item<double>(), 0.3);  // each point alone
  problem.weight = (sign.squeeze(2) + 1) / 2;                 // only those to one side count
  EXPECT_GT(PoseDriftLoss(problem, 1).item<double>(), 0.3);
}

TEST(SoftCdf, EqualsTheSupplementsBinsAddedUp) {
  const int bins = 20;
  const torch::Tensor values = torch::rand({1, 2, 30}, torch::kDouble) * 2 - 1;
  const torch::Tensor weight = torch::ones({1, 30}, torch::kDouble);
  const torch::Tensor cdf = SoftCdf(values, weight, bins);
  const double beta = 4.0 / (5 * bins);
  const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
  for (int channel = 0; channel < 2; ++channel) {
    std::vector<double> histogram(bins, 0);
    double total = 0;
    for (int k = 0; k < bins; ++k) {
      const double centre = -1 + (2.0 * k + 1) / bins;
      for (int n = 0; n < 30; ++n) {
        const double value = values[0][channel][n].item<double>();
        histogram[static_cast<size_t>(k)] +=
            sigmoid((value - centre + 1.0 / bins) / beta) - sigmoid((value - centre - 1.0 / bins) / beta);
      }
      total += histogram[static_cast<size_t>(k)];
    }
    double sum = 0;
    for (int k = 0; k < bins; ++k) {
      sum += histogram[static_cast<size_t>(k)];
      EXPECT_NEAR(cdf[0][channel][k].item<double>(), sum / total, 1e-9) << k;
    }
  }
}

TEST(TripletHistogramLoss, IsTheHingeByHand) {
  const torch::Tensor source = Map({0, 1, 0.5, 1}, {1, 2, 2});
  const torch::Tensor target = Map({0, 1, 0.5, 1}, {1, 2, 2});
  const torch::Tensor far_away = Map({1, 1, 0.5, 1}, {1, 2, 2});
  // First channel: 0 − 0.5 + 0.3 < 0 → 0; second: 0 − 0 + 0.3.
  EXPECT_NEAR(
      TripletHistogramLoss(source, target, far_away, torch::ones({1}, torch::kDouble), 0.3).item<double>(),
      0.15, 1e-12);
}

TEST(FlowLoss, IsRelativeToTheMotion) {
  const torch::Tensor truth = Map({4, 0, 0, 0}, {1, 2, 1, 2});
  const torch::Tensor predicted = Map({3, 9, 0, 9}, {1, 2, 1, 2});
  const torch::Tensor valid = Map({1, 0}, {1, 1, 1, 2});
  // Error 1, energy ½ (16 + 9), and the four square pixels below which motion does not count.
  EXPECT_NEAR(FlowLoss(predicted, truth, valid).item<double>(), 1 / (12.5 + 4), 1e-12);
}

TEST(DecorrelationLoss, IsOneForEqualAndZeroForOrthogonalBases) {
  const torch::Tensor a = Map({1, -1, 1, -1}, {1, 1, 2, 2});
  const torch::Tensor b = Map({1, 1, -1, -1}, {1, 1, 2, 2});
  const torch::Tensor valid = torch::ones({1, 1, 2, 2}, torch::kDouble);
  EXPECT_NEAR(DecorrelationLoss(torch::cat({a, 2 * a}, 1), valid).item<double>(), 1, 1e-6);
  EXPECT_NEAR(DecorrelationLoss(torch::cat({a, b}, 1), valid).item<double>(), 0, 1e-6);
}

TEST(BasisSpanLoss, VanishesWhereTheBasesHoldTheError) {
  const torch::Tensor average = torch::ones({1, 1, 4, 4}, torch::kDouble);
  const torch::Tensor shape = torch::rand({1, 1, 4, 4}, torch::kDouble) - 0.5;
  const torch::Tensor truth = 3 * (average + 0.4 * shape);
  const torch::Tensor valid = torch::ones_like(average);
  const torch::Tensor other = (torch::rand({1, 1, 4, 4}, torch::kDouble) - 0.5);
  EXPECT_LT(BasisSpanLoss(average, torch::cat({shape, other}, 1), truth, valid).item<double>(), 1e-5);
  EXPECT_GT(
      BasisSpanLoss(average, torch::zeros_like(torch::cat({shape, other}, 1)), truth, valid).item<double>(),
      1e-3);
}

TEST(AdversarialLosses, AreLeastSquaresOfTheirLabels) {
  const torch::Tensor real = Map({0.5, 1}, {2, 1});
  const torch::Tensor fake = Map({-1, 0}, {2, 1});
  EXPECT_NEAR(DiscriminatorLoss(real, fake).item<double>(), 0.5 * (0.125 + 0.5), 1e-12);
  EXPECT_NEAR(GeneratorLoss(fake).item<double>(), 0.5 * 2.5, 1e-12);
}

}  // namespace
}  // namespace lumen
