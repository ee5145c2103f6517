// Several ranks, by Torch's c10d.
#ifdef LUMEN_HAS_GLOO
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#ifdef LUMEN_HAS_NCCL
#include <ATen/cuda/CUDAContext.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/train/meeting.h"
#include "lumen/train/peers.h"

namespace lumen {

bool CanTrainTogether() { return true; }

namespace {

// One collective may take as long as rank 0's slowest validation; who is alive is the meeting's business.
constexpr std::chrono::minutes kLongestWait{60};

std::string HostName() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

// Machines may be called alike.
std::string MachineId() {
  std::error_code error;
  const char* boot = "/proc/sys/kernel/random/boot_id";
  return StrCat(HostName(), "/", std::filesystem::exists(boot, error) ? Trim(ReadFile(boot)) : "");
}

// The two ends of the way to a host, as numbers: this machine's address and the host's. Nothing is sent.
struct Route {
  std::string from, to;
};
Route RouteTo(const std::string& host, int port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return {};
  Route route;
  for (addrinfo* a = found; a != nullptr && route.from.empty(); a = a->ai_next) {
    const int socket = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (socket < 0) continue;
    sockaddr_storage near = {};
    socklen_t length = sizeof(near);
    char from[NI_MAXHOST] = {}, to[NI_MAXHOST] = {};
    if (::connect(socket, a->ai_addr, a->ai_addrlen) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&near), &length) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&near), length, from, sizeof(from), nullptr, 0,
                      NI_NUMERICHOST) == 0 &&
        ::getnameinfo(a->ai_addr, a->ai_addrlen, to, sizeof(to), nullptr, 0, NI_NUMERICHOST) == 0)
      route = {from, to};
    ::close(socket);
  }
  ::freeaddrinfo(found);
  return route;
}

bool IsLoopback(const std::string& address) { return StartsWith(address, "127.") || address == "::1"; }

// The first lines in which two texts differ.
std::pair<std::string, std::string> FirstDifference(const std::string& one, const std::string& other) {
  const std::vector<std::string> a = Split(one, '\n');
  const std::vector<std::string> b = Split(other, '\n');
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  const auto line = [&](const std::vector<std::string>& lines) {
    return i < lines.size() ? Trim(lines[i].substr(0, lines[i].find('#'))) : "nothing";
  };
  return {line(a), line(b)};
}

class Together : public Peers {
 public:
  Together(std::shared_ptr<Meeting> meeting, std::shared_ptr<StartedRanks> started);
  ~Together() override;

  int Rank() const override { return meeting_->Place().rank; }
  int Count() const override { return meeting_->Place().ranks; }
  int LocalRank() const override { return local_rank_; }
  int LocalCount() const override { return local_count_; }

  std::string Use(const torch::Device& device, const std::string& by) override;
  void Broadcast(torch::Tensor& tensor) override;
  std::unique_ptr<PendingSum> StartSum(torch::Tensor tensor) override;
  std::vector<double> Largest(std::vector<double> numbers) override;
  void RequireSame(const std::string& what, const std::string& value) override;
  bool Fail(const std::string& reason) override;
  void Leave() override;

 private:
  class Pending;
  using Group = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

  std::string OwnAddress();
  std::string CardOf(const torch::Device& device) const;
  [[noreturn]] void Lose(const std::exception& error);
  // What c10d throws is that somebody is gone.
  template <typename Work>
  auto Guard(Work&& work) {
    if (const std::string who = meeting_->WhoFailed(false); !who.empty()) throw PeerLost(who);
    try {
      return work();
    } catch (const std::exception& error) {
      if (std::string(error.what()).find("out of memory") != std::string::npos)
        throw;  // this rank's own trouble
      Lose(error);
    }
  }

  std::shared_ptr<Meeting> meeting_;
  std::shared_ptr<StartedRanks> started_;
  std::vector<std::string> machines_;
  int local_rank_ = 0, local_count_ = 0;
  Group gloo_;
#ifdef LUMEN_HAS_NCCL
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> nccl_;
#endif
  bool failed_ = false;
};

