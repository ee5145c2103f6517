#include "lumen/apps/climb_files.h"

#include <cmath>

#include "lumen/apps/exporting.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/run_keyframes.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTrajectories = "camera_trajectory";
constexpr const char* kMaps = "3D_maps";
constexpr size_t kMostPoints = 100'000;

std::string TrajectoryName(int map) {
  char name[40];
  std::snprintf(name, sizeof(name), "cam_traj_map_%03d.txt", map);
  return name;
}

std::string FormatTrajectory(const std::vector<PlacedRunFrame>& frames) {
  std::string text;
  for (const PlacedRunFrame& frame : frames) {
    const Eigen::Quaterniond& q = frame.world_from_camera.Rotation();
    const Eigen::Vector3d& t = frame.world_from_camera.Translation();
    char line[320];
    std::snprintf(line, sizeof(line), "%.6f,%06lld.png,%.9g,%.9g,%.9g,%.12g,%.12g,%.12g,%.12g\n", frame.time,
                  static_cast<long long>(frame.frame + 1), t.x(), t.y(), t.z(), q.w(), q.x(), q.y(), q.z());
    text += line;
  }
  return text;
}

std::string FormatCloud(const TriangleMesh& cloud) {
  std::string text;
  for (size_t i = 0; i < cloud.vertices.size(); ++i) {
    const auto& x = cloud.vertices[i];
    char line[160];
    const auto colour = i < cloud.colors.size() ? cloud.colors[i] : decltype(cloud.colors[i]){128, 128, 128};
    std::snprintf(line, sizeof(line), "%zu %.6g %.6g %.6g %d %d %d 0\n", i + 1, x.x(), x.y(), x.z(),
                  colour[0], colour[1], colour[2]);
    text += line;
  }
  return text;
}

void SaveMapFiles(const fs::path& folder, int map, const RunFolder& run) {
  MakeDirectories(folder / kTrajectories);
  MakeDirectories(folder / kMaps / StrCat(map));
  WriteFileAtomically(folder / kTrajectories / TrajectoryName(map), FormatTrajectory(ListPlacedFrames(run)));
  WriteFileAtomically(folder / kMaps / StrCat(map) / "points3D.txt",
                      FormatCloud(MakeRunCloud(run, kMostPoints)));
}

double NumberIn(const Json& summary, const char* key) {
  const Json* value = summary.IsObject() ? summary.Find(key) : nullptr;
  return value != nullptr && value->IsNumber() ? value->AsDouble() : 0;
}

// A run that consists of one of the separate maps: its own paths, all the rest as it was.
RunFolder WithPathsOf(RunFolder run, const fs::path& submap) {
  run.frames = LoadTrajectory(submap / run_file::kFrames);
  run.keyframes = LoadTrajectory(submap / run_file::kKeyframes);
  return run;
}

std::map<int64_t, Rigid3> ReadClimbTrajectory(const fs::path& path) {
  std::map<int64_t, Rigid3> poses;
  const std::vector<std::string> lines = Split(ReadFile(path, limits::kTextBytes), '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (Trim(lines[i]).empty()) continue;
    const std::vector<std::string> fields = Split(Trim(lines[i]), ',');
    if (fields.size() != 9)
      throw InputError(path, StrCat("line ", i + 1, ": ", fields.size(), " fields, not 9"));
    std::array<double, 9> v{};
    for (const size_t k : {0, 2, 3, 4, 5, 6, 7, 8}) {
      const auto number = ParseDouble(fields[k]);
      if (!number || !std::isfinite(*number)) throw InputError(path, StrCat("line ", i + 1, ": no number"));
      v[k] = *number;
    }
    std::string digits;
    for (const char c : fields[1])
      if (c >= '0' && c <= '9') digits += c;
    const auto frame = ParseInteger(digits);
    if (!frame || *frame < 1) throw InputError(path, StrCat("line ", i + 1, ": frames are counted from 1"));
    const Eigen::Quaterniond q(v[5], v[6], v[7], v[8]);
    if (std::abs(q.norm() - 1) > 1e-3)
      throw InputError(path, StrCat("line ", i + 1, ": not a unit quaternion"));
    if (!poses.emplace(*frame, Rigid3(q.normalized(), {v[2], v[3], v[4]})).second)
      throw InputError(path, StrCat("line ", i + 1, ": frame ", *frame, " is there twice"));
  }
  return poses;
}

double ReadSeconds(const std::string& text, const std::string& key, const fs::path& path) {
  for (const std::string& line : Split(text, '\n')) {
    if (!StartsWith(line, key + "=")) continue;
    const auto number = ParseDouble(Trim(line.substr(key.size() + 1)));
    if (number && std::isfinite(*number) && *number >= 0) return *number;
  }
  throw InputError(path, StrCat("has no ", key));
}

}  // namespace

void SaveClimbRun(const fs::path& folder, const RunFolder& run) {
  SaveMapFiles(folder, 1, run);
  int map = 1;
  const fs::path submaps = run.path / run_file::kSubmaps;
  if (fs::is_directory(submaps)) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(submaps)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    for (const fs::path& submap : folders) SaveMapFiles(folder, ++map, WithPathsOf(run, submap));
  }
  WriteFileAtomically(folder / "runtime.txt",
                      StrCat("init_seconds=", FormatDouble(NumberIn(run.summary, run_key::kInitSeconds)),
                             "\nprocessing_seconds=", FormatDouble(NumberIn(run.summary, "seconds")), "\n"));
}

ClimbRun CheckClimbRun(const fs::path& folder) {
  ClimbRun run;
  for (int map = 1; fs::exists(folder / kTrajectories / TrajectoryName(map)); ++map) {
    run.maps[map] = ReadClimbTrajectory(folder / kTrajectories / TrajectoryName(map));
    if (!fs::exists(folder / kMaps / StrCat(map) / "points3D.txt"))
      throw InputError(folder, StrCat("has no points of map ", map));
  }
  if (run.maps.empty()) throw InputError(folder, "has no trajectory");
  const std::string text = ReadFile(folder / "runtime.txt", limits::kTextBytes);
  run.init_seconds = ReadSeconds(text, "init_seconds", folder / "runtime.txt");
  run.processing_seconds = ReadSeconds(text, "processing_seconds", folder / "runtime.txt");
  return run;
}

}  // namespace lumen
