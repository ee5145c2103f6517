// Programs started with a fault in store for them, and what came of it. The library that makes calls fail is
// fail_nth.cpp; LUMEN_FAULTS=full tries every moment there is, or many, where a plain check tries a few.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lumen/base/file.h"

namespace lumen {

inline constexpr int kBadInput = 2, kBadOutput = 3, kNoMemory = 5;  // exit codes

bool TestsAllFaults();
inline int Moments(int few, int many) { return TestsAllFaults() ? many : few; }

// Numbers from 1 to `count`, so many of them, evenly spread; all if there are no more.
std::vector<uint64_t> Spread(uint64_t count, int moments);

// See fail_nth.cpp.
struct Fault {
  std::string calls;  // "write", "open", …; empty: none
  std::string error = "EIO";
  uint64_t at = 0;
  bool stays = false;
  std::filesystem::path under;
  size_t size = 0;
};

// A signal after a time, instead.
struct Signal {
  int number = 0;
  double after_seconds = 0;
};

struct Ending {
  int code = -1;   // -1: it did not come to one
  int signal = 0;  // that it died of
  bool hung = false;
  std::string out, err;
  double seconds = 0;
  std::map<std::string, uint64_t> calls;  // of each kind that was counted
  uint64_t struck = 0;
  std::string what;  // was struck
};

// Starts a program that lies beside this one and waits for its end; one that takes longer than a minute is
// killed, with all it started. `temporary` is where it may put what nobody shall see.
Ending Start(const std::vector<std::string>& command, const std::filesystem::path& temporary,
             const Fault& fault = {}, const Signal& signal = {});

// Reads every file of a folder by its kind, but those that were being written aside; throws where one is
// damaged.
void RequireReadableFiles(const std::filesystem::path& folder);
std::vector<std::string> ListFilesBelow(const std::filesystem::path& folder);

// What is left in a folder of files that should have become others, or gone.
std::vector<std::string> ListTemporaries(const std::filesystem::path& folder);

// A command that is put to the test: `arguments` write to `out` and nowhere else.
struct TriedCommand {
  std::string name;
  std::vector<std::string> arguments;  // the program first
  std::filesystem::path in, out;       // folders: what is read, and where all that is written goes
  // Throws, or fails the test, where what stands in `out` after a good end is not all of it; without it, the
  // same files must be there every time, and whole.
  std::function<void()> require_whole;
  // The same where something else has ended it: what is there must be whole, however little.
  std::function<void()> require_readable;
  std::function<bool()> may_refuse = [] { return false; };  // to write over what is there
  bool passes_over = false;  // frames that cannot be read, and what would have been made of them
  bool one_line = true;      // is all it says when it fails
  std::set<int> good = {0};  // how it ends where nothing goes wrong
  std::function<std::vector<std::string>()> again;  // how it is taken up again, if otherwise than begun
};

// Tries a command with one fault, or one kind of fault at several moments, and checks what the house
// promises: one of the expected codes, one line on stderr that names what failed, whole files or none,
// nothing left behind, and a next time that works.
class Trial {
 public:
  explicit Trial(TriedCommand command);
  ~Trial();  // prints what came of it

  // The fault at `moments` of all its moments, each time in an emptied folder. `codes` are those it may end
  // with besides the good ones.
  void Faults(const Fault& fault, int moments, const std::set<int>& codes);
  // SIGKILL at so many moments of its time, and at so many of what it writes, makes and renames.
  void Kills(int by_time, int by_call);
  // SIGINT and SIGTERM in turn. It may end by the signal, or with a code.
  void Interrupts(int moments);

 private:
  void Empty() const;
  double Undisturbed();  // how it goes when nothing happens: the seconds that takes
  // How many moments there are for a fault: counted once, for all kinds that meet the same files.
  uint64_t CountMoments(const Fault& fault);
  void RequireNothingLeft() const;
  void RequireFits(const Ending& ending, const Fault& fault, const std::set<int>& codes) const;
  void RequireNextTimeWorks(bool after_kill);
  void TryFault(const Fault& fault, const std::set<int>& codes);
  void TryKill(const Fault& fault, const Signal& signal);
  void TryInterrupt(const Signal& signal);

  TriedCommand command_;
  TemporaryFolder temporary_;
  std::optional<double> seconds_;
  std::vector<std::string> files_;  // that it writes
  int tries_ = 0;
  std::map<std::string, std::map<std::string, int>> outcomes_;  // of each kind of fault: how often which end
};

}  // namespace lumen
