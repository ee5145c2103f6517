#include "lumen/apps/archive_batch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>

#include "lumen/apps/archive_video.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/progress.h"
#include "lumen/base/timer.h"
#include "lumen/io/input_search.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// One batch at a time in a folder. The lock is the system's, so that one that was killed leaves none behind,
// and our children's as well: as long as one of a killed batch's videos is still dying, nobody begins anew.
class OutLock {
 public:
  explicit OutLock(const fs::path& out) {
    const fs::path file = out / ".lock";
    lock_ = ::open(file.c_str(), O_RDWR | O_CREAT, 0644);  // for children, too: not closed on exec
    if (lock_ < 0) throw OutputError(file, StrCat("cannot write: ", std::strerror(errno)));
    constexpr double kPatienceMs = 3000;
    constexpr useconds_t kPause = 50000;
    const Stopwatch watch;
    while (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        LogWarning(out.string(), " keeps no locks: see to it that no other batch writes there");
        return;
      }
      if (watch.ElapsedMs() > kPatienceMs) {
        ::close(lock_);
        throw InputError(out, "another batch is at work there: wait for its end, or choose another --out");
      }
      ::usleep(kPause);
    }
  }
  ~OutLock() { ::close(lock_); }
  OutLock(const OutLock&) = delete;
  OutLock& operator=(const OutLock&) = delete;

 private:
  int lock_ = -1;
};

// A video on its way through the batch.
struct PlannedVideo {
  ArchiveVideo video;
  Task task;
  Json identity;
  bool finished = false;
};

bool HasOption(const std::vector<GivenOption>& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(),
                     [&](const GivenOption& option) { return option.name == name; });
}

// What is said for all is not for a video that says something else; a lens and a mask that are said for all
// are for inputs that have none of their own.
std::vector<std::string> ArgumentsOf(const ArchiveVideo& video, const BatchOptions& options) {
  std::vector<std::string> arguments = {
      kVideoCommand, video.input.string(),
      StrCat("--place=", archive_file::Place(options.out, video.folder).string()),
      StrCat("--work=", archive_file::Work(options.out, video.folder).string()),
      StrCat("--name=", ToValidUtf8(video.name))};
  if (options.cores > 0) arguments.push_back(StrCat("--cores=", options.cores));
  const bool own_lens = HasOption(video.own, "--calibration") || HasOption(video.own, "--fov");
  std::vector<GivenOption> merged = video.own;
  for (const GivenOption& option : options.for_all) {
    const bool lens = option.name == "--calibration" || option.name == "--fov";
    if (HasOption(video.own, option.name) || (lens && own_lens)) continue;
    merged.push_back(option);
    if (lens || option.name == "--mask") arguments.push_back("--if-none=" + option.name.substr(2));
  }
  for (const GivenOption& option : merged) {
    if (option.values.empty()) arguments.push_back(option.name);
    for (const std::string& value : option.values) arguments.push_back(StrCat(option.name, "=", value));
  }
  return arguments;
}

// What the process of such arguments will find.
Json IdentityOf(const std::vector<std::string>& arguments, ModelHashes& models) {
  Command command(kVideoCommand, "");
  VideoTask task;
  AddVideoTaskOptions(command, task);
  command.Parse({arguments.begin() + 1, arguments.end()});
  return VideoIdentity(task.options, models);
}

std::string WhatDiffers(const Json& a, const Json& b) {
  std::string names;
  std::set<std::string> keys;
  for (const Json* each : {&a, &b})
    for (const auto& [key, _] : each->AsObject()) keys.insert(key);
  for (const std::string& key : keys) {
    const Json *left = a.Find(key), *right = b.Find(key);
    if (left == nullptr || right == nullptr || *left != *right) names += (names.empty() ? "" : ", ") + key;
  }
  return names;
}

// Whether a finished video may stand; throws where only the user can say.
bool MayKeepVideo(const fs::path& record, const Json& identity, const BatchOptions& options) {
  const VideoEntry finished = VideoFromJson(Json::Load(record), record.string());
  if (finished.identity != identity) {
    if (options.rerun) return false;
    throw InputError(record.parent_path(),
                     StrCat("was run with other settings (", WhatDiffers(finished.identity, identity),
                            "): choose another --out, or --rerun"));
  }
  if (finished.version == OwnVersion() || (options.allow_mixed_versions && !options.rerun)) return true;
  if (options.rerun) return false;
  throw InputError(record.parent_path(), StrCat("was run by Lumen ", finished.version, ", this is ",
                                                OwnVersion(), ": --rerun it, or --allow-mixed-versions"));
}

std::vector<PlannedVideo> PlanBatch(const std::vector<ArchiveVideo>& videos, const BatchOptions& options) {
  ModelHashes models;
  std::set<std::string> folders;
  std::vector<PlannedVideo> plan;
  for (const ArchiveVideo& video : videos) {
    if (!folders.insert(video.folder).second)
      throw InputError(video.input, "another video has the same name");
    PlannedVideo planned{video, {}, {}, false};
    planned.task.name = video.name;
    planned.task.folder = archive_file::Work(options.out, video.folder);
    planned.task.arguments = ArgumentsOf(video, options);
    planned.task.record = archive_file::Record(options.out, video.folder);
    planned.identity = IdentityOf(planned.task.arguments, models);
    planned.finished =
        fs::exists(planned.task.record) && MayKeepVideo(planned.task.record, planned.identity, options);
    plan.push_back(std::move(planned));
  }
  return plan;
}

