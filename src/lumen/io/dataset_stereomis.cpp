// StereoMIS: P2_0 with a video of both eyes (the left on top), StereoCalibration.ini and groundtruth.txt, one
// line a frame in their order whatever its times say: the camera in the robot's base, in metres.
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/geometry/rational_lens.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kMmPerMetre = 1000;

fs::path FindStereoMisVideo(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (ToLower(entry.path().extension().string()) == ".mp4" && !StartsWith(name, "."))
      found.push_back(entry.path());
  }
  if (found.size() > 1) throw InputError(folder, "looks like StereoMIS, but holds several videos");
  return found.empty() ? fs::path() : found.front();
}

// The left eye's part of the .ini.
std::map<std::string, double> LeftEye(const fs::path& path) {
  std::map<std::string, double> values;
  bool left = false;
  for (const std::string& whole : Split(ReadFile(path, limits::kTextBytes), '\n')) {
    const std::string line = Trim(whole);
    if (StartsWith(line, "[")) left = line == "[StereoLeft]";
    const size_t equals = line.find('=');
    if (!left || equals == std::string::npos) continue;
    const auto number = ParseDouble(Trim(line.substr(equals + 1)));
    if (!number || !std::isfinite(*number))
      throw InputError(path, StrCat("\"", Printable(Trim(line.substr(0, equals))), "\" is not a number"));
    values[ToLower(Trim(line.substr(0, equals)))] = *number;
  }
  return values;
}

Camera LoadStereoMisCamera(const fs::path& path, int width, int height) {
  std::map<std::string, double> v = LeftEye(path);
  for (const char* key : {"res_x", "res_y", "fc_x", "fc_y", "cc_x", "cc_y"})
    if (!v.contains(key)) throw InputError(path, StrCat("[StereoLeft] has no ", key));
  if (!(v["fc_x"] > 0) || !(v["fc_y"] > 0) || !(v["res_x"] >= 1) || !(v["res_y"] >= 1) ||
      !(v["res_x"] < 1e5) || !(v["res_y"] < 1e5))
    throw InputError(path, "[StereoLeft] is not a camera");
  const PinholeCamera pinhole{v["fc_x"], v["fc_y"], v["cc_x"], v["cc_y"]};
  std::vector<double> coefficients;
  for (int i = 0; i < 8; ++i) coefficients.push_back(v[StrCat("kc_", i)]);
  const auto stored_width = static_cast<int>(v["res_x"]), stored_height = static_cast<int>(v["res_y"]);
  const auto lens = RadTanFromCoefficients(pinhole, coefficients, stored_width, stored_height);
  if (!lens) throw InputError(path, "distorts in a way that five coefficients cannot say");
  const Camera camera(*lens, stored_width, stored_height);
  return camera.Width() == width && camera.Height() == height ? camera : camera.Resized(width, height);
}

std::vector<Rigid3> LoadStereoMisPoses(const fs::path& path) {
  std::vector<Rigid3> poses;
  for (const std::vector<double>& row : LoadNumberTable(path, {.columns = 8})) {
    poses.push_back(RigidFromNumbers(kMmPerMetre * Eigen::Vector3d(row[1], row[2], row[3]), &row[4], path,
                                     StrCat("rotation ", poses.size())));
  }
  return poses;
}

class StereoMisSet : public Dataset {
 public:
  const char* Name() const override { return "StereoMIS"; }
  bool Holds(const fs::path& path) const override { return fs::exists(path / "StereoCalibration.ini"); }
  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    const fs::path video = FindStereoMisVideo(folder);
    if (video.empty()) throw InputError(folder, "looks like StereoMIS, but holds no .mp4");
    auto source = std::make_unique<UpperHalf>(OpenVideo(video), video);
    SourceInfo& info = source->MutableInfo();
    info.name = folder.filename().string();
    info.units = "mm";
    info.camera = LoadStereoMisCamera(folder / "StereoCalibration.ini", info.width, info.height);
    const fs::path truth = folder / "groundtruth.txt";
    if (fs::exists(truth)) SetVideoTruth(info, LoadStereoMisPoses(truth), truth);
    return source;
  }
};

}  // namespace

const Dataset& StereoMis() {
  static const StereoMisSet set;
  return set;
}

}  // namespace lumen