Together::Together(std::shared_ptr<Meeting> meeting, std::shared_ptr<StartedRanks> started)
    : meeting_(std::move(meeting)), started_(std::move(started)) {
  machines_ = meeting_->Gather("machine", MachineId());
  const std::vector<std::string> hosts = meeting_->Gather("host", HostName());
  std::vector<std::string> names;
  for (size_t r = 0; r < hosts.size(); ++r) names.push_back(StrCat("rank ", r, " on ", hosts[r]));
  meeting_->SetNames(names);
  for (int r = 0; r < Count(); ++r) {
    if (machines_[static_cast<size_t>(r)] != machines_[static_cast<size_t>(Rank())]) continue;
    if (r < Rank()) ++local_rank_;
    ++local_count_;
  }
  const auto options = c10::make_intrusive<c10d::ProcessGroupGloo::Options>(kLongestWait);
  const auto interface = OwnEnvironment()("GLOO_SOCKET_IFNAME");
  const std::string address = OwnAddress();
  try {
    options->devices.push_back(interface ? c10d::ProcessGroupGloo::createDeviceForInterface(*interface)
                                         : c10d::ProcessGroupGloo::createDeviceForHostname(address));
  } catch (const std::exception& error) {
    throw InputError(StrCat(interface ? StrCat("GLOO_SOCKET_IFNAME=", *interface) : address,
                            ": no way to the other ranks: ", FirstLine(error)));
  }
  Guard([&] {
    options->threads = 2;
    gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(meeting_->OpenTable(), Rank(), Count(), options);
  });
}

// Whatever a group waits for, of the dead it waits in vain.
Together::~Together() {
  if (!failed_) return;
  gloo_.release();
#ifdef LUMEN_HAS_NCCL
  nccl_.release();
#endif
}

// By which the others reach this machine: the one from which it reaches rank 0. Rank 0's own is what the
// others took to reach it: a machine's own name often leads to itself alone.
std::string Together::OwnAddress() {
  const RankPlace& place = meeting_->Place();
  const Route route = RouteTo(place.master, place.port);
  const std::vector<std::string> seen = meeting_->Gather("seen", route.to);
  std::string first = "127.0.0.1";
  for (size_t r = 0; r < seen.size(); ++r)
    if (machines_[r] != machines_[0] && !seen[r].empty()) first = seen[r];
  const bool beside_first = machines_[static_cast<size_t>(Rank())] == machines_[0];
  return beside_first || route.from.empty() || IsLoopback(route.from) ? first : route.from;
}

void Together::Lose(const std::exception& error) {
  failed_ = true;
  const std::string who = meeting_->WhoFailed(true);
  throw PeerLost(who.empty() ? StrCat("another rank broke off, and nobody knows which: ", FirstLine(error))
                             : who);
}

std::string Together::CardOf([[maybe_unused]] const torch::Device& device) const {
#ifdef LUMEN_HAS_NCCL
  if (device.is_cuda()) {
    const cudaDeviceProp* card = at::cuda::getDeviceProperties(device.index());
    return StrCat(machines_[static_cast<size_t>(Rank())], "/", card->pciDomainID, ":", card->pciBusID, ":",
                  card->pciDeviceID);
  }
#endif
  return "";
}

std::string Together::Use(const torch::Device& device, const std::string& by) {
  RequireSame("device", device.is_cuda() ? "cuda" : "cpu");
  RequireSame("reduce_by", by);
  std::vector<std::string> cards = meeting_->Gather("card", CardOf(device));
  std::sort(cards.begin(), cards.end());
  const bool own = !cards.front().empty() && std::adjacent_find(cards.begin(), cards.end()) == cards.end();
  if (by == "nccl" && cards.front().empty())
    throw InputError("NCCL: no GPU, or this build has it not (nccl.h was not found when it was built)");
  if (by == "nccl" && !own) throw InputError("NCCL needs a GPU for each rank: use reduce_by=gloo");
  if (by == "gloo" || !own) return "gloo";
#ifdef LUMEN_HAS_NCCL
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = kLongestWait;
  Guard([&] {
    nccl_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(
        c10::make_intrusive<c10d::PrefixStore>("nccl", meeting_->OpenTable()), Rank(), Count(), options);
  });
  return "nccl";
#else
  return "gloo";
#endif
}

