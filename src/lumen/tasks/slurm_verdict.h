// What is to be made of a task's attempt: from what the cluster says, what the node left on the disk, and
// whether the record is there.
#pragma once

#include "lumen/tasks/slurm_array.h"
#include "lumen/tasks/slurm_text.h"

namespace lumen {

struct Evidence {
  bool record = false;                    // it is there
  std::optional<AttemptOutcome> attempt;  // as its node told on the disk
  std::string state;                      // as the cluster says; empty: it does not know the job (any more)
  std::optional<SlurmJob> ended;          // exit code or signal, where the cluster remembers
  std::string node;
  std::string words;  // the last that was said there before the task began
};

struct Verdict {
  enum class Kind {
    kGoesOn,
    kDone,
    kFailed,  // by its own fault
    kLost,    // by its node's: to be tried again
    kSilent,  // ended and left nothing that could be seen yet: lost, if that stays so
  };
  Kind kind = Kind::kGoesOn;
  std::string reason;
};

Verdict JudgeAttempt(const Task& task, const Evidence& evidence);

}  // namespace lumen
