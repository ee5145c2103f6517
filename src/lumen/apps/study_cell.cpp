#include "lumen/apps/study_cell.h"

#include <unistd.h>

#include <atomic>

#include "lumen/apps/app.h"
#include "lumen/apps/eval_pictures.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/made_with.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/timer.h"
#include "lumen/tasks/escaped_bytes.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

Json ToJson(const std::vector<std::string>& texts) {
  Json json = Json::MakeArray();
  for (const std::string& text : texts) json.Append(text);
  return json;
}

fs::path Whole(const fs::path& path) { return path.empty() ? path : fs::absolute(path).lexically_normal(); }

Json GradingOptionsToJson(const GradingOptions& options) {
  Json json = Json::MakeObject();
  json["max_time_gap"] = options.max_time_gap;
  json["step_poses"] = options.step_poses;
  json["step_frames"] = options.step_frames;
  json["all_frames"] = options.all_frames;
  json["one_scale"] = options.one_scale;
  json["only_frames"] = options.only_frames;
  json["coverage"] = options.coverage;
  json["threads"] = options.threads;
  return json;
}

GradingOptions GradingOptionsFromJson(const Json& json) {
  GradingOptions options;
  options.max_time_gap = json.At("max_time_gap").AsDouble();
  options.step_poses = static_cast<int>(json.At("step_poses").AsInteger());
  options.step_frames = json.At("step_frames").AsDouble();
  options.all_frames = json.At("all_frames").AsBool();
  options.one_scale = json.At("one_scale").AsBool();
  options.only_frames = json.At("only_frames").AsBool();
  options.coverage = json.At("coverage").AsBool();
  options.threads = static_cast<int>(json.At("threads").AsInteger());
  return options;
}

// Any bytes, as names of files are.
Json BytesToJson(const std::vector<std::string>& texts) {
  Json json = Json::MakeArray();
  for (const std::string& text : texts) json.Append(EscapeBytes(text));
  return json;
}

std::string BytesOf(const Json& json) { return UnescapeBytes(json.AsString()); }

std::vector<std::string> BytesOfAll(const Json& json) {
  std::vector<std::string> texts;
  for (const Json& text : json.AsArray()) texts.push_back(BytesOf(text));
  return texts;
}

Json CellWorkToJson(const CellWork& work, const std::vector<std::string>& run_arguments) {
  const StudyCell& cell = work.cell;
  // One that is known by its name alone is looked for where the program is.
  const fs::path model = fs::exists(cell.model) ? Whole(cell.model) : cell.model;
  Json json = Json::MakeObject();
  json["variant"] = EscapeBytes(cell.variant);
  json["sequence"] = EscapeBytes(cell.sequence);
  json["input"] = EscapeBytes(Whole(cell.folder).string());
  json["settings"] = BytesToJson(cell.settings);
  json["model"] = EscapeBytes(model.string());
  json["arguments"] = BytesToJson(cell.arguments);
  json["run_arguments"] = BytesToJson(run_arguments);
  json["folder"] = EscapeBytes(Whole(work.folder).string());
  json["model_hash"] = work.model_hash;
  json["grading"] = GradingOptionsToJson(work.grading);
  return json;
}

CellWork CellWorkFromJson(const Json& json) {
  CellWork work;
  work.cell.variant = BytesOf(json.At("variant"));
  work.cell.sequence = BytesOf(json.At("sequence"));
  work.cell.folder = BytesOf(json.At("input"));
  work.cell.settings = BytesOfAll(json.At("settings"));
  work.cell.model = BytesOf(json.At("model"));
  work.cell.arguments = BytesOfAll(json.At("arguments"));
  work.folder = BytesOf(json.At("folder"));
  work.model_hash = json.At("model_hash").AsString();
  work.grading = GradingOptionsFromJson(json.At("grading"));
  return work;
}

// `lumen run` as a process of its own: a crash of it is a failed cell, and what it says is ours. Its code,
// too: it said itself what was wrong.
RunCell MakeProgramRunner(const std::vector<std::string>& run_arguments) {
  return [run_arguments](const StudyCell& cell, const fs::path& out) {
    std::vector<std::string> arguments = {"run", cell.folder.string(), "--out", out.string(),
                                          "--deterministic"};
    if (!cell.model.empty()) arguments.insert(arguments.end(), {"--model", cell.model.string()});
    for (const std::string& setting : cell.settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), cell.arguments.begin(), cell.arguments.end());
    arguments.insert(arguments.end(), run_arguments.begin(), run_arguments.end());
    const int code = RunBeside(OwnProgram(), arguments, IsInterrupted);
    if (code != 0) throw ExitRequest{code};
  };
}

