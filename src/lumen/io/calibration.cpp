#include "lumen/io/calibration.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/nesting.h"
#include "lumen/base/text.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {

namespace {

// Reads typed values of one table, with messages that name the file and the key.
class CameraTable {
 public:
  CameraTable(const TomlTable& table, const std::string& source) : table_(table), source_(source) {}

  [[noreturn]] void Fail(const std::string& reason) const { throw InputError(StrCat(source_, ": ", reason)); }

  const TomlValue& Get(const std::string& key) const {
    const auto found = table_.find("camera." + key);
    if (found == table_.end()) Fail(StrCat("camera.", key, " is missing"));
    return found->second;
  }
  double Number(const std::string& key) const {
    const TomlValue& value = Get(key);
    if (!value.IsNumber() || !std::isfinite(value.AsNumber()))
      Fail(StrCat("camera.", key, " must be a number"));
    return value.AsNumber();
  }
  double Positive(const std::string& key) const {
    const double number = Number(key);
    if (!(number > 0)) Fail(StrCat("camera.", key, " = ", FormatDouble(number), " must be positive"));
    return number;
  }
  int Size(const std::string& key) const {
    const double number = Positive(key);
    if (number != std::floor(number) || number > 32768)
      Fail(StrCat("camera.", key, " must be a whole number of pixels"));
    return static_cast<int>(number);
  }
  std::vector<double> Numbers(const std::string& key, size_t least, size_t most) const {
    const auto* array = std::get_if<TomlValue::Array>(&Get(key).value);
    if (array == nullptr || array->size() < least || array->size() > most) {
      Fail(StrCat("camera.", key, " must be an array of ", least, least == most ? "" : StrCat(" to ", most),
                  " numbers"));
    }
    std::vector<double> numbers;
    for (const TomlValue& value : *array) {
      if (!value.IsNumber() || !std::isfinite(value.AsNumber()))
        Fail(StrCat("camera.", key, " must hold numbers"));
      numbers.push_back(value.AsNumber());
    }
    return numbers;
  }
  std::string Text(const std::string& key) const {
    const auto* text = std::get_if<std::string>(&Get(key).value);
    if (text == nullptr) Fail(StrCat("camera.", key, " must be a string"));
    return *text;
  }
  bool Has(const std::string& key) const { return table_.contains("camera." + key); }

 private:
  const TomlTable& table_;
  const std::string& source_;
};

template <size_t N>
std::array<double, N> ToArray(const std::vector<double>& numbers) {
  std::array<double, N> array{};
  std::copy(numbers.begin(), numbers.end(), array.begin());
  return array;
}

Camera::Model ParseModel(const CameraTable& table) {
  const std::string model = table.Text("model");
  if (model == "omni") {
    return OmniCamera{
        table.Number("cx"), table.Number("cy"), ToArray<4>(table.Numbers("polynomial", 4, 4)),
        table.Has("affine") ? ToArray<3>(table.Numbers("affine", 3, 3)) : std::array<double, 3>{1, 0, 0}};
  }
  const PinholeCamera pinhole{table.Positive("fx"), table.Positive("fy"), table.Number("cx"),
                              table.Number("cy")};
  if (model == "pinhole") return pinhole;
  if (model == "radtan") return RadTanCamera{pinhole, ToArray<5>(table.Numbers("distortion", 4, 5))};
  if (model == "kannala_brandt")
    return KannalaBrandtCamera{pinhole, ToArray<4>(table.Numbers("distortion", 4, 4))};
  if (model == "unified") {
    const double alpha = table.Number("alpha");
    if (!(alpha >= 0 && alpha < 1)) table.Fail("camera.alpha must be at least 0 and less than 1");
    return UnifiedCamera{pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, alpha};
  }
  const auto nearest = NearestName(model, {"pinhole", "radtan", "kannala_brandt", "omni", "unified"});
  table.Fail(StrCat("camera.model = \"", model, "\" is unknown",
                    nearest ? StrCat(" (did you mean \"", *nearest, "\"?)") : ""));
}

std::string FormatArray(const double* begin, size_t count) {
  TomlValue::Array items;
  for (size_t i = 0; i < count; ++i) items.push_back({begin[i]});
  return FormatToml({items});
}

std::string FormatPinhole(const PinholeCamera& pinhole) {
  return StrCat("fx = ", FormatToml({pinhole.fx}), "\nfy = ", FormatToml({pinhole.fy}),
                "\ncx = ", FormatToml({pinhole.cx}), "\ncy = ", FormatToml({pinhole.cy}), "\n");
}
std::string FormatModel(const PinholeCamera& camera) { return FormatPinhole(camera); }
std::string FormatModel(const RadTanCamera& camera) {
  return StrCat(FormatPinhole(camera.pinhole), "distortion = ", FormatArray(camera.distortion.data(), 5),
                "\n");
}
std::string FormatModel(const KannalaBrandtCamera& camera) {
  return StrCat(FormatPinhole(camera.pinhole), "distortion = ", FormatArray(camera.distortion.data(), 4),
                "\n");
}
std::string FormatModel(const OmniCamera& camera) {
  return StrCat("cx = ", FormatToml({camera.cx}), "\ncy = ", FormatToml({camera.cy}),
                "\npolynomial = ", FormatArray(camera.polynomial.data(), 4),
                "\naffine = ", FormatArray(camera.affine.data(), 3), "\n");
}

std::string FormatModel(const UnifiedCamera& camera) {
  return StrCat(FormatPinhole({camera.fx, camera.fy, camera.cx, camera.cy}),
                "alpha = ", FormatToml({camera.alpha}), "\n");
}

}  // namespace

