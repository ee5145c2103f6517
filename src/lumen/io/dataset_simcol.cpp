// SimCol3D: Frames_S1/FrameBuffer_0000.png with Depth_0000.png, and beside that folder cam.txt,
// SavedPosition_S1.txt and SavedRotationQuaternion_S1.txt. Its world is Unity's, left-handed, y up, in cm.
#include <array>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/png.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kSimColFps = 30;
constexpr double kMmPerCm = 10;
constexpr float kStoredAtFarthest = 65280;  // 255 * 256
constexpr float kSimColFarthest = 200;      // mm

// "Frames_S1" or "Frames_S5_OP": "S1", "S5". Empty: it is no such folder.
std::string TrajectoryOf(const fs::path& folder) {
  constexpr std::string_view kPrefix = "Frames_", kSuffix = "_OP";
  std::string name = folder.filename().string();
  if (!StartsWith(name, kPrefix)) return "";
  name = name.substr(kPrefix.size());
  return EndsWith(name, kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

// Right-handed, and the camera's y downwards: T P T with T = diag(1, -1, 1).
std::vector<Rigid3> LoadSimColPoses(const fs::path& positions_path, const fs::path& rotations_path) {
  const auto positions = LoadNumberTable(positions_path, {.columns = 3});
  const auto rotations = LoadNumberTable(rotations_path, {.columns = 4});
  if (positions.size() != rotations.size())
    throw InputError(rotations_path,
                     StrCat("holds ", rotations.size(), " rotations, ", positions_path.filename().string(),
                            " ", positions.size(), " positions"));
  std::vector<Rigid3> poses;
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto& p = positions[i];
    const auto& q = rotations[i];
    poses.push_back(RigidFromNumbers(kMmPerCm * Eigen::Vector3d(p[0], -p[1], p[2]),
                                     std::array{-q[0], q[1], -q[2], q[3]}.data(), rotations_path,
                                     StrCat("rotation ", i)));
  }
  return poses;
}

DepthImage ReadSimColDepth(const fs::path& path) {
  const Image<uint16_t> stored = LoadPng16(path);
  DepthImage depth(stored.Width(), stored.Height());
  for (size_t i = 0; i < depth.Size(); ++i)
    depth.Data()[i] = static_cast<float>(stored.Data()[i]) / kStoredAtFarthest * kSimColFarthest;
  return depth;
}

class SimColSet : public Dataset {
 public:
  const char* Name() const override { return "SimCol3D"; }
  bool Holds(const fs::path& path) const override {
    return !TrajectoryOf(path).empty() && HasNumbered(path, "FrameBuffer_", ".png");
  }

  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    const fs::path set = folder.parent_path();
    const std::string trajectory = TrajectoryOf(folder);
    auto source = std::make_unique<DatasetFrames>(StrCat(set.filename().string(), "_", trajectory),
                                                  FindNumbered(folder, "FrameBuffer_", ".png"), kSimColFps);
    source->SetProtocol(GradingProtocol::kOneScale);
    if (!fs::exists(set / "cam.txt")) throw InputError(set, "looks like SimCol3D, but has no cam.txt");
    source->SetCamera(LoadCameraMatrix(set / "cam.txt", source->Info().width, source->Info().height));
    const fs::path positions = set / StrCat("SavedPosition_", trajectory, ".txt");
    const fs::path rotations = set / StrCat("SavedRotationQuaternion_", trajectory, ".txt");
    // The challenge's test trajectories come without.
    if (fs::exists(positions) != fs::exists(rotations))
      throw InputError(set, StrCat("has positions or rotations of ", trajectory, ", but not both"));
    if (fs::exists(positions)) source->SetTruth(LoadSimColPoses(positions, rotations), positions);
    source->SetDepth(FindNumbered(folder, "Depth_", ".png"), ReadSimColDepth);
    return source;
  }
};

}  // namespace

const Dataset& SimCol3d() {
  static const SimColSet set;
  return set;
}

}  // namespace lumen
