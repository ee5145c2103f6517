#include "lumen/train/gradient_buckets.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace lumen {

// Autograd keeps the node that adds up a parameter's gradient only as long as somebody holds it.
struct GradientBuckets::Hooks {
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, uintptr_t>> placed;
};

GradientBuckets::GradientBuckets(Peers& peers, const std::vector<torch::Tensor>& parameters,
                                 torch::Tensor gradient, int64_t numbers)
    : peers_(peers), gradient_(std::move(gradient)), hooks_(std::make_unique<Hooks>()) {
  if (peers.IsAlone()) return;
  int64_t end = gradient_.numel();
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    if (buckets_.empty() || buckets_.back().count >= numbers) buckets_.push_back({end, 0});
    Bucket& bucket = buckets_.back();
    end -= parameter->numel();
    bucket.first = end;
    bucket.count += parameter->numel();
    ++bucket.parameters;
    const size_t index = buckets_.size() - 1;
    const auto node = torch::autograd::impl::grad_accumulator(*parameter);
    const uintptr_t key = node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, index](const torch::autograd::variable_list& outputs,
                      const torch::autograd::variable_list& /*inputs*/) {
          Add(index);
          return outputs;
        }));
    hooks_->placed.emplace_back(node, key);
  }
}

GradientBuckets::~GradientBuckets() {
  for (const auto& [node, key] : hooks_->placed) node->del_post_hook(key);
}

void GradientBuckets::Arm() {
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters;
    bucket.whole = false;
  }
  armed_ = true;
}

void GradientBuckets::Add(size_t bucket) {
  if (!armed_ || --buckets_[bucket].missing > 0) return;
  buckets_[bucket].whole = true;
  try {
    SetOut();
  } catch (...) {  // not through autograd: Finish tells
    if (!error_) error_ = std::current_exception();
  }
}

// In the same order on every rank, whichever was whole first.
void GradientBuckets::SetOut() {
  for (; next_ < buckets_.size() && buckets_[next_].whole; ++next_)
    under_way_.push_back(peers_.StartSum(gradient_.narrow(0, buckets_[next_].first, buckets_[next_].count)));
}

void GradientBuckets::Finish() {
  armed_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  for (Bucket& bucket : buckets_) bucket.whole = true;  // what backward never came to is nothing
  SetOut();
  for (const auto& sum : under_way_) sum->Wait();
  under_way_.clear();
  next_ = 0;
}

}  // namespace lumen
