#include "lumen/train/discriminator.h"

namespace lumen {

namespace {

constexpr int64_t kFirstWidth = 12;
constexpr int kScales = 4;
constexpr int64_t kGroupSize = 4;

// Convolution, norm, ReLU, convolution, ReLU.
void AddBlock(torch::nn::Sequential& body, int64_t in, int64_t out) {
  const auto conv = [](int64_t from, int64_t to) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 3).padding(1));
  };
  body->push_back(conv(in, out));
  body->push_back(torch::nn::GroupNorm(torch::nn::GroupNormOptions(out / kGroupSize, out)));
  body->push_back(torch::nn::ReLU());
  body->push_back(conv(out, out));
  body->push_back(torch::nn::ReLU());
}

}  // namespace

DiscriminatorImpl::DiscriminatorImpl(int64_t height, int64_t width) {
  torch::nn::Sequential body;
  int64_t channels = 4;
  for (int scale = 0; scale < kScales; ++scale) {
    const int64_t wide = kFirstWidth << scale;
    AddBlock(body, channels, wide);
    body->push_back(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2)));
    AddBlock(body, wide, wide);
    channels = wide;
  }
  body->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, 1, 1)));
  body_ = register_module("body", body);
  last_ = register_module("last", torch::nn::Linear((height >> kScales) * (width >> kScales), 1));
}

torch::Tensor DiscriminatorImpl::forward(const torch::Tensor& picture, const torch::Tensor& depth) {
  return last_->forward(body_->forward(torch::cat({picture, depth}, 1)).flatten(1));
}

}  // namespace lumen