const std::vector<std::string>& CameraKeys() {
  static const std::vector<std::string> keys = {
      "camera.model", "camera.width",      "camera.height",     "camera.fx",     "camera.fy",   "camera.cx",
      "camera.cy",    "camera.distortion", "camera.polynomial", "camera.affine", "camera.alpha"};
  return keys;
}

Camera ParseCamera(const TomlTable& toml, const std::string& source) {
  const CameraTable table(toml, source);
  return {ParseModel(table), table.Size("width"), table.Size("height")};
}

std::string FormatCamera(const Camera& camera) {
  return StrCat("[camera]\nmodel = \"", camera.ModelName(), "\"\nwidth = ", camera.Width(),
                "\nheight = ", camera.Height(), "\n",
                std::visit([](const auto& model) { return FormatModel(model); }, camera.GetModel()));
}

Camera MakeColmapCamera(const std::string& model, int64_t width, int64_t height, const std::vector<double>& p,
                        const std::string& source) {
  const auto fail = [&](const std::string& what) { throw InputError(StrCat(source, ": ", what)); };
  const auto expect = [&](size_t count) {
    if (p.size() != count) fail(StrCat(model, " needs ", count, " parameters"));
    for (const double value : p) {
      if (!std::isfinite(value)) fail(StrCat(model, " has a parameter that is not finite"));
    }
  };
  // COLMAP's pixel centres lie at .5, ours at whole numbers.
  const auto one_focal = [&](size_t count) {
    expect(count);
    return PinholeCamera{p[0], p[0], p[1] - 0.5, p[2] - 0.5};
  };
  const auto two_focals = [&](size_t count) {
    expect(count);
    return PinholeCamera{p[0], p[1], p[2] - 0.5, p[3] - 0.5};
  };
  const auto make = [&]() -> Camera::Model {
    if (model == "SIMPLE_PINHOLE") return one_focal(3);
    if (model == "PINHOLE") return two_focals(4);
    if (model == "SIMPLE_RADIAL") return RadTanCamera{one_focal(4), {p[3]}};
    if (model == "RADIAL") return RadTanCamera{one_focal(5), {p[3], p[4]}};
    if (model == "OPENCV") return RadTanCamera{two_focals(8), {p[4], p[5], p[6], p[7]}};
    if (model == "OPENCV_FISHEYE") return KannalaBrandtCamera{two_focals(8), {p[4], p[5], p[6], p[7]}};
    throw InputError(StrCat(source, ": camera model ", model, " is not supported"));
  };
  const Camera::Model made = make();
  constexpr int64_t kMostPixels = 32768;
  if (width < 1 || height < 1 || width > kMostPixels || height > kMostPixels)
    fail(StrCat("a camera of ", width, "x", height, " pixels"));
  if (!(p[0] > 0) || (model != "SIMPLE_PINHOLE" && !EndsWith(model, "RADIAL") && !(p[1] > 0)))
    fail(StrCat(model, " has a focal length that is not positive"));
  return {made, static_cast<int>(width), static_cast<int>(height)};
}

Camera ParseColmapCameraLine(const std::vector<std::string>& words, const std::string& source) {
  if (words.size() < 5) throw InputError(StrCat(source, ": is not a camera of a COLMAP model"));
  const auto width = ParseInteger(words[2]);
  const auto height = ParseInteger(words[3]);
  if (!width || !height) throw InputError(StrCat(source, ": the camera's size is not a number of pixels"));
  std::vector<double> parameters;
  for (size_t i = 4; i < words.size(); ++i) {
    const auto number = ParseDouble(words[i]);
    if (!number) throw InputError(StrCat(source, ": \"", words[i], "\" is not a number"));
    parameters.push_back(*number);
  }
  return MakeColmapCamera(words[1], *width, *height, parameters, source);
}

Camera ParseColmapCamera(const std::string& text, const std::string& source) {
  for (const std::string& raw : Split(text, '\n')) {
    const std::string line = Trim(raw);
    if (!line.empty() && line[0] != '#') return ParseColmapCameraLine(SplitWords(line), source);
  }
  throw InputError(StrCat(source, ": holds no camera"));
}

Camera LoadCalibration(const std::filesystem::path& path) {
  const std::string text = ReadFile(path, limits::kTextBytes);
  if (Trim(text).empty()) throw InputError(path, "is empty");
  const std::string ending = ToLower(path.extension().string());
  if (ending == ".toml") return ParseCamera(ParseToml(text, path.string()), path.string());
  if (ending == ".txt") return ParseColmapCamera(text, path.string());
  RequireShallowMarkup(text, path.string());
  return LoadOpenCvCalibration(path);
}

}  // namespace lumen
