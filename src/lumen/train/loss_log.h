// The curves' numbers: losses summed on the device over some steps, written as one line of a CSV.
#pragma once

#include <filesystem>

#include "lumen/train/peers.h"
#include "lumen/train/stages.h"

namespace lumen {

class LossLog {
 public:
  struct Moment {
    int64_t step = 0;
    double seconds = 0, rate = 0;
  };

  // Waits for nothing: the sums stay on the device. Other names than before begin anew.
  void Add(const LossTerms& losses);
  bool Empty() const { return summed_ == 0; }
  // All ranks together: the sums become those over all of them.
  void SumOver(Peers& peers);
  void Forget();
  // Appends the means and forgets them. Says which loss was not finite.
  void Write(const std::filesystem::path& path, const Moment& moment);
  // Of what was written last, without what is only watched.
  double LastTotal() const { return last_total_; }

 private:
  std::vector<std::pair<std::string, torch::Tensor>> sums_;
  int64_t summed_ = 0;
  double last_total_ = 0;
};

}  // namespace lumen
