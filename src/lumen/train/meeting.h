// Where ranks meet: a small table of texts that rank 0 keeps and all can read and write, and a watch over who
// is still alive. It needs none of the collective operations, and so works while those hang.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "lumen/base/timer.h"
#include "lumen/train/launch.h"

namespace lumen {

// How long silence is borne.
struct WatchTimes {
  double beat = 2;        // seconds between signs of life
  double silence = 30;    // without one: gone
  double suspected = 10;  // … where the others have noticed already
  double grace = 15;      // for this rank's own work to end by itself
  double meeting = 300;   // for all to come together
};

// What c10d and Gloo say has many lines; the first says what is the matter.
std::string FirstLine(const std::exception& error);

class Meeting {
 public:
  // Rank 0 opens it, the others come in. Throws InputError where that fails.
  explicit Meeting(const RankPlace& place, const WatchTimes& times = {});
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int Port() const { return store_->getPort(); }
  const RankPlace& Place() const { return place_; }
  // For c10d's own use: the same table through a door of its own, since its reads may wait long.
  c10::intrusive_ptr<c10d::Store> OpenTable() const;

  void Write(const std::string& name, const std::string& text);
  // Waits until it is there; throws PeerLost if somebody fails meanwhile, InputError if nobody comes.
  std::string Read(const std::string& name);
  // What each rank wrote under this name, this one `mine`.
  std::vector<std::string> Gather(const std::string& name, const std::string& mine);

  // From now on. `fallen` says which of the ranks that this one started has ended, or nothing.
  void Watch(std::function<std::string()> fallen);
  // How ranks are called from now on.
  void SetNames(std::vector<std::string> names);
  // Who failed and why; empty while all is well. `certain`: somebody did; waits until it is known who.
  std::string WhoFailed(bool certain);
  // This rank has failed. True if rank 0 says why.
  bool Fail(const std::string& reason);
  // This rank is through, well or not; rank 0 waits a little for the others.
  void Leave();

 private:
  std::string Key(const std::string& name) const { return prefix_ + name; }
  std::string NameOf(int rank);
  bool Has(const std::string& name);
  void Run();
  void Look();
  void LookForTheFallen();
  double SilenceOf(int rank);
  std::string FindSilent();
  void Guard();
  void EndIfNobodyElseDoes();
  bool Pause(double seconds);  // false: the watch is over
  void SetLost(const std::string& who);
  double Now() const { return clock_.ElapsedMs() / 1000; }

  RankPlace place_;
  WatchTimes times_;
  std::string prefix_;
  Stopwatch clock_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
  std::function<std::string()> fallen_;
  int64_t beat_ = 0;
  std::vector<std::string> heard_;      // each rank's last sign of life …
  std::vector<double> heard_at_;        // … and when it changed
  std::atomic<bool> suspected_{false};  // somebody has failed
  std::atomic<bool> known_{false};      // and this rank's own work knows
  std::atomic<bool> leaving_{false};
  std::atomic<bool> told_{false};     // rank 0 says why
  std::atomic<double> looked_at_{0};  // when the watch was last through
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> names_;
  std::string lost_;
  double lost_at_ = 0;
  bool over_ = false;
  std::thread watch_, guard_;
};

}  // namespace lumen
