#include "lumen/train/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/signals.h"
#include "lumen/base/timer.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace lumen {

namespace {

constexpr int kLastPort = 65535;

// A whole number of the environment, within its limits.
int ReadNumber(const Environment& environment, const std::string& name, int least, int most) {
  const std::optional<std::string> text = environment(name);
  if (!text) throw InputError(StrCat("one of several ranks, but ", name, " is not set"));
  const std::optional<long long> number = ParseInteger(*text);
  if (!number || *number < least || *number > most)
    throw InputError(StrCat(name, "=", *text, " is no number from ", least, " to ", most));
  return static_cast<int>(*number);
}

constexpr int kMostRanks = 100000;

std::optional<RankPlace> ReadTorchrun(const Environment& environment) {
  if (!environment("RANK") && !environment("WORLD_SIZE")) return std::nullopt;
  RankPlace place;
  place.ranks = ReadNumber(environment, "WORLD_SIZE", 1, kMostRanks);
  place.rank = ReadNumber(environment, "RANK", 0, place.ranks - 1);
  if (place.ranks == 1) return std::nullopt;
  place.master = environment("MASTER_ADDR").value_or("");
  if (place.master.empty()) throw InputError("one of several ranks, but MASTER_ADDR is not set");
  place.port = ReadNumber(environment, "MASTER_PORT", 1, kLastPort);
  place.hosted = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  place.round = environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return place;
}

// Steps of one job must not meet: the port follows from both, in a range that systems leave alone.
int PortOf(const Environment& environment) {
  constexpr int64_t kFirst = 15000;
  constexpr int64_t kCount = 15000;
  constexpr int64_t kStride = 131;
  const auto number = [&](const char* name) {
    return ParseInteger(environment(name).value_or("0")).value_or(0);
  };
  return static_cast<int>(kFirst + (number("SLURM_JOB_ID") * kStride + number("SLURM_STEP_ID")) % kCount);
}

// A batch script has some of these variables, too; the number of the step's tasks is srun's alone.
std::optional<RankPlace> ReadSlurm(const Environment& environment) {
  if (!environment("SLURM_STEP_NUM_TASKS") || !environment("SLURM_PROCID")) return std::nullopt;
  RankPlace place;
  place.ranks = ReadNumber(environment, "SLURM_STEP_NUM_TASKS", 1, kMostRanks);
  place.rank = ReadNumber(environment, "SLURM_PROCID", 0, place.ranks - 1);
  if (place.ranks == 1) return std::nullopt;
  const std::string nodes = environment("SLURM_STEP_NODELIST").value_or("");
  place.master = environment("MASTER_ADDR").value_or(FirstHost(nodes));
  if (place.master.empty()) throw InputError("one of several ranks, but SLURM_STEP_NODELIST is not set");
  place.port =
      environment("MASTER_PORT") ? ReadNumber(environment, "MASTER_PORT", 1, kLastPort) : PortOf(environment);
  place.round =
      StrCat(environment("SLURM_JOB_ID").value_or(""), ".", environment("SLURM_STEP_ID").value_or(""), ".",
             environment("SLURM_RESTART_COUNT").value_or("0"));
  return place;
}

}  // namespace

Environment OwnEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::optional<RankPlace> ReadRankPlace(const Environment& environment) {
  if (auto place = ReadTorchrun(environment)) return place;
  return ReadSlurm(environment);
}

std::string FirstHost(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const size_t close = list.find(']', end);
  if (close == std::string::npos) return "";
  const std::string numbers = list.substr(end + 1, close - end - 1);
  const std::string first = numbers.substr(0, numbers.find_first_of(",-"));
  // What comes after the brackets belongs to the name, up to the next one.
  const std::string rest = list.substr(close + 1, list.find(',', close) - close - 1);
  return FirstHost(list.substr(0, end) + first + rest);
}

namespace {

// In the child, where nothing may be called that takes memory or a lock.
[[noreturn]] void BecomeRank(const char* program, char* const* arguments, char* const* variables,
                             pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  UnguardSignals();
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDOUT_FILENO);  // what comes of the training is told by rank 0
  ::execve(program, arguments, variables);
  ::_exit(127);
}

std::vector<std::string> OwnArguments() {
  std::vector<std::string> arguments = Split(ReadFile("/proc/self/cmdline"), '\0');
  if (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
  return arguments;
}

std::vector<std::string> VariablesOf(int rank, int ranks, int port) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const std::string name = variable.substr(0, variable.find('='));
    if (name != "RANK" && name != "WORLD_SIZE" && name != "MASTER_ADDR" && name != "MASTER_PORT" &&
        name.rfind("TORCHELASTIC_", 0) != 0)
      variables.push_back(variable);
  }
  variables.insert(variables.end(), {StrCat("RANK=", rank), StrCat("WORLD_SIZE=", ranks),
                                     "MASTER_ADDR=127.0.0.1", StrCat("MASTER_PORT=", port)});
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string WordsOf(int status) {
  if (!WIFSIGNALED(status)) return StrCat("ended with code ", WEXITSTATUS(status));
  return StrCat("was killed (signal ", WTERMSIG(status),
                WTERMSIG(status) == SIGKILL ? "; perhaps memory ran out)" : ")");
}

}  // namespace

StartedRanks::~StartedRanks() {
  for (const auto& [process, rank] : running_) ::kill(process, SIGKILL);
  for (const auto& [process, rank] : running_) ::waitpid(process, nullptr, 0);
}

void StartedRanks::Start(int ranks, int port) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> arguments = OwnArguments();
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const pid_t parent = ::getpid();
  for (int rank = 1; rank < ranks; ++rank) {
    std::vector<std::string> variables = VariablesOf(rank, ranks, port);
    const std::vector<char*> variable_pointers = Pointers(variables);
    const pid_t child = ::fork();
    if (child == 0) BecomeRank(program.c_str(), argument_pointers.data(), variable_pointers.data(), parent);
    if (child < 0) throw InputError(StrCat("cannot start rank ", rank, ": ", std::strerror(errno)));
    const std::lock_guard lock(mutex_);
    running_[child] = rank;
  }
}

std::string StartedRanks::Fallen() {
  const std::lock_guard lock(mutex_);
  return Ask();
}

std::string StartedRanks::Ask() {
  for (auto it = running_.begin(); it != running_.end();) {
    int status = 0;
    if (::waitpid(it->first, &status, WNOHANG) <= 0) {
      ++it;
      continue;
    }
    if (status != 0 && fallen_.empty()) fallen_ = StrCat("rank ", it->second, " ", WordsOf(status));
    it = running_.erase(it);
  }
  return fallen_;
}

void StartedRanks::Await(double seconds) {
  constexpr useconds_t kPause = 20000;
  const Stopwatch watch;
  while (watch.ElapsedMs() < 1000 * seconds) {
    {
      const std::lock_guard lock(mutex_);
      Ask();
      if (running_.empty()) return;
    }
    ::usleep(kPause);
  }
}

}  // namespace lumen
