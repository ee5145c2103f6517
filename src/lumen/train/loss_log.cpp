#include "lumen/train/loss_log.h"

#include <cmath>

#include "lumen/base/file.h"
#include "lumen/base/log.h"

namespace lumen {

void LossLog::Add(const LossTerms& losses) {
  torch::NoGradGuard no_grad;
  if (sums_.size() != losses.terms.size()) sums_.clear();
  if (sums_.empty()) {
    for (const auto& [name, term] : losses.terms) sums_.emplace_back(name, term.detach().clone());
    summed_ = 1;
    return;
  }
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i].second += losses.terms[i].second.detach();
  ++summed_;
}

void LossLog::SumOver(Peers& peers) {
  if (peers.IsAlone()) return;
  std::vector<torch::Tensor> all;
  for (const auto& [name, sum] : sums_) all.push_back(sum.to(torch::kDouble).flatten());
  all.push_back(torch::full({1}, static_cast<double>(summed_), all.front().options()));
  const torch::Tensor numbers = torch::cat(all).to(torch::kCPU);
  peers.Sum(numbers);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i].second = numbers[static_cast<int64_t>(i)];
  summed_ = std::llround(numbers[-1].item<double>());
}

void LossLog::Write(const std::filesystem::path& path, const Moment& moment) {
  std::string header = "step,seconds,rate";
  std::string row = StrCat(moment.step, ",", moment.seconds, ",", moment.rate);
  last_total_ = 0;
  for (const auto& [name, sum] : sums_) {
    const double mean = sum.item<double>() / static_cast<double>(summed_);
    if (!std::isfinite(mean))
      LogWarning("step ", moment.step, ": the loss \"", name, "\" is not finite; such steps are skipped");
    header += "," + name;
    row += StrCat(",", mean);
    if (name != "adversary" && name != "unaligned") last_total_ += mean;
  }
  const bool fresh = !std::filesystem::exists(path);
  AppendFile file(path);
  if (fresh) file.Append(header + "\n");
  file.Append(row + "\n");
  Forget();
}

void LossLog::Forget() {
  sums_.clear();
  summed_ = 0;
}

}  // namespace lumen
