#include "lumen/train/optimizer.h"

#include "lumen/base/error.h"

namespace lumen {

FlatAdamW::FlatAdamW(const std::vector<torch::Tensor>& parameters, double weight_decay)
    : weight_decay_(weight_decay) {
  LUMEN_CHECK(!parameters.empty());
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& parameter : parameters) flat.push_back(parameter.detach().flatten());
  values_ = torch::cat(flat).contiguous();
  gradient_ = torch::zeros_like(values_);
  first_ = torch::zeros_like(values_);
  second_ = torch::zeros_like(values_);
  steps_ = torch::zeros({1}, values_.options());
  norm_ = torch::zeros({1}, values_.options());
  int64_t offset = 0;
  for (torch::Tensor parameter : parameters) {
    const auto count = parameter.numel();
    const auto shape = parameter.sizes().vec();
    parameter.set_data(values_.narrow(0, offset, count).view(shape));
    parameter.mutable_grad() = gradient_.narrow(0, offset, count).view(shape);
    offset += count;
  }
}

void FlatAdamW::Step(double rate, double clip_norm) {
  constexpr double kFirst = 0.9;
  constexpr double kSecond = 0.99;
  constexpr double kTiny = 1e-8;
  torch::NoGradGuard no_grad;
  norm_ = gradient_.norm().view({1});
  const torch::Tensor good = torch::isfinite(norm_).to(values_.dtype());
  const torch::Tensor factor = (clip_norm / (norm_ + 1e-12)).clamp_max(1.0);
  const torch::Tensor g = torch::nan_to_num(gradient_ * factor, 0.0, 0.0, 0.0);
  steps_ += good;
  // Where the gradient was not finite the moments stay, and the rate is nothing.
  first_ += good * (1 - kFirst) * (g - first_);
  second_ += good * (1 - kSecond) * (g * g - second_);
  const torch::Tensor first_bias = 1 - torch::pow(torch::full_like(steps_, kFirst), steps_.clamp_min(1));
  const torch::Tensor second_bias = 1 - torch::pow(torch::full_like(steps_, kSecond), steps_.clamp_min(1));
  const torch::Tensor direction = (first_ / first_bias) / (torch::sqrt(second_ / second_bias) + kTiny);
  values_ -= good * rate * (direction + weight_decay_ * values_);
}

void WeightAverage::Update(const torch::Tensor& values, int64_t step) {
  constexpr double kYoung = 0.25;  // share of the steps so far
  torch::NoGradGuard no_grad;
  const double span = std::min<double>(horizon_, 1 + kYoung * static_cast<double>(step));
  mean_ += (values - mean_) / std::max(1.0, span);
}

}  // namespace lumen
