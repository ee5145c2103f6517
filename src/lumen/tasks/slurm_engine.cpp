#include "lumen/tasks/slurm_engine.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/timer.h"
#include "lumen/tasks/slurm_commands.h"
#include "lumen/tasks/slurm_verdict.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int kMostAttempts = 3;
constexpr double kShortestPause = 2, kLongestPause = 15;  // s between two questions to the controller
constexpr double kPatience = 300;                         // … with a controller that takes no jobs
constexpr double kLimitPause = 30;                        // … after it took no more of them
// … for the words of a job that ended: this machine may see late what a node wrote.
constexpr double kWordsTravel = 10;

// One caller at a time: two would both submit what is missing.
class Watch {
 public:
  explicit Watch(const fs::path& folder) {
    MakeDirectories(folder);
    file_ = ::open((folder / "watch").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    // A disk that knows no locks is no reason to refuse.
    if (file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(file_);
      throw InputError(folder.parent_path(), "another lumen is at work there");
    }
  }
  ~Watch() {
    if (file_ >= 0) ::close(file_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  int file_;
};

// A disk that stumbles is asked again later.
bool IsThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A task on its way.
struct Course {
  TaskOutcome outcome;
  bool ended = false;
  int attempts = 0;
  std::shared_ptr<const SlurmArray> array;  // where it is queued or runs; null: it waits here
  size_t index = 0;                         // there
  std::string node;
  int missed = 0;            // answers of the controller in a row that did not name it
  double silent_since = -1;  // ended without a word; negative: not so
};

// One call's work; what outlives it lies on the disk.
class SlurmCall {
 public:
  SlurmCall(const SlurmOptions& options, const ShouldStop& stop, const std::vector<Task>& tasks,
            const OnTask& on_task)
      : options_(options),
        stop_(stop),
        tasks_(tasks),
        on_task_(on_task),
        further_(SplitAsShell(options.further)),
        commands_(stop),
        watch_(options.folder),
        courses_(tasks.size()) {
    for (size_t i = 0; i < tasks.size(); ++i) by_folder_[tasks[i].folder] = i;
  }

  std::vector<TaskOutcome> Run();

 private:
  // Before anything is submitted.
  bool AskConfiguration();
  void TakeUp();
  void Adopt(SlurmArray array, const std::map<std::string, SlurmJob>& queue);
  std::optional<size_t> FindTask(const SlurmArray& array, size_t index, const std::string& job) const;

  // Submitting.
  void SubmitWaiting();
  void Submit(const std::vector<size_t>& tasks, size_t at_a_time);
  std::vector<std::string> SubmissionArguments(size_t count, size_t at_a_time) const;
  void Accept(const std::shared_ptr<SlurmArray>& array, const std::vector<size_t>& tasks);
  void Refuse(const std::shared_ptr<SlurmArray>& array, const std::vector<size_t>& tasks,
              const std::string& complaint);
  bool SettleUndecided();

  // Watching.
  void Glance();
  void Ask();
  void Look(size_t i, const std::string& state);
  void SayWhyNothingRuns(const std::map<std::string, SlurmJob>& queue);
  Evidence Gather(size_t i, const std::string& state);
  void Conclude(size_t i, const Verdict& verdict, const Evidence& evidence);
  void Lose(size_t i, const std::string& why);
  void End(size_t i, TaskOutcome::State state, const std::string& reason);

  void SayWhatIsLeft() const;
  void Complain(const std::string& complaint);
  void Sleep(double seconds) const;

  double Now() const { return clock_.ElapsedMs() / 1000; }
  bool IsInFlight(size_t i) const { return !courses_[i].ended && courses_[i].array != nullptr; }
  std::string IdOf(size_t i) const { return StrCat(courses_[i].array->job, "_", courses_[i].index); }
  size_t CountInFlight() const;
  size_t CountUnfinished() const;

  const SlurmOptions& options_;
  const ShouldStop& stop_;
  const std::vector<Task>& tasks_;
  const OnTask& on_task_;
  std::vector<std::string> further_;
  SlurmCommands commands_;
  Watch watch_;
  std::vector<Course> courses_;
  std::map<fs::path, size_t> by_folder_;
  std::vector<std::shared_ptr<const SlurmArray>> arrays_;  // that were submitted or taken up

  Stopwatch clock_;
  size_t largest_array_ = 1000;
  size_t room_ = 1000;  // tasks that the next array may have
  double pause_ = kShortestPause, next_question_ = 0, next_submission_ = 0;
  double refused_since_ = -1;  // negative: not so
  // An array that may have been taken although no answer came.
  std::shared_ptr<SlurmArray> undecided_;
  std::vector<size_t> undecided_tasks_;
  bool nothing_runs_said_ = false;
  std::string complaint_;  // that was said
  double complained_ = 0;
};

std::vector<TaskOutcome> SlurmCall::Run() {
  if (AskConfiguration()) TakeUp();
  for (size_t i = 0; i < tasks_.size() && !stop_(); ++i)
    if (!IsInFlight(i) && IsThere(tasks_[i].record)) End(i, TaskOutcome::State::kDone, "");
  while (!stop_() && CountUnfinished() > 0) {
    SubmitWaiting();
    Glance();
    if (CountInFlight() > 0 && Now() >= next_question_) Ask();
    // Many files take a while to look at.
    if (CountUnfinished() > 0) Sleep(0.25 + static_cast<double>(CountInFlight()) / 400);
  }
  if (CountUnfinished() > 0) {
    SayWhatIsLeft();
  } else {
    for (const auto& array : arrays_) RemoveArray(*array);
  }
  std::vector<TaskOutcome> outcomes;
  for (const Course& course : courses_) outcomes.push_back(course.outcome);
  return outcomes;
}

size_t SlurmCall::CountInFlight() const {
  size_t count = 0;
  for (size_t i = 0; i < courses_.size(); ++i) count += IsInFlight(i) ? 1 : 0;
  return count;
}

size_t SlurmCall::CountUnfinished() const {
  return static_cast<size_t>(
      std::count_if(courses_.begin(), courses_.end(), [](const Course& course) { return !course.ended; }));
}

void SlurmCall::Sleep(double seconds) const {
  constexpr double kStep = 0.05;
  for (double slept = 0; slept < seconds && !stop_(); slept += kStep)
    std::this_thread::sleep_for(std::chrono::duration<double>(kStep));
}

// Once, and again every ten minutes as long as it goes on.
void SlurmCall::Complain(const std::string& complaint) {
  constexpr double kAgain = 600;
  if (stop_() || (complaint == complaint_ && Now() - complained_ < kAgain)) return;
  LogWarning("Slurm: ", complaint, "; asking again");
  complaint_ = complaint;
  complained_ = Now();
}

bool SlurmCall::AskConfiguration() {
  while (!stop_()) {
    if (const auto largest = commands_.LargestArray()) {
      largest_array_ = room_ = static_cast<size_t>(*largest);
      return true;
    }
    if (Now() > kPatience) throw InputError(StrCat("Slurm does not answer: ", commands_.Complaint()));
    Complain(commands_.Complaint());
    Sleep(kShortestPause);
  }
  return false;
}

// What earlier calls submitted is found by their lists; an array whose id was not yet written down when its
// call was ended, by its name.
void SlurmCall::TakeUp() {
  const std::vector<SlurmArray> lists = LoadLists(options_.folder);
  if (lists.empty()) return;
  auto queue = commands_.Queue();
  while (!queue && !stop_()) {
    Complain(commands_.Complaint());
    Sleep(kShortestPause);
    queue = commands_.Queue();
  }
  if (!queue) return;
  for (const SlurmArray& array : lists) Adopt(array, *queue);
}

// Which of ours it is; nothing: somebody else's.
std::optional<size_t> SlurmCall::FindTask(const SlurmArray& array, size_t index,
                                          const std::string& job) const {
  const auto found = by_folder_.find(array.tasks[index].folder);
  if (found == by_folder_.end()) return std::nullopt;
  const Task& task = tasks_[found->second];
  if (task.arguments == array.tasks[index].arguments && array.version == options_.version)
    return found->second;
  throw InputError(task.folder,
                   StrCat("job ", job, " is at work there with other settings or another version: ",
                          "wait for it, or `scancel ", array.job, "`"));
}

void SlurmCall::Adopt(SlurmArray array, const std::map<std::string, SlurmJob>& queue) {
  for (const auto& [id, job] : queue)
    if (array.job.empty() && job.name == array.name) array.job = job.array;
  const auto shared = std::make_shared<const SlurmArray>(array);
  bool active = false;
  size_t taken = 0;
  for (size_t k = 0; k < array.tasks.size(); ++k) {
    const auto found = queue.find(StrCat(array.job, "_", k));
    if (found == queue.end() || !IsActive(found->second.state)) continue;
    active = true;
    const auto task = FindTask(array, k, found->first);
    if (!task) continue;
    Course& course = courses_[*task];
    course.array = shared;
    course.index = k;
    course.attempts = array.attempts[k];
    ++taken;
  }
  if (!active) return RemoveArray(array);
  if (taken == 0) return;  // somebody else's
  LogInfo("job ", array.job, " of an earlier call goes on: ", taken, taken == 1 ? " task" : " tasks");
  arrays_.push_back(shared);
}

std::vector<std::string> SlurmCall::SubmissionArguments(size_t count, size_t at_a_time) const {
  // A file that Slurm itself cannot open on a node would end the job unheard: the script opens its own.
  std::vector<std::string> arguments = {
      "--parsable", "--no-requeue",       "--ntasks=1",       StrCat("--array=0-", count - 1),
      "--chdir=/",  "--output=/dev/null", "--error=/dev/null"};
  if (at_a_time > 0) arguments[3] += StrCat("%", at_a_time);
  const auto add = [&](bool given, const char* name, const auto& value) {
    if (given) arguments.push_back(StrCat(name, value));
  };
  add(!options_.partition.empty(), "--partition=", options_.partition);
  add(!options_.time.empty(), "--time=", options_.time);
  add(options_.gpus > 0, "--gres=gpu:", options_.gpus);
  add(options_.cpus > 0, "--cpus-per-task=", options_.cpus);
  arguments.insert(arguments.end(), further_.begin(), further_.end());
  return arguments;
}

// With a number of tasks at a time, another array gets what is left of it.
void SlurmCall::SubmitWaiting() {
  while (!stop_() && Now() >= next_submission_ && SettleUndecided()) {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < courses_.size() && waiting.size() < room_; ++i)
      if (!courses_[i].ended && courses_[i].array == nullptr) waiting.push_back(i);
    const size_t in_flight = CountInFlight();
    const auto jobs = static_cast<size_t>(options_.jobs);
    if (waiting.empty() || (jobs > 0 && in_flight >= jobs)) return;
    Submit(waiting, jobs > 0 ? jobs - in_flight : 0);
  }
}

void SlurmCall::Submit(const std::vector<size_t>& tasks, size_t at_a_time) {
  const auto array = std::make_shared<SlurmArray>(MakeSlurmArray(options_));
  for (const size_t i : tasks) {
    MakeDirectories(tasks_[i].folder);
    array->tasks.push_back(tasks_[i]);
    array->attempts.push_back(courses_[i].attempts + 1);
  }
  WriteList(*array);
  std::vector<std::string> arguments = SubmissionArguments(tasks.size(), at_a_time);
  arguments.push_back(StrCat("--job-name=", array->name));
  arguments.push_back(WriteScript(*array).string());
  const Submission submission = commands_.Submit(arguments);
  array->job = submission.job;
  if (!submission.job.empty())
    Accept(array, tasks);
  else if (!stop_())  // if so, the list stays: it may have been taken
    Refuse(array, tasks, submission.complaint);
}

void SlurmCall::Accept(const std::shared_ptr<SlurmArray>& array, const std::vector<size_t>& tasks) {
  WriteList(*array);
  arrays_.push_back(array);
  for (size_t k = 0; k < tasks.size(); ++k) {
    Course& course = courses_[tasks[k]];
    course.array = array;
    course.index = k;
    course.attempts = array->attempts[k];
    course.missed = 0;
    course.silent_since = -1;
  }
  LogInfo("submitted ", tasks.size(), tasks.size() == 1 ? " task" : " tasks", " as job ", array->job);
  room_ = std::min(2 * room_, largest_array_);
  refused_since_ = -1;
  pause_ = kShortestPause;
  next_question_ = Now() + pause_;
}

// Too many for now: fewer, or later. No answer: later. Anything else is refused for good, which ends it all
// where nothing was taken yet.
void SlurmCall::Refuse(const std::shared_ptr<SlurmArray>& array, const std::vector<size_t>& tasks,
                       const std::string& complaint) {
  if (refused_since_ < 0) refused_since_ = Now();
  const bool waits = CountInFlight() > 0 || Now() - refused_since_ < kPatience;
  if (IsPassing(complaint) && waits) {
    undecided_ = array;
    undecided_tasks_ = tasks;
    next_submission_ = Now() + kShortestPause;
    return Complain(complaint);
  }
  RemoveArray(*array);
  if (IsLimit(complaint) && tasks.size() > 1) {
    room_ = tasks.size() / 2;
  } else if (arrays_.empty()) {
    throw InputError(StrCat("Slurm takes no job: ", complaint));
  } else if (IsLimit(complaint) && waits) {
    next_submission_ = Now() + kLimitPause;
    Complain(complaint);
  } else {
    for (const size_t i : tasks)
      End(i, TaskOutcome::State::kFailed, StrCat("Slurm takes no job: ", complaint));
  }
}

// Whether it was taken after all is known by its name; false: not known yet.
bool SlurmCall::SettleUndecided() {
  if (undecided_ == nullptr) return true;
  const auto queue = commands_.Queue();
  if (!queue) {
    if (arrays_.empty() && Now() - refused_since_ > kPatience)
      throw InputError(StrCat("Slurm does not answer: ", commands_.Complaint()));
    Complain(commands_.Complaint());
    next_submission_ = Now() + kShortestPause;
    return false;
  }
  const std::shared_ptr<SlurmArray> array = std::exchange(undecided_, nullptr);
  for (const auto& [id, job] : *queue)
    if (job.name == array->name) array->job = job.array;
  if (array->job.empty())
    RemoveArray(*array);
  else
    Accept(array, undecided_tasks_);
  return true;
}

// What a node wrote down is seen at once, without asking the controller.
void SlurmCall::Glance() {
  for (size_t i = 0; i < courses_.size() && !stop_(); ++i)
    if (IsInFlight(i) && IsThere(AttemptFile(tasks_[i]))) Look(i, "RUNNING");
}

void SlurmCall::Ask() {
  constexpr double kSlower = 1.3;
  constexpr int kSurelyGone = 2;
  pause_ = std::min(kSlower * pause_, kLongestPause);
  const auto queue = commands_.Queue();
  next_question_ = Now() + pause_;
  if (!queue) return Complain(commands_.Complaint());
  complaint_.clear();
  SayWhyNothingRuns(*queue);
  for (size_t i = 0; i < courses_.size() && !stop_(); ++i) {
    Course& course = courses_[i];
    if (!IsInFlight(i)) continue;
    const auto found = queue->find(IdOf(i));
    if (found != queue->end()) {
      course.missed = 0;
      if (!found->second.node.empty()) course.node = found->second.node;
      Look(i, found->second.state);
    } else if (++course.missed >= kSurelyGone) {
      Look(i, "");
    }
  }
}

// Once, after a minute.
void SlurmCall::SayWhyNothingRuns(const std::map<std::string, SlurmJob>& queue) {
  constexpr double kSoon = 60;
  std::string reason;
  for (size_t i = 0; i < courses_.size() && !nothing_runs_said_; ++i) {
    const auto found = IsInFlight(i) ? queue.find(IdOf(i)) : queue.end();
    if (found == queue.end()) continue;
    if (found->second.state != "PENDING") nothing_runs_said_ = true;  // something does, or did
    reason = found->second.reason;
  }
  if (nothing_runs_said_ || Now() < kSoon) return;
  LogInfo("no task runs yet, ", CountInFlight(), " wait",
          reason.empty() ? "" : StrCat("; Slurm says why: ", reason));
  nothing_runs_said_ = true;
}

Evidence SlurmCall::Gather(size_t i, const std::string& state) {
  const Course& course = courses_[i];
  Evidence evidence;
  evidence.state = state;
  evidence.node = course.node;
  evidence.attempt = LoadAttempt(tasks_[i], IdOf(i));
  evidence.record = IsThere(tasks_[i].record);
  if (!evidence.record && !evidence.attempt && !IsActive(state)) {
    evidence.ended = commands_.HowItEnded(IdOf(i));
    if (evidence.ended && evidence.node.empty()) evidence.node = evidence.ended->node;
    evidence.words = LastLine(course.array->WordsOf(course.index));
  }
  return evidence;
}

void SlurmCall::Look(size_t i, const std::string& state) {
  const Evidence evidence = Gather(i, state);
  if (!stop_()) Conclude(i, JudgeAttempt(tasks_[i], evidence), evidence);
}

void SlurmCall::Conclude(size_t i, const Verdict& verdict, const Evidence& evidence) {
  Course& course = courses_[i];
  if (evidence.attempt) {
    course.node = evidence.attempt->node;
    course.outcome.seconds = evidence.attempt->seconds;
  } else if (!evidence.node.empty()) {
    course.node = evidence.node;
  }
  switch (verdict.kind) {
    case Verdict::Kind::kGoesOn:
      return;
    case Verdict::Kind::kDone:
      return End(i, TaskOutcome::State::kDone, "");
    case Verdict::Kind::kFailed:
      return End(i, TaskOutcome::State::kFailed, verdict.reason);
    case Verdict::Kind::kLost:
      return Lose(i, verdict.reason);
    case Verdict::Kind::kSilent:
      break;
  }
  if (course.silent_since < 0) course.silent_since = Now();
  if (Now() - course.silent_since >= kWordsTravel)
    return evidence.attempt ? End(i, TaskOutcome::State::kFailed, verdict.reason) : Lose(i, verdict.reason);
  pause_ = kShortestPause;
  next_question_ = std::min(next_question_, Now() + pause_);
}

void SlurmCall::Lose(size_t i, const std::string& why) {
  Course& course = courses_[i];
  const std::string where = course.node.empty() ? "" : StrCat(" on node ", course.node);
  if (course.attempts >= kMostAttempts) {
    const bool killed = why == CodeInWords(128 + SIGKILL);
    return End(i, TaskOutcome::State::kFailed,
               StrCat("lost ", course.attempts, " times, at last", where, ": ", why,
                      killed ? " (if memory was short: --sbatch \"--mem=16G\")" : ""));
  }
  LogWarning(tasks_[i].name, ": lost", where, " (", why, "), attempt ", course.attempts + 1, " of ",
             kMostAttempts, " follows");
  course.array = nullptr;
}

void SlurmCall::End(size_t i, TaskOutcome::State state, const std::string& reason) {
  Course& course = courses_[i];
  course.ended = true;
  course.outcome.state = state;
  course.outcome.reason = reason;
  course.outcome.where = course.node;
  course.outcome.attempts = course.attempts;
  next_submission_ = std::min(next_submission_, Now() + 1);  // there may be room now
  on_task_(i, course.outcome);
}

void SlurmCall::SayWhatIsLeft() const {
  std::set<std::string> jobs;
  for (size_t i = 0; i < courses_.size(); ++i)
    if (IsInFlight(i)) jobs.insert(courses_[i].array->job);
  if (jobs.empty()) return;
  std::string all;
  for (const std::string& job : jobs) all += " " + job;
  LogWarning(CountInFlight(), " tasks go on without us (job", all,
             "): the same command takes them up, `scancel", all, "` ends them");
}

class SlurmEngine : public TaskEngine {
 public:
  SlurmEngine(SlurmOptions options, ShouldStop stop) : options_(std::move(options)), stop_(std::move(stop)) {
    SplitAsShell(options_.further);
    SlurmCommands{stop_};  // both throw where they cannot be
  }
  std::vector<TaskOutcome> Run(const std::vector<Task>& tasks, const OnTask& on_task) override {
    return SlurmCall(options_, stop_, tasks, on_task).Run();
  }

 private:
  SlurmOptions options_;
  ShouldStop stop_;
};

}  // namespace

std::unique_ptr<TaskEngine> MakeSlurmEngine(SlurmOptions options, ShouldStop stop) {
  return std::make_unique<SlurmEngine>(std::move(options), std::move(stop));
}

}  // namespace lumen
