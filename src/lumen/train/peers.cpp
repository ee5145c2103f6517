#include "lumen/train/peers.h"

#include "lumen/base/error.h"

namespace lumen {

namespace {

class Alone : public Peers {
 public:
  int Rank() const override { return 0; }
  int Count() const override { return 1; }
  bool IsAlone() const override { return true; }
  int LocalRank() const override { return 0; }
  int LocalCount() const override { return 1; }
  std::string Use(const torch::Device& /*device*/, const std::string& /*by*/) override { return "none"; }
  void Broadcast(torch::Tensor& /*tensor*/) override {}
  std::unique_ptr<PendingSum> StartSum(torch::Tensor /*tensor*/) override {
    struct Nothing : PendingSum {
      void Wait() override {}
    };
    return std::make_unique<Nothing>();
  }
  std::vector<double> Largest(std::vector<double> numbers) override { return numbers; }
  void RequireSame(const std::string& /*what*/, const std::string& /*value*/) override {}
  bool Fail(const std::string& /*reason*/) override { return false; }
  void Leave() override {}
};

}  // namespace

std::unique_ptr<Peers> TrainAlone() { return std::make_unique<Alone>(); }

#ifndef LUMEN_HAS_GLOO

bool CanTrainTogether() { return false; }

std::unique_ptr<Peers> JoinPeers(const RankPlace& /*place*/) {
  throw InputError(
      "several ranks: this build trains in one process alone (Gloo's headers were not found when it was "
      "built: libgloo-dev)");
}

std::unique_ptr<Peers> StartPeers(int /*ranks*/) { return JoinPeers({}); }

#endif

}  // namespace lumen
