// EndoMapper's "Simulated Sequences"/Seq_0 with rgb/image_0000.png, calibration.txt and trajectory.csv, in
// dm; its depth has no documented unit and is not read.
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/limits.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kSimulatedFps = 30;
constexpr double kMmPerDm = 100;

// "fx: 472.6", one a line.
Camera LoadSimulatedCamera(const fs::path& path, int width, int height) {
  std::map<std::string, double> values;
  for (const std::string& line : Split(ReadFile(path, limits::kTextBytes), '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (const auto number = ParseDouble(Trim(line.substr(colon + 1))))
      values[Trim(line.substr(0, colon))] = *number;
  }
  for (const char* key : {"fx", "fy", "cx", "cy"})
    if (!values.contains(key)) throw InputError(path, StrCat("has no \"", key, "\""));
  const auto wrong = [&](const char* key, int size) { return values.contains(key) && values[key] != size; };
  if (wrong("cols", width) || wrong("rows", height) || !(values["fx"] > 0) || !(values["fy"] > 0))
    throw InputError(path, "is not these pictures' calibration");
  return {PinholeCamera{values["fx"], values["fy"], values["cx"], values["cy"]}, width, height};
}

std::vector<Rigid3> LoadSimulatedPoses(const fs::path& path) {
  std::vector<Rigid3> poses;
  for (const std::vector<double>& row : LoadNumberTable(path, {.columns = 8, .header = true})) {
    poses.push_back(RigidFromNumbers(kMmPerDm * Eigen::Vector3d(row[0], row[1], row[2]), &row[3], path,
                                     StrCat("rotation ", poses.size())));
  }
  return poses;
}

class EndoMapperSimulatedSet : public Dataset {
 public:
  const char* Name() const override { return "EndoMapper (simulated)"; }
  bool Holds(const fs::path& path) const override {
    return fs::exists(path / "trajectory.csv") && HasNumbered(path / "rgb", "image_", ".png");
  }
  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    auto source = std::make_unique<DatasetFrames>(
        folder.filename().string(), FindNumbered(folder / "rgb", "image_", ".png"), kSimulatedFps);
    if (!fs::exists(folder / "calibration.txt"))
      throw InputError(folder, "looks like EndoMapper's simulation, but has no calibration.txt");
    source->SetCamera(
        LoadSimulatedCamera(folder / "calibration.txt", source->Info().width, source->Info().height));
    source->SetTruth(LoadSimulatedPoses(folder / "trajectory.csv"), folder / "trajectory.csv");
    if (fs::is_directory(folder / "depth"))
      LogInfo(folder.string(), ": its depth is not read: in which unit it is has never been said");
    return source;
  }
};

}  // namespace

const Dataset& EndoMapperSimulated() {
  static const EndoMapperSimulatedSet set;
  return set;
}

}  // namespace lumen
