// EndoMapper. Sequences/Seq_001 with Seq_001.mov and Seq_001_info.json, whose endoscope's calibration lies in
// Calibrations/Endoscope_01; meta-data/colmap, unpacked, has poses of some frames, at COLMAP's own scale.
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"
#include "lumen/base/limits.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/colmap_model.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dataset_frames.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

fs::path VideoOf(const fs::path& folder) { return folder / (folder.filename().string() + ".mov"); }
fs::path InfoOf(const fs::path& folder) { return folder / (folder.filename().string() + "_info.json"); }

// A number, digits in quotes, or "N/A": 17 of the procedures did not write down which endoscope they used.
std::optional<int64_t> EndoscopeOf(const fs::path& path) {
  const Json info = Json::Load(path);
  const Json* number = info.Find("endoscope_number");
  if (number == nullptr) return std::nullopt;
  if (number->IsInteger()) return number->AsInteger();
  if (!number->IsString()) return std::nullopt;
  const auto digits = ParseInteger(Trim(number->AsString()));
  return digits ? std::optional<int64_t>(*digits) : std::nullopt;
}

// What stands between <tag …> and </tag>; nothing if there is none.
std::optional<std::string> Between(const std::string& text, const std::string& tag, size_t from = 0) {
  const size_t open = text.find("<" + tag, from);
  if (open == std::string::npos) return std::nullopt;
  const size_t begin = text.find('>', open);
  const size_t end = text.find("</" + tag + ">", open);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return text.substr(begin + 1, end - begin - 1);
}

// A rig of calibu's with one camera: "[ fx; fy; cx; cy; k1; k2; k3; k4 ]" of a Kannala-Brandt lens.
Camera LoadGeometry(const fs::path& path, int width, int height) {
  const std::string text = ReadFile(path, limits::kTextBytes);
  if (text.find("calibu_fu_fv_u0_v0_kb4") == std::string::npos)
    throw InputError(path, "is not a calibration with calibu's kb4 lens");
  std::string list = Between(text, "params").value_or("");
  for (char& c : list)
    if (c == '[' || c == ']' || c == ';' || c == ',') c = ' ';
  std::vector<double> v;
  for (const std::string& word : SplitWords(list)) {
    const auto number = ParseDouble(word);
    if (!number || !std::isfinite(*number))
      throw InputError(path, "<params> holds something that is no number");
    v.push_back(*number);
  }
  if (v.size() != 8 || !(v[0] > 0) || !(v[1] > 0)) throw InputError(path, "<params> does not hold a lens");
  const auto size = [&](const char* tag, int fallback) {
    const auto number = ParseInteger(Trim(Between(text, tag).value_or("")));
    return number && *number > 0 && *number < 100'000 ? static_cast<int>(*number) : fallback;
  };
  const Camera camera(KannalaBrandtCamera{{v[0], v[1], v[2], v[3]}, {v[4], v[5], v[6], v[7]}},
                      size("width", width), size("height", height));
  return camera.Width() == width && camera.Height() == height ? camera : camera.Resized(width, height);
}

fs::path FindGeometry(const fs::path& folder, int64_t endoscope) {
  char name[32];
  std::snprintf(name, sizeof(name), "Endoscope_%02lld", static_cast<long long>(endoscope));
  for (fs::path at = folder.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    const fs::path file = at / "Calibrations" / name / StrCat(name, "_geometrical.xml");
    if (fs::exists(file)) return file;
    if (at == at.parent_path()) break;
  }
  return {};
}

// Unpacked: meta-data/colmap/Seq_001/sparse/0, 1, …; each sub-model has a scale of its own, so one is taken,
// the largest. Images are called out1.png, out2.png, … after the video's frames, counted from one.
std::optional<Trajectory> LoadColmapPoses(const fs::path& folder, double fps) {
  const std::string id = folder.filename().string();
  const fs::path colmap = folder / "meta-data" / "colmap";
  for (const fs::path& sparse : {colmap / id / "sparse", colmap / id / id / "sparse", colmap / "sparse"}) {
    if (!fs::is_directory(sparse)) continue;
    std::map<int64_t, Rigid3> poses;
    for (const ColmapView& view : LoadColmapModel(sparse).views) {
      const std::string stem = fs::path(view.name).stem().string();
      const auto number = StartsWith(stem, "out") ? ParseInteger(stem.substr(3)) : std::nullopt;
      if (!number || *number < 1)
        throw InputError(sparse,
                         StrCat("image \"", Printable(view.name), "\" is not called out1.png, out2.png, …"));
      poses[*number - 1] = view.world_from_camera;
    }
    return AtFrames(poses, fps);
  }
  if (fs::exists(colmap / (id + ".zip")))
    LogInfo((colmap / (id + ".zip")).string(), ": unpack it there to have its poses");
  return std::nullopt;
}

class EndoMapperSet : public Dataset {
 public:
  const char* Name() const override { return "EndoMapper"; }
  bool Holds(const fs::path& path) const override {
    return StartsWith(path.filename().string(), "Seq_") && fs::exists(VideoOf(path));
  }
  std::unique_ptr<FrameSource> Open(const fs::path& folder, const InputOptions&) const override {
    auto source = std::make_unique<DescribedSource>(OpenVideo(VideoOf(folder)));
    SourceInfo& info = source->MutableInfo();
    info.camera = FindLens(folder, info.width, info.height);
    info.truth = LoadColmapPoses(folder, info.fps);
    return source;
  }

 private:
  static std::optional<Camera> FindLens(const fs::path& folder, int width, int height) {
    const auto endoscope = fs::exists(InfoOf(folder)) ? EndoscopeOf(InfoOf(folder)) : std::nullopt;
    if (!endoscope) {
      LogWarning(folder.string(), ": nobody wrote down which endoscope this was: give --calibration");
      return std::nullopt;
    }
    const fs::path file = FindGeometry(folder, *endoscope);
    if (file.empty()) {
      LogWarning(folder.string(), ": there is no Calibrations/ of endoscope ", *endoscope,
                 ": give --calibration");
      return std::nullopt;
    }
    return LoadGeometry(file, width, height);
  }
};

}  // namespace

const Dataset& EndoMapper() {
  static const EndoMapperSet set;
  return set;
}

}  // namespace lumen
