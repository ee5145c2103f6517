#include "lumen/tasks/slurm_commands.h"

#include <unistd.h>

#include "lumen/base/error.h"

namespace lumen {

SlurmCommands::SlurmCommands(ShouldStop stop) : stop_(std::move(stop)) {
  for (const char* program : {"sbatch", "squeue", "scontrol"})
    if (FindOnPath(program).empty())
      throw InputError(
          StrCat("there is no Slurm here: ", program,
                 " is not on the PATH; on another machine of the cluster, or without --on slurm"));
}

CapturedOutcome SlurmCommands::Call(const char* program, const std::vector<std::string>& arguments) {
  CapturedOutcome outcome = RunCaptured(FindOnPath(program), arguments, stop_);
  complaint_ = outcome.code == 0 ? "" : ShortComplaint(outcome.err);
  if (outcome.code != 0 && complaint_.empty()) complaint_ = StrCat(program, " ", CodeInWords(outcome.code));
  return outcome;
}

std::optional<int> SlurmCommands::LargestArray() {
  const CapturedOutcome outcome = Call("scontrol", {"show", "config"});
  if (outcome.code == 0) return ParseLargestArray(outcome.out);
  if (!IsPassing(complaint_) && !stop_()) throw InputError(StrCat("Slurm cannot be asked: ", complaint_));
  return std::nullopt;
}

Submission SlurmCommands::Submit(const std::vector<std::string>& arguments) {
  const CapturedOutcome outcome = Call("sbatch", arguments);
  const auto job = outcome.code == 0 ? ParseSubmitted(outcome.out) : std::nullopt;
  if (job) return {*job, ""};
  return {"", complaint_.empty() ? "sbatch did not say which job it made" : complaint_};
}

std::optional<std::map<std::string, SlurmJob>> SlurmCommands::Queue() {
  const CapturedOutcome outcome =
      Call("squeue", {"--noheader", "--array", "--states=all", StrCat("--user=", ::geteuid()),
                      StrCat("--format=", kQueueFormat)});
  if (outcome.code != 0) return std::nullopt;
  std::map<std::string, SlurmJob> jobs;
  for (SlurmJob& job : ParseQueue(outcome.out)) {
    const std::string id = job.Id();
    jobs[id] = std::move(job);
  }
  return jobs;
}

std::optional<SlurmJob> SlurmCommands::HowItEnded(const std::string& id) {
  const auto find = [&](const std::vector<SlurmJob>& told) -> std::optional<SlurmJob> {
    for (const SlurmJob& each : told)
      if (each.Id() == id && !IsActive(each.state)) return each;
    return std::nullopt;
  };
  if (has_accounting_ && !FindOnPath("sacct").empty()) {
    const CapturedOutcome outcome =
        Call("sacct", {"--noheader", "--parsable2", "--allocations", StrCat("--format=", kAccountingFormat),
                       StrCat("--jobs=", id)});
    if (outcome.code == 0)
      if (auto found = find(ParseAccounting(outcome.out))) return found;
    // Small clusters keep no books: "Slurm accounting storage is disabled".
    has_accounting_ = complaint_.find("disabled") == std::string::npos;
  }
  const CapturedOutcome outcome = Call("scontrol", {"--oneliner", "show", "job", id});
  return outcome.code == 0 ? find(ParseShownJobs(outcome.out)) : std::nullopt;
}

}  // namespace lumen
