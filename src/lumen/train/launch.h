// Several processes ("ranks") train together. Who starts them, a torchrun-like launcher, Slurm's srun or
// this program itself, tells each by its environment which of them it is and where they meet.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lumen {

// Which of the ranks this process is.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  std::string master = "127.0.0.1";  // where rank 0 is to be found
  int port = 0;                      // 0: rank 0 takes a free one and tells those whom it starts
  bool hosted = false;               // the launcher keeps the meeting place itself
  std::string round = "0";           // attempts of one launch meet apart from one another
};

// The environment, or what stands in for it: the value of a name, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment OwnEnvironment();

// What torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT) or those of srun (SLURM_PROCID, …)
// say; nothing where this process was started alone. Throws InputError where they contradict themselves.
std::optional<RankPlace> ReadRankPlace(const Environment& environment);

// The first host of a list as Slurm writes it: "gpu[03-05,9],login" → "gpu03".
std::string FirstHost(const std::string& list);

// Ranks that this process started on this machine. They die with it, however it ends.
class StartedRanks {
 public:
  StartedRanks() = default;
  ~StartedRanks();
  StartedRanks(const StartedRanks&) = delete;
  StartedRanks& operator=(const StartedRanks&) = delete;

  // Ranks 1 … ranks − 1: this program again, with the same arguments. Throws InputError.
  void Start(int ranks, int port);
  // From any thread: the first that ended as it should not, in words ("rank 2 was killed (signal 9)"); empty:
  // none.
  std::string Fallen();
  // All have ended, or this many seconds are over.
  void Await(double seconds);

 private:
  std::string Ask();

  std::mutex mutex_;
  std::map<pid_t, int> running_;  // rank by process
  std::string fallen_;
};

}  // namespace lumen
