// SCARED: dataset_1/keyframe_1 with data/rgb.mp4 (both eyes, the left on top), data/frame_data (a JSON a
// frame, with pose and calibration; in a tar.gz as it is delivered, or unpacked) and data/scene_points (a
// TIFF a frame, x, y and z of every pixel; the same). Poses map the keyframe's camera into the frame's: world
// to camera, in mm.
#include <cmath>
#include <set>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"
#include "lumen/base/limits.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/geometry/rational_lens.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/number_image.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/tar_stream.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFrameData = "frame_data";
constexpr const char* kScenePoints = "scene_points";

// The digits at a name's end: "frame_data000012.json" is 12.
std::optional<int64_t> ScaredFrameOf(const fs::path& file, const std::string& prefix) {
  const std::string stem = file.stem().string();
  if (!StartsWith(stem, prefix)) return std::nullopt;
  const auto number = ParseInteger(stem.substr(prefix.size()));
  return number && *number >= 0 ? std::optional<int64_t>(*number) : std::nullopt;
}

std::vector<double> NumbersOf(const Json& value) {
  std::vector<double> numbers;
  if (value.IsNumber()) return {value.AsDouble()};
  for (const Json& item : value.AsArray()) {
    const std::vector<double> inner = NumbersOf(item);
    numbers.insert(numbers.end(), inner.begin(), inner.end());
  }
  return numbers;
}

struct FrameData {
  int width = 0, height = 0;  // of the left eye's pictures
  std::map<int64_t, Rigid3> world_from_camera;
  std::optional<Camera> camera;
};

Camera ScaredLensOf(const Json& calibration, const std::string& name, int width, int height) {
  const std::vector<double> k = NumbersOf(calibration.At("KL"));
  const std::vector<double> d = NumbersOf(calibration.At("DL"));
  if (k.size() != 9 || !(k[0] > 0) || !(k[4] > 0)) throw InputError(name, "\"KL\" is not a camera matrix");
  const auto lens = RadTanFromCoefficients({k[0], k[4], k[2], k[5]}, d, width, height);
  if (!lens) throw InputError(name, "\"DL\" distorts in a way that five coefficients cannot say");
  return {*lens, width, height};
}

void AddFrameData(const std::string& text, const std::string& name, int64_t frame, FrameData& data) {
  const Json json = Json::Parse(text, name);
  const std::vector<double> pose = NumbersOf(json.At("camera-pose"));
  if (pose.size() != 16) throw InputError(name, "\"camera-pose\" is not a 4x4 matrix");
  data.world_from_camera.emplace(frame, RigidFromRows(pose.data(), name, "\"camera-pose\"").Inverse());
  if (const Json* calibration = json.Find("camera-calibration"); calibration != nullptr && !data.camera)
    data.camera = ScaredLensOf(*calibration, name, data.width, data.height);
}

FrameData LoadFrameData(const fs::path& folder, const SourceInfo& info) {
  FrameData data{.width = info.width, .height = info.height, .world_from_camera = {}, .camera = std::nullopt};
  const fs::path archive = folder / StrCat(kFrameData, ".tar.gz");
  if (fs::is_directory(folder / kFrameData)) {
    for (const auto& [frame, file] : FindNumbered(folder / kFrameData, kFrameData, ".json"))
      AddFrameData(ReadFile(file, limits::kTextBytes), file.string(), frame, data);
  } else if (fs::exists(archive)) {
    TarStream stream(archive);
    while (const auto entry = stream.Next()) {
      if (const auto frame = ScaredFrameOf(entry->name, kFrameData))
        AddFrameData(stream.Read(), StrCat(archive.string(), ": ", entry->name), *frame, data);
    }
  }
  return data;
}

// z of the upper half's points; what is not finite or not before the camera is unknown.
DepthImage ScaredDepthOf(const NumberImage& points, int width, int height, const std::string& name) {
  RequireStored(points, 32, 3, name);
  if (points.width != width || (points.height != height && points.height != 2 * height))
    throw InputError(name, StrCat("is ", points.width, "x", points.height, ", the left eye's pictures are ",
                                  width, "x", height));
  DepthImage depth(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float z = points.At(x, y, 2);
      depth(x, y) = std::isfinite(z) && z > 0 ? z : 0.0F;
    }
  }
  return depth;
}

