#include "lumen/tasks/slurm_array.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/timer.h"
#include "lumen/tasks/escaped_bytes.h"
#include "lumen/tasks/slurm_text.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "lumen-";

// A name that was never used: not for numbers that are to come again.
std::string NewName() {
  std::random_device device;
  char text[24];
  const unsigned number = device();
  std::snprintf(text, sizeof(text), "%s%08x", kPrefix, number);
  return text;
}

Json TaskToJson(const Task& task, int attempt) {
  Json json = Json::MakeObject();
  json["name"] = EscapeBytes(task.name);
  json["folder"] = EscapeBytes(task.folder.string());
  json["record"] = EscapeBytes(task.record.string());
  json["attempt"] = attempt;
  json["arguments"] = Json::MakeArray();
  for (const std::string& argument : task.arguments) json["arguments"].Append(EscapeBytes(argument));
  return json;
}

Task TaskFromJson(const Json& json) {
  const auto text = [&](const char* key) { return UnescapeBytes(json.At(key).AsString()); };
  Task task{text("name"), text("folder"), {}, text("record")};
  for (const Json& argument : json.At("arguments").AsArray())
    task.arguments.push_back(UnescapeBytes(argument.AsString()));
  return task;
}

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

fs::path SlurmArray::WordsOf(size_t index) const { return folder / StrCat(name, "-", index, ".out"); }

SlurmArray MakeSlurmArray(const SlurmOptions& options) {
  SlurmArray array;
  array.folder = options.folder;
  array.name = NewName();
  array.version = options.version;
  array.program = options.program;
  array.working_folder = fs::current_path();
  return array;
}

void WriteList(const SlurmArray& array) {
  Json json = Json::MakeObject();
  json["job"] = array.job;
  json["version"] = array.version;
  json["program"] = EscapeBytes(array.program.string());
  json["working_folder"] = EscapeBytes(array.working_folder.string());
  json["tasks"] = Json::MakeArray();
  for (size_t i = 0; i < array.tasks.size(); ++i)
    json["tasks"].Append(TaskToJson(array.tasks[i], array.attempts[i]));
  WriteFileAtomically(array.File(".json"), json.Dump(1) + "\n");
}

SlurmArray LoadList(const fs::path& list) {
  const Json json = Json::Load(list);
  SlurmArray array;
  array.folder = list.parent_path();
  array.name = list.stem().string();
  try {
    array.job = json.At("job").AsString();
    array.version = json.At("version").AsString();
    array.program = UnescapeBytes(json.At("program").AsString());
    array.working_folder = UnescapeBytes(json.At("working_folder").AsString());
    for (const Json& task : json.At("tasks").AsArray()) {
      array.tasks.push_back(TaskFromJson(task));
      array.attempts.push_back(static_cast<int>(task.At("attempt").AsInteger()));
    }
  } catch (const InputError& error) {
    throw InputError(list, StrCat("is no list of tasks: ", error.what()));
  }
  return array;
}

std::vector<SlurmArray> LoadLists(const fs::path& folder) {
  std::vector<SlurmArray> arrays;
  for (const fs::path& file : ListFiles(folder))
    if (file.extension() == ".json" && StartsWith(file.filename().string(), kPrefix))
      arrays.push_back(LoadList(file));
  return arrays;
}

// Nothing is written before the node has found what was put on the disk for it. A node that looked into the
// folder a moment ago may see a new file half a minute late (NFS).
fs::path WriteScript(const SlurmArray& array) {
  const std::string folder = QuoteForShell(array.folder.string());
  const std::string program = QuoteForShell(array.program.string());
  const std::string file = QuoteForShell(array.File("").string());
  const std::string script =
      StrCat("#!/bin/sh\n# One task of ", array.name, ".json, as Lumen submitted it.\n", "token() { cat ",
             file, ".token 2>/dev/null; }\n", "for pause in 1 2 4 8 16; do\n  [ -n \"$(token)\" ] || [ ! -d ",
             folder, " ] || sleep $pause\ndone\n", "[ \"$(token)\" = ", array.name, " ] || exit ", kOtherDisk,
             "\n", "words=", file, "-$SLURM_ARRAY_TASK_ID.out\n", "{ : >>\"$words\"; } 2>/dev/null || exit ",
             kNoWriting, "\n", "exec >>\"$words\" 2>&1\n", "[ -x ", program, " ] || exit ", kNoProgram, "\n",
             "version=$(", program, " --version) || exit ", kNoProgram, "\n", "echo \"$version\"\n",
             "[ \"$version\" = ", QuoteForShell(array.version), " ] || exit ", kOtherVersion, "\n", "exec ",
             program, " task ", file, ".json \"$SLURM_ARRAY_TASK_ID\"\n");
  WriteFileAtomically(array.File(".token"), array.name + "\n");
  WriteFileAtomically(array.File(".sh"), script);
  return array.File(".sh");
}

void RemoveArray(const SlurmArray& array) {
  std::error_code error;
  for (const char* ending : {".sh", ".token"}) fs::remove(array.File(ending), error);
  for (size_t i = 0; i < array.tasks.size(); ++i) fs::remove(array.WordsOf(i), error);
  fs::remove(array.File(".json"), error);
}

fs::path AttemptFile(const Task& task) { return task.folder / "outcome.json"; }

void WriteAttempt(const Task& task, const AttemptOutcome& outcome) {
  Json json = Json::MakeObject();
  json["job"] = outcome.job;
  json["node"] = outcome.node;
  json["code"] = outcome.code;
  json["seconds"] = outcome.seconds;
  WriteFileAtomically(AttemptFile(task), json.Dump() + "\n");
}

std::optional<AttemptOutcome> LoadAttempt(const Task& task, const std::string& job) {
  std::error_code error;
  if (!fs::is_regular_file(AttemptFile(task), error)) return std::nullopt;
  try {
    const Json json = Json::Load(AttemptFile(task));
    if (json.At("job").AsString() != job) return std::nullopt;
    return AttemptOutcome{job, json.At("node").AsString(), static_cast<int>(json.At("code").AsInteger()),
                          json.At("seconds").AsDouble()};
  } catch (const InputError&) {
    return std::nullopt;  // a disk that hands it over piece by piece
  }
}

int DoListedTask(const fs::path& list, size_t index) {
  const SlurmArray array = LoadList(list);
  if (index >= array.tasks.size()) throw InputError(list, StrCat("has no task ", index));
  const Task& task = array.tasks[index];
  if (fs::exists(task.record)) return 0;
  std::error_code error;
  fs::current_path(array.working_folder, error);  // where this node has it; what the task names is absolute
  MakeDirectories(task.folder);
  fs::remove(AttemptFile(task), error);
  const Stopwatch watch;
  AttemptOutcome outcome;
  outcome.job = StrCat(FromEnvironment("SLURM_ARRAY_JOB_ID"), "_", index);
  outcome.node = FromEnvironment("SLURMD_NODENAME");
  outcome.code = RunLogged(OwnProgram(), task.arguments, TaskLog(task), [] { return false; });
  outcome.seconds = watch.ElapsedMs() / 1000;
  WriteAttempt(task, outcome);
  return outcome.code;
}

}  // namespace lumen
