#include "lumen/io/calibration.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
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

Camera ParseColmapCamera(const std::string& text, const std::string& source) {
  for (const std::string& raw : Split(text, '\n')) {
    const std::string line = Trim(raw);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words = SplitWords(line);
    std::vector<double> p;
    for (size_t i = 2; i < words.size(); ++i) {
      const auto number = ParseDouble(words[i]);
      if (!number || !std::isfinite(*number))
        throw InputError(StrCat(source, ": \"", words[i], "\" is not a number"));
      p.push_back(*number);
    }
    const auto expect = [&](size_t count) {
      if (p.size() != count + 2)
        throw InputError(StrCat(source, ": ", words[1], " needs ", count, " parameters"));
    };
    if (words.size() < 5 || !(p[0] >= 1 && p[1] >= 1)) break;
    const auto make = [&](const Camera::Model& model) {
      return Camera(model, static_cast<int>(p[0]), static_cast<int>(p[1]));
    };
    const std::string& name = words[1];
    if (name == "SIMPLE_PINHOLE") return expect(3), make(PinholeCamera{p[2], p[2], p[3] - 0.5, p[4] - 0.5});
    if (name == "PINHOLE") return expect(4), make(PinholeCamera{p[2], p[3], p[4] - 0.5, p[5] - 0.5});
    if (name == "SIMPLE_RADIAL")
      return expect(4), make(RadTanCamera{{p[2], p[2], p[3] - 0.5, p[4] - 0.5}, {p[5]}});
    if (name == "RADIAL")
      return expect(5), make(RadTanCamera{{p[2], p[2], p[3] - 0.5, p[4] - 0.5}, {p[5], p[6]}});
    if (name == "OPENCV") {
      return expect(8), make(RadTanCamera{{p[2], p[3], p[4] - 0.5, p[5] - 0.5}, {p[6], p[7], p[8], p[9]}});
    }
    if (name == "OPENCV_FISHEYE") {
      return expect(8),
             make(KannalaBrandtCamera{{p[2], p[3], p[4] - 0.5, p[5] - 0.5}, {p[6], p[7], p[8], p[9]}});
    }
    throw InputError(StrCat(source, ": camera model ", name, " is not supported"));
  }
  throw InputError(StrCat(source, ": holds no camera"));
}

Camera LoadCalibration(const std::filesystem::path& path) {
  const std::string text = ReadFile(path);
  if (Trim(text).empty()) throw InputError(path, "is empty");
  const std::string ending = ToLower(path.extension().string());
  if (ending == ".toml") return ParseCamera(ParseToml(text, path.string()), path.string());
  if (ending == ".txt") return ParseColmapCamera(text, path.string());
  return LoadOpenCvCalibration(path);
}

}  // namespace lumen