void WriteBatchRecord(const std::vector<PlannedVideo>& plan, const fs::path& out) {
  Json record = Json::MakeObject();
  record["version"] = OwnVersion();
  record["videos"] = Json::MakeArray();
  for (const PlannedVideo& planned : plan) {
    Json video = Json::MakeObject();
    video["name"] = ToValidUtf8(planned.video.name);
    video["folder"] = planned.video.folder;
    video["input"] = ToValidUtf8(planned.video.input.string());
    record["videos"].Append(std::move(video));
  }
  WriteFileAtomically(out / kBatchRecord, record.Dump(1) + "\n");
}

// Out of the way at once, so that nobody takes half of it for a finished one; then it goes.
void ClearFinished(const PlannedVideo& planned, const fs::path& out) {
  const fs::path place = archive_file::Place(out, planned.video.folder);
  if (!fs::exists(place)) return;
  MakeDirectories(planned.task.folder);
  const fs::path aside = planned.task.folder / "attempt-replaced";
  fs::remove_all(aside);
  fs::rename(place, aside);
  fs::remove_all(aside);
}

// The engine's words, without what the page says beside them.
std::string ReasonOf(const TaskOutcome& outcome, const PlannedVideo& planned) {
  std::string reason = outcome.reason;
  const std::string log = StrCat(" (", TaskLog(planned.task).string(), ")");
  if (EndsWith(reason, log)) reason.resize(reason.size() - log.size());
  const std::string bad_input = StrCat("ended with code ", kBadInput, ": lumen: ");
  for (const std::string& known : {bad_input, planned.video.input.string() + ": "})
    if (StartsWith(reason, known)) reason.erase(0, known.size());
  return reason;
}

// Keeps the pages up to date while videos end.
class BatchWatch {
 public:
  BatchWatch(const fs::path& out, size_t todo) : out_(out), entries_(LoadArchive(out)) {
    if (todo > 0) progress_.emplace("batch", static_cast<int64_t>(todo));
    for (size_t i = 0; i < entries_.size(); ++i) positions_[entries_[i].folder] = i;
    WriteIndex(entries_, out_);
  }

  void OnEnd(const PlannedVideo& planned, const TaskOutcome& outcome) {
    VideoEntry& entry = entries_[positions_.at(planned.video.folder)];
    RemoveAttempts(planned.task.folder);
    const fs::path failure = archive_file::Failure(out_, planned.video.folder);
    if (outcome.state == TaskOutcome::State::kDone) {
      std::error_code gone;
      fs::remove(failure, gone);
      const std::string folder = entry.folder;
      entry = VideoFromJson(Json::Load(planned.task.record), planned.task.record.string());
      entry.folder = folder;
    } else {
      entry.state = VideoState::kFailed;
      entry.reason = ToValidUtf8(ReasonOf(outcome, planned));
      entry.node = outcome.where;
      entry.attempts = outcome.attempts;
      entry.seconds = outcome.seconds;
      LogError(entry.name, ": ", entry.reason);
    }
    progress_->Update(++ended_, entry.name);
    try {
      if (entry.state == VideoState::kFailed) {
        MakeDirectories(planned.task.folder);
        WriteFileAtomically(failure, FailureToJson(entry).Dump(2) + "\n");
      }
      WriteIndex(entries_, out_);
    } catch (const OutputError& error) {
      LogError(error.what());  // the others go on: there may be room again in the end
    }
  }

  void Finish() { WriteIndex(entries_, out_); }

 private:
  const fs::path out_;
  std::vector<VideoEntry> entries_;
  std::map<std::string, size_t> positions_;
  std::optional<ProgressBar> progress_;  // where there is something to do
  int64_t ended_ = 0;
};

void SayWhatIsLeft(const std::vector<PlannedVideo>& plan, size_t todo, const fs::path& out) {
  if (todo < plan.size()) LogInfo(plan.size() - todo, " of ", plan.size(), " videos are finished already");
  const auto failed = std::count_if(plan.begin(), plan.end(), [&](const PlannedVideo& planned) {
    return !planned.finished && fs::exists(archive_file::Failure(out, planned.video.folder));
  });
  if (failed > 0) LogInfo(failed, " that failed are tried again");
}

}  // namespace

BatchOutcome RunBatch(const std::vector<ArchiveVideo>& videos, const BatchOptions& given,
                      TaskEngine& engine) {
  BatchOptions options = given;
  options.out = fs::absolute(given.out).lexically_normal();
  MakeDirectories(options.out);
  const OutLock lock(options.out);
  const std::vector<PlannedVideo> plan = PlanBatch(videos, options);
  WriteBatchRecord(plan, options.out);
  std::vector<const PlannedVideo*> todo;
  std::vector<Task> tasks;
  for (const PlannedVideo& planned : plan) {
    // One that was finished while its batch was killed may still have an earlier attempt beside it.
    if (planned.finished) RemoveAttempts(planned.task.folder);
    if (planned.finished) continue;
    ClearFinished(planned, options.out);
    todo.push_back(&planned);
    tasks.push_back(planned.task);
  }
  SayWhatIsLeft(plan, todo.size(), options.out);
  BatchWatch watch(options.out, todo.size());
  const auto outcomes = engine.Run(
      tasks, [&](size_t index, const TaskOutcome& outcome) { watch.OnEnd(*todo[index], outcome); });
  watch.Finish();
  BatchOutcome sum{plan.size(), plan.size() - todo.size(), plan.size() - todo.size(), 0};
  for (const TaskOutcome& outcome : outcomes) {
    if (outcome.state == TaskOutcome::State::kDone) ++sum.done;
    if (outcome.state == TaskOutcome::State::kFailed) ++sum.failed;
  }
  return sum;
}

}  // namespace lumen
