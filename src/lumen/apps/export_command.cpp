#include <algorithm>

#include "lumen/apps/app.h"
#include "lumen/apps/climb_files.h"
#include "lumen/apps/exporting.h"
#include "lumen/apps/interrupt.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/run_keyframes.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct ExportChoice {
  std::vector<fs::path> runs;
  std::string to;
  fs::path out;
  bool keyframes = false, all_frames = false, no_images = false;
  std::string name;  // of the sequence, for the challenge
};

// A folder that is made beside its place and moved there whole; what a killed command left of one is cleared
// away.
class FolderInTheMaking {
 public:
  explicit FolderInTheMaking(const fs::path& place) : place_(fs::absolute(place).lexically_normal()) {
    if (!place_.has_filename()) place_ = place_.parent_path();
    RequireFreshFolder(place_);
    work_ = place_.parent_path() / StrCat(".", place_.filename().string(), ".tmp-export");
    Clear();
    MakeDirectories(work_);
  }
  ~FolderInTheMaking() {
    try {
      Clear();
    } catch (...) {  // it stays, and nobody reads it
    }
  }
  FolderInTheMaking(const FolderInTheMaking&) = delete;
  FolderInTheMaking& operator=(const FolderInTheMaking&) = delete;
  const fs::path& Path() const { return work_; }
  void Finish() {
    std::error_code error;
    fs::remove(place_, error);  // an empty folder may stand there
    fs::rename(work_, place_, error);
    if (error) throw OutputError(place_, StrCat("cannot be moved to its place: ", error.message()));
  }

 private:
  void Clear() const {
    std::error_code error;
    fs::remove_all(work_, error);
    if (error) fs::remove_all(work_, error);
  }
  fs::path place_, work_;
};

Trajectory PathOf(const RunFolder& run, bool keyframes) { return keyframes ? run.keyframes : run.frames; }

void ExportColmap(const RunFolder& run, const ExportChoice& choice) {
  const ExportedScene scene = ExportScene(run, {choice.all_frames, !choice.no_images, false}, choice.out);
  SaveColmapScene(choice.out, scene);
  LogInfo("wrote ", scene.images.size(), " images and ", scene.points.size(), " points");
}

void ExportNerfstudio(const RunFolder& run, const ExportChoice& choice) {
  const ExportedScene scene = ExportScene(run, {choice.all_frames, !choice.no_images, true}, choice.out);
  SaveNerfstudioScene(choice.out, scene);
  LogInfo("wrote ", scene.images.size(), " images and ", scene.points.size(), " points");
}

void ExportTum(const RunFolder& run, const ExportChoice& choice) {
  SaveTrajectory(choice.out / "trajectory.tum", PathOf(run, choice.keyframes));
}

// Twelve numbers a line say no times: these stand beside them.
void ExportKitti(const RunFolder& run, const ExportChoice& choice) {
  const Trajectory path = PathOf(run, choice.keyframes);
  SaveTrajectoryKitti(choice.out / "poses.txt", path);
  std::string times;
  for (const TimedPose& pose : path) times += FormatDouble(pose.time) + "\n";
  WriteFileAtomically(choice.out / "times.txt", times);
}

void ExportCsv(const RunFolder& run, const ExportChoice& choice) {
  std::string text = "frame,time,tx,ty,tz,qx,qy,qz,qw,keyframe,status,reason\n";
  for (const PlacedRunFrame& frame : ListPlacedFrames(run)) {
    if (choice.keyframes && !frame.keyframe) continue;
    const Eigen::Vector3d& t = frame.world_from_camera.Translation();
    const Eigen::Quaterniond& q = frame.world_from_camera.Rotation();
    text += StrCat(frame.frame, ",", FormatDouble(frame.time));
    for (const double value : {t.x(), t.y(), t.z(), q.x(), q.y(), q.z(), q.w()})
      text += "," + FormatDouble(value);
    std::string reason = frame.reason;
    std::replace(reason.begin(), reason.end(), '"', '\'');
    text += StrCat(",", frame.keyframe ? 1 : 0, ",", frame.status, ",\"", reason, "\"\n");
  }
  WriteFileAtomically(choice.out / "frames.csv", text);
}

