// What Slurm's commands say, and what is said to them: text in, plain data out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

// One task of a job array, as squeue tells with kQueueFormat, or how it ended, as sacct or scontrol does.
struct SlurmJob {
  std::string array;  // the array's job id
  long long index = 0;
  std::string state;  // RUNNING, NODE_FAIL, …
  std::string node;   // empty: not known
  std::string name;   // squeue alone, and why it waits
  std::string reason;
  // sacct and scontrol alone: its exit code, or the signal that ended it.
  int code = 0, signal = 0;

  std::string Id() const;  // "12_3"
};

inline constexpr const char* kQueueFormat = "%F|%K|%T|%N|%j|%r";
std::vector<SlurmJob> ParseQueue(std::string_view text);

inline constexpr const char* kAccountingFormat = "JobID,State,ExitCode,NodeList";
// Steps of jobs are left out.
std::vector<SlurmJob> ParseAccounting(std::string_view text);

// Of `scontrol --oneliner show job ID`.
std::vector<SlurmJob> ParseShownJobs(std::string_view text);

// Waiting, running, or on its way from one to the other.
bool IsActive(const std::string& state);
// Ended by no fault of the task: its node failed, or somebody more important took it.
bool IsNodesFault(const std::string& state);

// Of `sbatch --parsable`: "12" of "12" or "12;cluster".
std::optional<std::string> ParseSubmitted(std::string_view text);
// Of `scontrol show config`: how many tasks an array may have; 1000 where it does not say.
int ParseLargestArray(std::string_view text);

// What a command complained of, in one short line without its own name and ceremony.
std::string ShortComplaint(std::string_view text);
// It says that it did not reach the controller, or that this one is busy: to be asked again.
bool IsPassing(std::string_view complaint);
// It says that so many are too many for now.
bool IsLimit(std::string_view complaint);

// Words as a shell would make of them, commands left out. Throws InputError.
std::vector<std::string> SplitAsShell(const std::string& text);
// One word for a shell, whatever is in it.
std::string QuoteForShell(const std::string& text);

}  // namespace lumen
