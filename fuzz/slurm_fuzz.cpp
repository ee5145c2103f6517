// What Slurm's programs say, and what nodes leave on the shared disk.
#include "fuzz/fuzz.h"
#include "lumen/tasks/escaped_bytes.h"
#include "lumen/tasks/slurm_array.h"
#include "lumen/tasks/slurm_text.h"

namespace lumen::fuzz {
namespace {

void CheckJobs(const std::vector<SlurmJob>& jobs) {
  for (const SlurmJob& job : jobs) {
    Expect(job.Id().find('_') != std::string::npos, "a task of an array has an index");
    Expect(job.state.find('\n') == std::string::npos, "a state is a word");
  }
}

void ReadSlurmText(const std::string& input) {
  CheckJobs(ParseQueue(input));
  CheckJobs(ParseAccounting(input));
  CheckJobs(ParseShownJobs(input));
  Expect(ParseLargestArray(input) > 0, "an array has room for a task");
  const auto job = ParseSubmitted(input);
  Expect(!job || !job->empty(), "a job has an id");
  const std::string complaint = ShortComplaint(input);
  Expect(complaint.size() < 300 && complaint.find('\n') == std::string::npos, "a complaint is a short line");
  IsPassing(complaint);
  IsLimit(complaint);
  Expect(UnescapeBytes(EscapeBytes(input)) == input, "bytes come back as they were");
  LoadAttempt({"task", WriteScratch("outcome.json", input).parent_path(), {}, {}}, "1_0");
  const SlurmArray array = LoadList(WriteScratch("lumen-1.json", input));
  Expect(array.tasks.size() == array.attempts.size(), "every task has a number of attempts");
}

const Registration kSlurm("slurm", ReadSlurmText);

}  // namespace
}  // namespace lumen::fuzz
