// A job array on the shared disk: the list of its tasks, the script that a node runs, the token by which it
// knows the disk again, and how each task ended.
//   FOLDER/NAME.json     the list; its job's id is added once it is known
//   FOLDER/NAME.sh       what sbatch is given
//   FOLDER/NAME.token    what a node must find there
//   FOLDER/NAME-3.out    what was said on a node before its task began
//   TASK/outcome.json    how the task's last attempt ended
#pragma once

#include <optional>

#include "lumen/base/json.h"
#include "lumen/tasks/slurm_engine.h"

namespace lumen {

// How a job says, by its exit code, that it never came to its task. Codes of our own commands are others.
inline constexpr int kOtherDisk = 81;     // the token is not there, or another
inline constexpr int kNoProgram = 82;     // … the program
inline constexpr int kOtherVersion = 83;  // … its version
inline constexpr int kNoWriting = 84;     // … room on that disk, or the right to write there

struct SlurmArray {
  std::filesystem::path folder;
  std::string name;     // of the job, unlike any other's
  std::string job;      // its id; empty: not known yet
  std::string version;  // what the program answers to --version
  std::filesystem::path program;
  std::filesystem::path working_folder;  // of whoever submitted it
  std::vector<Task> tasks;
  std::vector<int> attempts;  // of each, with this one

  std::filesystem::path File(const char* ending) const { return folder / (name + ending); }
  std::filesystem::path WordsOf(size_t index) const;
};

SlurmArray MakeSlurmArray(const SlurmOptions& options);  // with a new name and no tasks
void WriteList(const SlurmArray& array);
SlurmArray LoadList(const std::filesystem::path& list);
// Lists of earlier calls.
std::vector<SlurmArray> LoadLists(const std::filesystem::path& folder);
// Script and token; returns the script. Written before the job is submitted.
std::filesystem::path WriteScript(const SlurmArray& array);
// All its files go.
void RemoveArray(const SlurmArray& array);

// How an attempt ended, told by the node.
struct AttemptOutcome {
  std::string job;  // "12_3"
  std::string node;
  int code = 0;
  double seconds = 0;
};
std::filesystem::path AttemptFile(const Task& task);
void WriteAttempt(const Task& task, const AttemptOutcome& outcome);
// Nothing if there is none, or not of this job.
std::optional<AttemptOutcome> LoadAttempt(const Task& task, const std::string& job);

// On the node: does the task that this is about, and says how it ended; returns its code.
int DoListedTask(const std::filesystem::path& list, size_t index);

}  // namespace lumen
