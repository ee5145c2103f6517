// Slurm's own programs, called. A controller that is being restarted is no fault: what cannot be told now is
// asked again later, by whoever asks.
#pragma once

#include <map>

#include "lumen/tasks/child_program.h"
#include "lumen/tasks/slurm_text.h"

namespace lumen {

// What became of a submission: an id, or why there is none.
struct Submission {
  std::string job;
  std::string complaint;
};

class SlurmCommands {
 public:
  // Throws InputError if there is no Slurm here.
  explicit SlurmCommands(ShouldStop stop);

  // Also throws if this cluster's configuration is not found; nothing: not now.
  std::optional<int> LargestArray();
  Submission Submit(const std::vector<std::string>& arguments);
  // All of this user's, those that ended a while ago included, by their ids; nothing: not now.
  std::optional<std::map<std::string, SlurmJob>> Queue();
  // How a task ended, from the accounting or, where there is none, from the controller's memory; nothing:
  // nobody knows (any more).
  std::optional<SlurmJob> HowItEnded(const std::string& id);
  // Why the last question was not answered.
  const std::string& Complaint() const { return complaint_; }

 private:
  CapturedOutcome Call(const char* program, const std::vector<std::string>& arguments);

  ShouldStop stop_;
  bool has_accounting_ = true;
  std::string complaint_;
};

}  // namespace lumen
