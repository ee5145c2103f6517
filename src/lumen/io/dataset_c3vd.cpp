// C3VD (one folder: 0000_color.png, 0000_depth.tiff, pose.txt), C3VDv2 (rgb/, depth/, pose.txt) and
// EndoGSLAM's half-size copy (color/, depth/ in 8 bits, pose.txt). All show a colonoscope's fisheye with one
// calibration each; the copy is rectified. Units are mm, poses camera-to-world.
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/number_image.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kC3vdFps = 29.97;
constexpr double kC3vdFarthest = 100;  // mm: where stored depth ends
constexpr int kC3vdWidth = 1350, kC3vdHeight = 1080;

// As the truth was rendered: the renderer fills its stretch matrix by columns, so that d and e change places
// against the calibration's own order (and against what the set's example does).
OmniCamera MadeTruthWith(const OmniCamera& calibrated) {
  OmniCamera camera = calibrated;
  std::swap(camera.affine[1], camera.affine[2]);
  return camera;
}

const OmniCamera& FirstLens() {
  static const OmniCamera camera =
      MadeTruthWith({678.544839263292,
                     542.975887548343,
                     {769.243600037458, -0.000812770624150226, 6.25674244578925e-07, -1.19662182144280e-09},
                     {0.999986882249990, 0.00288273829525059, -0.00296316513429569}});
  return camera;
}

const OmniCamera& SecondLens() {
  static const OmniCamera camera =
      MadeTruthWith({677.739464094188,
                     543.057997844875,
                     {767.733695862103, -0.000592506426558248, -2.69440266600040e-07, -2.16380341010063e-10},
                     {0.9999, 1.10e-4, -1.83e-4}});
  return camera;
}

// EndoGSLAM's, after it rectified the frames and halved them.
constexpr int kHalfWidth = 675, kHalfHeight = 540;
const PinholeCamera kHalfSizeLens{401.1595, 400.9425, 334.143, 273.8665};

// 16 numbers a line. The set calls them rows; what it writes are columns, so that the translation stands in
// the last line of four. Both are understood, by where the zeros are.
std::vector<Rigid3> LoadC3vdPoses(const fs::path& path) {
  std::vector<Rigid3> poses;
  for (std::vector<double> m : LoadNumberTable(path, {.columns = 16})) {
    constexpr double kZero = 1e-9;
    const bool by_columns =
        std::abs(m[3]) + std::abs(m[7]) + std::abs(m[11]) < kZero && std::abs(m[15] - 1) < kZero;
    if (by_columns) {
      for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < y; ++x) std::swap(m[4 * y + x], m[4 * x + y]);
    }
    poses.push_back(RigidFromRows(m.data(), path, StrCat("pose ", poses.size())));
  }
  return poses;
}

// Depth along the camera's axis, 0 to 100 mm over the stored range; both ends say that nothing is known.
DepthImage ReadC3vdDepth(const fs::path& path, int bits) {
  const NumberImage stored = LoadNumberImage(path);
  RequireStored(stored, bits, 0, path.string());
  const float most = bits == 16 ? 65535.0F : 255.0F;
  DepthImage depth(stored.width, stored.height);
  for (int y = 0; y < stored.height; ++y) {
    for (int x = 0; x < stored.width; ++x) {
      const float value = stored.At(x, y);
      depth(x, y) = value > 0 && value < most ? value / most * static_cast<float>(kC3vdFarthest) : 0.0F;
    }
  }
  return depth;
}

enum class C3vdLayout { kNone, kFirst, kSecond, kRectified };

// "c1_ascending_t1_v4": a sequence of the second set, by its name alone.
bool IsSecondName(const std::string& name) {
  const std::vector<std::string> parts = Split(name, '_');
  const auto numbered = [](const std::string& part, char letter) {
    return part.size() > 1 && part[0] == letter &&
           part.find_first_not_of("0123456789", 1) == std::string::npos;
  };
  return parts.size() >= 4 && numbered(parts[0], 'c') && numbered(parts[parts.size() - 2], 't') &&
         numbered(parts.back(), 'v');
}

C3vdLayout C3vdLayoutOf(const fs::path& folder) {
  if (HasNumbered(folder, "", "_color.png")) return C3vdLayout::kFirst;
  const bool poses = fs::exists(folder / "pose.txt");
  if (HasNumbered(folder / "rgb", "", ".png") && !fs::exists(folder / "sequence.toml") &&
      (poses || IsSecondName(folder.filename().string())))
    return C3vdLayout::kSecond;
  if (poses && HasNumbered(folder / "color", "", ".png")) return C3vdLayout::kRectified;
  return C3vdLayout::kNone;
}

// Downloads may carry a suffix that is not part of the name.
std::string C3vdNameOf(const fs::path& folder) {
  constexpr std::string_view kSuffix = "_under_review";
  const std::string name = folder.filename().string();
  return EndsWith(name, kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

// Of pictures of another shape than the set's nothing is known.
std::optional<Camera> LensFor(const Camera::Model& model, int made_for_width, int made_for_height,
                              const SourceInfo& info, const fs::path& folder) {
  const Camera camera(model, made_for_width, made_for_height);
  if (info.width == made_for_width && info.height == made_for_height) return camera;
  const double sx = static_cast<double>(info.width) / made_for_width;
  const double sy = static_cast<double>(info.height) / made_for_height;
  if (std::abs(sx - sy) > 0.005 * sx) {
    LogWarning(folder.string(), ": its pictures are ", info.width, "x", info.height, ", those of the set ",
               made_for_width, "x", made_for_height, ": its lens is not known");
    return std::nullopt;
  }
  return camera.Resized(info.width, info.height);
}

class C3vdSet : public Dataset {
 public:
  const char* Name() const override { return "C3VD"; }
  bool Holds(const fs::path& path) const override { return C3vdLayoutOf(path) != C3vdLayout::kNone; }

  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    const C3vdLayout layout = C3vdLayoutOf(folder);
    const bool first = layout == C3vdLayout::kFirst;
    const fs::path pictures = first ? folder : folder / (layout == C3vdLayout::kSecond ? "rgb" : "color");
    auto source = std::make_unique<DatasetFrames>(
        C3vdNameOf(folder), FindNumbered(pictures, "", first ? "_color.png" : ".png"), kC3vdFps);
    source->SetCamera(
        layout == C3vdLayout::kRectified
            ? LensFor(kHalfSizeLens, kHalfWidth, kHalfHeight, source->Info(), folder)
            : LensFor(first ? FirstLens() : SecondLens(), kC3vdWidth, kC3vdHeight, source->Info(), folder));
    source->SetProtocol(GradingProtocol::kAllFrames);
    const fs::path surface = folder / "coverage_mesh.obj";  // in the poses' world
    if (fs::exists(surface)) source->SetModel(surface);
    const fs::path poses = folder / "pose.txt";
    // Of the second set's still cameras before moving tissue there are none.
    if (fs::exists(poses))
      source->SetTruth(LoadC3vdPoses(poses), poses);
    else if (first)
      throw InputError(folder, "looks like C3VD, but has no pose.txt");
    const int bits = layout == C3vdLayout::kRectified ? 8 : 16;
    source->SetDepth(layout == C3vdLayout::kRectified
                         ? FindNumbered(folder / "depth", "", ".tiff")
                         : FindNumbered(first ? folder : folder / "depth", "", "_depth.tiff"),
                     [bits](const fs::path& path) { return ReadC3vdDepth(path, bits); });
    return source;
  }
};

}  // namespace

const Dataset& C3vd() {
  static const C3vdSet set;
  return set;
}

}  // namespace lumen
