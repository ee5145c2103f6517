#include "lumen/tasks/slurm_text.h"

#include <wordexp.h>

#include <algorithm>
#include <array>
#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

// "12_3"; a job that is no array's, or a range that waits as one ("12_[3-5]"), is none of ours.
bool ReadId(const std::string& id, SlurmJob& job) {
  const size_t bar = id.find('_');
  if (bar == std::string::npos) return false;
  const auto index = ParseInteger(id.substr(bar + 1));
  if (!index) return false;
  job.array = id.substr(0, bar);
  job.index = *index;
  return true;
}

// "CANCELLED by 1000" is CANCELLED, and so is "CANCELLED+".
std::string FirstWord(const std::string& state) { return state.substr(0, state.find_first_of(" +")); }

// "2:0"; the signal may be 128 and more where there was none but Slurm's own fault.
void ReadExitCode(const std::string& text, SlurmJob& job) {
  const std::vector<std::string> parts = Split(text, ':');
  const auto code = ParseInteger(parts[0]);
  const auto signal = parts.size() > 1 ? ParseInteger(parts[1]) : std::nullopt;
  job.code = static_cast<int>(code.value_or(0));
  job.signal = static_cast<int>(signal.value_or(0));
}

std::string OrNothing(const std::string& node) {
  return node == "(null)" || node == "None assigned" ? "" : node;
}

template <size_t N>
bool Contains(std::string_view text, const std::array<const char*, N>& words) {
  const std::string lower = ToLower(text);
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

std::string SlurmJob::Id() const { return StrCat(array, "_", index); }

std::vector<SlurmJob> ParseQueue(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (const std::string& line : Split(text, '\n')) {
    const std::vector<std::string> parts = Split(Trim(line), '|');
    SlurmJob job;
    if (parts.size() < 5 || !ReadId(StrCat(parts[0], "_", parts[1]), job)) continue;
    job.state = parts[2];
    job.node = OrNothing(parts[3]);
    job.name = parts[4];
    if (parts.size() > 5) job.reason = parts[5];
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<SlurmJob> ParseAccounting(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (const std::string& line : Split(text, '\n')) {
    const std::vector<std::string> parts = Split(Trim(line), '|');
    SlurmJob job;
    if (parts.size() < 4 || !ReadId(parts[0], job)) continue;
    job.state = FirstWord(parts[1]);
    ReadExitCode(parts[2], job);
    job.node = OrNothing(parts[3]);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<SlurmJob> ParseShownJobs(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (const std::string& line : Split(text, '\n')) {
    SlurmJob job;
    bool has_index = false;
    for (const std::string& word : SplitWords(line)) {
      const auto value = [&](const char* key) {
        return StartsWith(word, key) ? std::optional(word.substr(std::string_view(key).size()))
                                     : std::nullopt;
      };
      if (const auto array = value("ArrayJobId=")) job.array = *array;
      if (const auto text_of_index = value("ArrayTaskId=")) {
        const auto index = ParseInteger(*text_of_index);
        has_index = index.has_value();
        job.index = index.value_or(0);
      }
      if (const auto state = value("JobState=")) job.state = *state;
      if (const auto code = value("ExitCode=")) ReadExitCode(*code, job);
      if (const auto node = value("NodeList=")) job.node = OrNothing(*node);
    }
    if (has_index) jobs.push_back(std::move(job));
  }
  return jobs;
}

bool IsActive(const std::string& state) {
  constexpr std::array kActive = {"PENDING",  "RUNNING",      "SUSPENDED",     "COMPLETING", "CONFIGURING",
                                  "REQUEUED", "RESIZING",     "REQUEUE_HOLD",  "SIGNALING",  "STAGE_OUT",
                                  "STOPPED",  "SPECIAL_EXIT", "RESV_DEL_HOLD", "REQUEUE_FED"};
  return std::find(kActive.begin(), kActive.end(), state) != kActive.end();
}

bool IsNodesFault(const std::string& state) {
  return state == "NODE_FAIL" || state == "BOOT_FAIL" || state == "PREEMPTED" || state == "REVOKED";
}

std::optional<std::string> ParseSubmitted(std::string_view text) {
  const std::string id = Trim(text.substr(0, text.find_first_of(";\n")));
  return ParseInteger(id) ? std::optional(id) : std::nullopt;
}

int ParseLargestArray(std::string_view text) {
  constexpr int kUsual = 1000;
  for (const std::string& line : Split(text, '\n')) {
    if (!StartsWith(line, "MaxArraySize")) continue;
    const auto size = ParseInteger(Trim(line.substr(line.find('=') + 1)));
    // It is the first index that is too large; without any (0) there are no arrays.
    if (size && *size > 0)
      return static_cast<int>(std::min<long long>(*size, std::numeric_limits<int>::max()));
  }
  return kUsual;
}

std::string ShortComplaint(std::string_view text) {
  std::string complaint;
  for (const std::string& whole : Split(text, '\n')) {
    std::string line = Trim(whole);
    for (const char* ceremony : {"sbatch: ", "squeue: ", "sacct: ", "scontrol: ", "slurm_load_jobs ",
                                 "error: ", "fatal: ", "Batch job submission failed: "})
      if (StartsWith(line, ceremony)) line = line.substr(std::string_view(ceremony).size());
    if (!line.empty()) complaint += (complaint.empty() ? "" : "; ") + line;
  }
  constexpr size_t kMost = 240;
  return complaint.size() > kMost ? complaint.substr(0, kMost) + "…" : complaint;
}

bool IsPassing(std::string_view complaint) {
  constexpr std::array kWords = {"unable to contact",
                                 "connection refused",
                                 "connection timed out",
                                 "socket timed out",
                                 "zero bytes",
                                 "temporarily unable",
                                 "slurm backup controller",
                                 "try again",
                                 "connect failure",
                                 "resource temporarily unavailable",
                                 "unexpected message received"};
  return Contains(complaint, kWords);
}

bool IsLimit(std::string_view complaint) {
  constexpr std::array kWords = {"limit", "maxsubmit", "maxjob", "policy", "too many", "maximum"};
  return Contains(complaint, kWords);
}

std::vector<std::string> SplitAsShell(const std::string& text) {
  wordexp_t expanded{};
  const int fault = ::wordexp(text.c_str(), &expanded, WRDE_NOCMD);
  if (fault != 0) {
    if (fault == WRDE_NOSPACE) ::wordfree(&expanded);
    throw InputError(StrCat("\"", text, "\": ",
                            fault == WRDE_SYNTAX   ? "a quote or a bracket is not closed"
                            : fault == WRDE_CMDSUB ? "commands are not run here"
                                                   : "|, &, ;, <, >, brackets and line ends must be quoted"));
  }
  std::vector<std::string> words(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
  ::wordfree(&expanded);
  return words;
}

std::string QuoteForShell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace lumen