class Together::Pending : public PendingSum {
 public:
  Pending(Together& all, c10::intrusive_ptr<c10d::Work> work) : all_(all), work_(std::move(work)) {}
  void Wait() override {
    all_.Guard([&] { work_->wait(); });
  }

 private:
  Together& all_;
  c10::intrusive_ptr<c10d::Work> work_;
};

std::unique_ptr<PendingSum> Together::StartSum(torch::Tensor tensor) {
  std::vector<torch::Tensor> tensors = {std::move(tensor)};
  return Guard([&] {
#ifdef LUMEN_HAS_NCCL
    if (nccl_ && tensors[0].is_cuda()) return std::make_unique<Pending>(*this, nccl_->allreduce(tensors));
#endif
    return std::make_unique<Pending>(*this, gloo_->allreduce(tensors));
  });
}

void Together::Broadcast(torch::Tensor& tensor) {
  std::vector<torch::Tensor> tensors = {tensor};
  Guard([&] {
#ifdef LUMEN_HAS_NCCL
    if (nccl_ && tensor.is_cuda()) return void(nccl_->broadcast(tensors)->wait());
#endif
    gloo_->broadcast(tensors)->wait();
  });
}

std::vector<double> Together::Largest(std::vector<double> numbers) {
  std::vector<torch::Tensor> tensors = {
      torch::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size())}, torch::kDouble)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  Guard([&] { gloo_->allreduce(tensors, options)->wait(); });
  return numbers;
}

void Together::RequireSame(const std::string& what, const std::string& value) {
  const std::vector<std::string> all = meeting_->Gather("same/" + what, value);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    const auto [theirs, first] = FirstDifference(all[r], all[0]);
    throw InputError(StrCat("rank ", r, " has another ", what, " than rank 0: ", theirs, ", not ", first));
  }
}

bool Together::Fail(const std::string& reason) {
  failed_ = true;
  return meeting_->Fail(reason);
}

void Together::Leave() {
  constexpr double kChildren = 10;
  meeting_->Leave();
  if (started_ != nullptr) started_->Await(kChildren);
}

// A rank that does not get as far as to be one of them says why, too.
std::unique_ptr<Peers> Join(const std::shared_ptr<Meeting>& meeting,
                            const std::shared_ptr<StartedRanks>& started) {
  try {
    return std::make_unique<Together>(meeting, started);
  } catch (const std::exception& error) {
    if (meeting->Fail(error.what())) throw PeerLost("");
    throw;
  }
}

}  // namespace

std::unique_ptr<Peers> JoinPeers(const RankPlace& place) {
  // A thread of the table's own throws where rank 0's machine resets the connection, and nobody can catch it.
  std::set_terminate([] {
    constexpr int kPeerLost = 6;
    std::fputs("lumen train: rank 0 is gone\n", stderr);
    std::_Exit(kPeerLost);
  });
  const auto meeting = std::make_shared<Meeting>(place);
  meeting->Watch({});
  return Join(meeting, nullptr);
}

std::unique_ptr<Peers> StartPeers(int ranks) {
  RankPlace place;
  place.ranks = ranks;
  const auto meeting = std::make_shared<Meeting>(place);
  const auto started = std::make_shared<StartedRanks>();
  started->Start(ranks, meeting->Port());
  meeting->Watch([started] { return started->Fallen(); });
  return Join(meeting, started);
}

}  // namespace lumen
#endif