// A folder in the cell's own that no other attempt has. Others' are given up: whoever still works there finds
// no place for what it made.
class Aside {
 public:
  explicit Aside(const fs::path& cell) : cell_(cell) {
    char node[256] = "";
    ::gethostname(node, sizeof(node) - 1);
    static std::atomic<int> number = 0;
    path_ = cell / StrCat(".attempt-", node, "-", ::getpid(), "-", ++number);
    MakeDirectories(cell);
    for (const fs::directory_entry& entry : fs::directory_iterator(cell))
      if (!IsEngines(entry.path())) fs::remove_all(entry.path());
    MakeDirectories(path_);
  }
  // What a failed attempt has is worth a look as well.
  ~Aside() {
    std::error_code error;
    if (!fs::exists(path_, error)) return;
    fs::rename(path_ / "run", cell_ / "run", error);
    fs::remove_all(path_, error);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  const fs::path& Path() const { return path_; }
  void BringHome() {
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      fs::remove_all(cell_ / entry.path().filename());
      fs::rename(entry.path(), cell_ / entry.path().filename());
    }
    fs::remove(path_);
  }

 private:
  static bool IsEngines(const fs::path& file) {
    return file.filename() == "log.txt" || file.filename() == "outcome.json";
  }
  fs::path cell_, path_;
};

}  // namespace

Json CellIdentity(const CellWork& work) {
  const StudyCell& cell = work.cell;
  Json identity = Json::MakeObject();
  identity["sequence"] = cell.sequence;
  identity["folder"] = Whole(cell.folder).string();
  identity["settings"] = ToJson(cell.settings);
  identity["model_hash"] = work.model_hash;
  if (!cell.arguments.empty()) identity["arguments"] = ToJson(cell.arguments);
  return identity;
}

Json RunAndGrade(const CellWork& work, const RunCell& run) {
  Aside aside(work.folder);
  const Stopwatch watch;
  run(work.cell, aside.Path() / "run");
  const double seconds = watch.ElapsedMs() / 1000;
  const Truth truth = LoadTruth(work.cell.folder);
  Estimate estimate = LoadRunEstimate(aside.Path() / "run");
  estimate.name = work.cell.variant;
  const Grading grading = GradeEstimate(estimate, truth, work.grading);
  for (const NamedFigure& figure : DrawGrading(grading, estimate, truth, work.grading))
    WriteFileAtomically(aside.Path() / (figure.name + ".svg"), figure.svg);
  Json record = Json::MakeObject();
  record["variant"] = work.cell.variant;
  record["identity"] = CellIdentity(work);
  record["version"] = OwnVersion();
  record["seconds"] = seconds;
  record["grades"] = GradingToJson(grading, estimate, truth);
  aside.BringHome();
  WriteFileAtomically(work.folder / kCellRecord, record.Dump(2) + "\n");
  return record;
}

Task MakeCellTask(const std::string& name, const CellWork& work,
                  const std::vector<std::string>& run_arguments) {
  const fs::path folder = Whole(work.folder);
  return {name, folder, {"study-cell", CellWorkToJson(work, run_arguments).Dump()}, folder / kCellRecord};
}

void AddStudyCellCommand(Command& app) {
  Command& command = app.AddCommand("study-cell", "one cell of a study, as a process of its own");
  auto description = std::make_shared<std::string>();
  command.Add("CELL", *description, "what is to be run and graded, as JSON").Required();
  command.Hide();
  command.Do([description] {
    CatchInterrupts();
    const Json json = Json::Parse(*description, "CELL");
    const CellWork work = CellWorkFromJson(json);
    if (HashModel(work.cell.model) != work.model_hash)
      throw InputError(work.cell.model.empty() ? "the usual model" : work.cell.model,
                       "is another one here than where the study was started");
    RunAndGrade(work, MakeProgramRunner(BytesOfAll(json.At("run_arguments"))));
    EndIfInterrupted("the cell is not finished");
  });
}

}  // namespace lumen
