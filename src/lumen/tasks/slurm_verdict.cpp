#include "lumen/tasks/slurm_verdict.h"

#include <csignal>

#include "lumen/base/text.h"

namespace lumen {

namespace {

using Kind = Verdict::Kind;

// From outside: a program that does not end by itself is ended so, and so does the kernel when memory ends.
bool WasKilled(int code) { return code == 128 + SIGKILL || code == 128 + SIGTERM; }

std::string At(const std::string& node) { return node.empty() ? "a node" : StrCat("node ", node); }

// What the job's own exit code tells of a node that never came to the task.
std::optional<std::string> FaultOfNode(const Task& task, const Evidence& evidence, int code) {
  const std::string folder = task.folder.string();
  switch (code) {
    case kOtherDisk:
      return StrCat(At(evidence.node), " does not see the same files as this machine in ", folder,
                    ": choose a folder on a disk that all nodes share");
    case kNoProgram:
      return StrCat(At(evidence.node), " cannot start lumen: install it on a disk that all nodes share");
    case kOtherVersion:
      return StrCat(At(evidence.node), " has another version of lumen: ", evidence.words);
    case kNoWriting:
      return StrCat(At(evidence.node), " cannot write beside ", folder, ": is that disk full?");
    default:
      return std::nullopt;
  }
}

// By what the cluster says alone, where that is enough.
std::optional<Verdict> JudgeState(const std::string& state) {
  if (IsNodesFault(state)) return Verdict{Kind::kLost, state};
  if (state == "TIMEOUT" || state == "DEADLINE")
    return Verdict{Kind::kFailed, "took longer than it may: ask for more with --time"};
  if (state == "OUT_OF_MEMORY")
    return Verdict{Kind::kFailed, "ran out of memory: ask for more, e.g. with --sbatch \"--mem=16G\""};
  if (state == "CANCELLED") return Verdict{Kind::kFailed, "was cancelled"};
  return std::nullopt;
}

Verdict JudgeCode(const Task& task, const std::string& node, int code) {
  if (WasKilled(code)) return {Kind::kLost, CodeInWords(code)};
  const std::string where = node.empty() ? "" : StrCat(", on node ", node);
  return {code == 0 ? Kind::kSilent : Kind::kFailed, FailureInWords(task, code) + where};
}

Verdict JudgeEnd(const Task& task, const Evidence& evidence) {
  if (!evidence.ended) return {Kind::kSilent, "ended without a word"};
  const SlurmJob& ended = *evidence.ended;
  if (const auto verdict = JudgeState(ended.state)) return *verdict;
  if (ended.signal != 0) return {Kind::kLost, CodeInWords(128 + ended.signal)};
  if (const auto fault = FaultOfNode(task, evidence, ended.code)) return {Kind::kFailed, *fault};
  return JudgeCode(task, evidence.node, ended.code);
}

}  // namespace

Verdict JudgeAttempt(const Task& task, const Evidence& evidence) {
  const bool active = IsActive(evidence.state);
  const auto& attempt = evidence.attempt;
  if (evidence.record && (attempt || !active)) return {Kind::kDone, ""};
  // What killed it, the cluster says when the job has ended.
  if (active)
    return attempt && !WasKilled(attempt->code) ? JudgeCode(task, attempt->node, attempt->code) : Verdict{};
  if (const auto verdict = JudgeState(evidence.state)) return *verdict;
  return attempt ? JudgeCode(task, attempt->node, attempt->code) : JudgeEnd(task, evidence);
}

}  // namespace lumen