// The dense points of all keyframes; the surface besides, where there is one.
void ExportPly(const RunFolder& run, const ExportChoice& choice) {
  constexpr size_t kMostPoints = 5'000'000;
  const TriangleMesh cloud = MakeRunCloud(run, kMostPoints);
  if (cloud.vertices.empty()) throw InputError(run.path, "has no depth to make points of");
  SaveMesh(choice.out / "points.ply", cloud);
  if (fs::is_regular_file(run.path / run_file::kSurface))
    SaveMesh(choice.out / "surface.ply", LoadMesh(run.path / run_file::kSurface));
}

void ExportClimb(const ExportChoice& choice) {
  if (choice.runs.size() > kMostClimbRuns)
    throw InputError(StrCat("the challenge takes ", kMostClimbRuns, " runs, not ", choice.runs.size()));
  for (size_t i = 0; i < choice.runs.size(); ++i) {
    const RunFolder run = ReadRunFolder(choice.runs[i]);
    const Json* input = run.summary.IsObject() ? run.summary.Find(run_key::kInput) : nullptr;
    const std::string name = !choice.name.empty() ? choice.name
                             : input != nullptr && input->IsString()
                                 ? fs::path(input->AsString()).stem().string()
                                 : "sequence";
    const fs::path folder = choice.out / name / StrCat(i + 1);
    SaveClimbRun(folder, run);
    CheckClimbRun(folder);
  }
}

void ExportOne(const ExportChoice& choice) {
  if (choice.to == "climb") return ExportClimb(choice);
  if (choice.runs.size() != 1) throw InputError(StrCat("--to ", choice.to, " takes one run, not several"));
  const RunFolder run = ReadRunFolder(choice.runs.front());
  if (run.frames.empty()) throw InputError(run.path, "has no placed frame");
  if (choice.to == "colmap") ExportColmap(run, choice);
  if (choice.to == "nerfstudio") ExportNerfstudio(run, choice);
  if (choice.to == "tum") ExportTum(run, choice);
  if (choice.to == "kitti") ExportKitti(run, choice);
  if (choice.to == "csv") ExportCsv(run, choice);
  if (choice.to == "ply") ExportPly(run, choice);
}

void RunExport(ExportChoice choice) {
  CatchInterrupts();  // what was begun goes
  FolderInTheMaking folder(choice.out);
  choice.out = folder.Path();
  ExportOne(choice);
  EndIfInterrupted();
  folder.Finish();
}

}  // namespace

void AddExportCommand(Command& app) {
  Command& command =
      app.AddCommand("export", "hand a run over to other tools: COLMAP, nerfstudio, evo, a challenge");
  auto choice = std::make_shared<ExportChoice>();
  command.Add("RUN", choice->runs, "folder that `lumen run` wrote; up to five for climb").Required();
  command.Add("--to", choice->to, "colmap, nerfstudio, tum, kitti, ply, csv or climb")
      .Required()
      .OneOf({"colmap", "nerfstudio", "tum", "kitti", "ply", "csv", "climb"});
  command.Add("--out", choice->out, "new folder").Required();
  command.AddFlag("--keyframes", choice->keyframes, "of tum, kitti and csv: keyframes alone");
  command.AddFlag("--all-frames", choice->all_frames,
                  "of colmap and nerfstudio: every placed frame, not the keyframes alone");
  command.AddFlag("--no-images", choice->no_images, "of colmap and nerfstudio: do not write the pictures");
  command.Add("--name", choice->name, "of climb: the sequence's name, if not its input's");
  command.Do([choice] { RunExport(*choice); });
}

}  // namespace lumen
