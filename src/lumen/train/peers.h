// The other processes that train with this one. Sums, broadcasts and agreements go through Torch's c10d: NCCL
// where every rank has a GPU of its own and this was built with it, Gloo otherwise. Alone, all of it costs
// nothing. When a rank fails or falls silent, all the others end within a minute and rank 0 says why.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lumen/train/launch.h"

namespace lumen {

// Another rank failed: which, and why.
class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class PendingSum {
 public:
  virtual ~PendingSum() = default;
  virtual void Wait() = 0;  // throws PeerLost
};

// Whatever all ranks do together, each does in the same order.
class Peers {
 public:
  virtual ~Peers() = default;

  virtual int Rank() const = 0;
  virtual int Count() const = 0;
  virtual bool IsAlone() const { return false; }  // nothing is ever summed
  // Among those on this machine.
  virtual int LocalRank() const = 0;
  virtual int LocalCount() const = 0;

  // What is summed and broadcast lies on this device from now on. `by` is auto, gloo or nccl; returns which
  // it is. Throws InputError where nccl is wanted and cannot be.
  virtual std::string Use(const torch::Device& device, const std::string& by) = 0;
  virtual void Broadcast(torch::Tensor& tensor) = 0;  // rank 0's
  virtual std::unique_ptr<PendingSum> StartSum(torch::Tensor tensor) = 0;
  // The largest of each number over all ranks.
  virtual std::vector<double> Largest(std::vector<double> numbers) = 0;
  // Throws InputError, naming rank 0's and another's, unless all ranks say the same.
  virtual void RequireSame(const std::string& what, const std::string& value) = 0;

  // This rank has failed: the others end. True if rank 0 tells why, so that this one need not.
  virtual bool Fail(const std::string& reason) = 0;
  // All are through.
  virtual void Leave() = 0;

  bool IsFirst() const { return Rank() == 0; }
  void Sum(const torch::Tensor& tensor) { StartSum(tensor)->Wait(); }
};

std::unique_ptr<Peers> TrainAlone();

// Whether this build can train in several processes.
bool CanTrainTogether();

// Waits until all ranks are there. `started` ranks are children of this one; they are watched. Throws
// InputError where they do not meet.
std::unique_ptr<Peers> JoinPeers(const RankPlace& place);
std::unique_ptr<Peers> StartPeers(int ranks);

}  // namespace lumen