// Depth by frame. An archive is unpacked as far as the frame that is asked for, and from its beginning where
// that lies behind: asked for in the archive's order, each is unpacked once.
class ScenePoints {
 public:
  ScenePoints(const fs::path& folder, int width, int height)
      : archive_(folder / StrCat(kScenePoints, ".tar.gz")), width_(width), height_(height) {
    if (fs::is_directory(folder / kScenePoints))
      files_ = FindNumbered(folder / kScenePoints, kScenePoints, ".tiff");
  }
  bool Any() const { return !files_.empty() || fs::exists(archive_); }

  std::optional<DepthImage> Load(int64_t frame) {
    if (!files_.empty() || !fs::exists(archive_)) {
      const auto file = files_.find(frame);
      if (file == files_.end()) return std::nullopt;
      return ScaredDepthOf(LoadNumberImage(file->second), width_, height_, file->second.string());
    }
    if (complete_ && !seen_.contains(frame)) return std::nullopt;
    if (seen_.contains(frame)) stream_ = nullptr;  // it lies behind us
    for (int pass = 0; pass < 2; ++pass) {
      if (stream_ == nullptr) stream_ = std::make_unique<TarStream>(archive_);
      while (const auto entry = stream_->Next()) {
        const auto found = ScaredFrameOf(entry->name, kScenePoints);
        if (found) seen_.insert(*found);
        const std::string name = StrCat(archive_.string(), ": ", entry->name);
        if (found == frame)
          return ScaredDepthOf(DecodeNumberImage(stream_->Read(), name), width_, height_, name);
      }
      complete_ = true;
      stream_ = nullptr;
      if (!seen_.contains(frame)) break;
    }
    return std::nullopt;
  }

 private:
  fs::path archive_;
  std::map<int64_t, fs::path> files_;
  int width_, height_;
  std::unique_ptr<TarStream> stream_;
  std::set<int64_t> seen_;  // in the archive, as far as it was looked through
  bool complete_ = false;   // to its end
};

void WarnOfKnownFaults(const fs::path& keyframe) {
  const std::string set = keyframe.parent_path().filename().string();
  if (set == "dataset_4" || set == "dataset_5")
    LogWarning(set, " of SCARED: its organisers call its intrinsics wrong");
}

class ScaredSet : public Dataset {
 public:
  const char* Name() const override { return "SCARED"; }
  bool Holds(const fs::path& path) const override {
    return StartsWith(path.filename().string(), "keyframe_") &&
           fs::exists(path / "endoscope_calibration.yaml");
  }
  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    const fs::path data = folder / "data", video = data / "rgb.mp4";
    if (!fs::exists(video))
      throw InputError(folder, "has no data/rgb.mp4: SCARED's fifth keyframes are single pictures");
    WarnOfKnownFaults(folder);
    auto source = std::make_unique<UpperHalf>(OpenVideo(video), video);
    SourceInfo& info = source->MutableInfo();
    info.name = StrCat(folder.parent_path().filename().string(), " ", folder.filename().string());
    info.units = "mm";
    const FrameData frames = LoadFrameData(data, info);
    info.camera = frames.camera;
    if (!frames.world_from_camera.empty()) CheckAndSetTruth(frames, info, data);
    const auto points = std::make_shared<ScenePoints>(data, info.width, info.height);
    if (points->Any()) source->SetDepth([points](int64_t frame) { return points->Load(frame); });
    return source;
  }

 private:
  static void CheckAndSetTruth(const FrameData& frames, SourceInfo& info, const fs::path& data) {
    const int64_t last = frames.world_from_camera.rbegin()->first;
    if (info.frame_count >= 0 && last >= info.frame_count + kMiscounted)
      throw InputError(
          data, StrCat("has a pose of frame ", last, ", but the video has ", info.frame_count, " frames"));
    info.truth = AtFrames(frames.world_from_camera, info.fps);
  }
};

}  // namespace

const Dataset& Scared() {
  static const ScaredSet set;
  return set;
}

}  // namespace lumen
