// EndoSLAM. UnityCam/Colon: Frames/image_0000.png, "Pixelwise Depths"/aov_image_0000.png, Poses/*.csv, and
// beside the organ Calibration/cam.txt; depth is relative, and how the world is mirrored is disputed
// (InputOptions::flip_z). Real cameras: …/TumorfreeTrajectory_1/Frames/*.jpg; their poses lie in spreadsheets
// whose columns nobody describes, and are not read.
#include <array>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/image_folder.h"
#include "lumen/io/number_image.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kUnityFps = 30;
constexpr const char* kDepthFolder = "Pixelwise Depths";

bool IsUnity(const fs::path& folder) { return HasNumbered(folder / "Frames", "image_", ".png"); }

bool IsReal(const fs::path& folder) {
  return folder.filename().string().find("Trajectory_") != std::string::npos &&
         StartsWith(folder.filename().string(), "Tumor") && fs::is_directory(folder / "Frames");
}

// tX,tY,tZ,rX,rY,rZ,rW,time under a line of names; the last line is cut short in some copies.
std::vector<Rigid3> LoadUnityPoses(const fs::path& path, bool flip_z) {
  std::vector<Rigid3> poses;
  for (const std::vector<double>& row :
       LoadNumberTable(path, {.columns = 8, .header = true, .last_may_be_cut = true})) {
    // T P T with T = diag(1, -1, 1), or with diag(1, 1, -1): a mirrored world's mirrored camera.
    const Eigen::Vector3d mirror = flip_z ? Eigen::Vector3d(1, 1, -1) : Eigen::Vector3d(1, -1, 1);
    const Eigen::Vector3d axis = -mirror.cwiseProduct(Eigen::Vector3d(row[3], row[4], row[5]));
    poses.push_back(RigidFromNumbers(mirror.cwiseProduct(Eigen::Vector3d(row[0], row[1], row[2])),
                                     std::array{axis.x(), axis.y(), axis.z(), row[6]}.data(), path,
                                     StrCat("rotation ", poses.size())));
  }
  return poses;
}

fs::path FindTable(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (EndsWith(entry.path().filename().string(), "_position_rotation.csv")) return entry.path();
  }
  return {};
}

// Red, of 255: the share of a range that nobody states.
DepthImage ReadUnityDepth(const fs::path& path) {
  const NumberImage stored = LoadNumberImage(path);
  RequireStored(stored, 8, 0, path.string());
  DepthImage depth(stored.width, stored.height);
  for (int y = 0; y < stored.height; ++y)
    for (int x = 0; x < stored.width; ++x) depth(x, y) = stored.At(x, y) / 255.0F;
  return depth;
}

std::unique_ptr<FrameSource> OpenUnity(const fs::path& folder, const InputOptions& options) {
  auto source = std::make_unique<DatasetFrames>(StrCat("UnityCam ", folder.filename().string()),
                                                FindNumbered(folder / "Frames", "image_", ".png"), kUnityFps);
  source->SetUnits("arbitrary");
  const fs::path calibration = folder.parent_path() / "Calibration" / "cam.txt";
  if (fs::exists(calibration))
    source->SetCamera(LoadCameraMatrix(calibration, source->Info().width, source->Info().height));
  if (const fs::path table = FindTable(folder / "Poses"); !table.empty()) {
    constexpr bool kLastMayMiss = true;  // whose line was cut short
    source->SetTruth(LoadUnityPoses(table, options.flip_z), table, kLastMayMiss);
  }
  source->SetDepth(FindNumbered(folder / kDepthFolder, "aov_image_", ".png"), ReadUnityDepth);
  return source;
}

// HighCam 1280x720 and LowCam 640x480 at 20 frames a second, PillCam 256x256, MiroCam 320x320 at 3.
double FpsOfRealCamera(const fs::path& folder) {
  for (const fs::path& part : folder) {
    if (part == "HighCam" || part == "LowCam") return 20;
    if (part == "MiroCam") return 3;
  }
  return 30;
}

// Calibration/ lies beside the organs, or beside their cameras.
fs::path FindCalibration(const fs::path& folder) {
  fs::path at = folder;
  for (int up = 0; up < 3; ++up) {
    at = at.parent_path();
    if (fs::exists(at / "Calibration" / "cam.txt")) return at / "Calibration" / "cam.txt";
  }
  return {};
}

std::unique_ptr<FrameSource> OpenReal(const fs::path& folder) {
  auto source = std::make_unique<DescribedSource>(OpenImageFolder(folder / "Frames"));
  SourceInfo& info = source->MutableInfo();
  info.name = StrCat(folder.parent_path().filename().string(), " ", folder.filename().string());
  info.fps = FpsOfRealCamera(folder);
  if (const fs::path calibration = FindCalibration(folder); !calibration.empty())
    info.camera = LoadCameraMatrix(calibration, info.width, info.height);
  if (fs::exists(folder / "Poses"))
    LogInfo(folder.string(), ": its poses are not read: what their columns mean is not documented");
  return source;
}

class EndoSlamSet : public Dataset {
 public:
  const char* Name() const override { return "EndoSLAM"; }
  bool Holds(const fs::path& path) const override { return IsUnity(path) || IsReal(path); }
  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions& options) const override {
    return IsUnity(folder) ? OpenUnity(folder, options) : OpenReal(folder);
  }
};

}  // namespace

const Dataset& EndoSlam() {
  static const EndoSlamSet set;
  return set;
}

}  // namespace lumen
