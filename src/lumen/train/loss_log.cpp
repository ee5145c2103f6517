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
  sums_.clear();
  summed_ = 0;
}

}  // namespace lumen
