#include "lumen/io/colmap_model.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/image/image.h"
#include "lumen/io/calibration.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct Point {
  Eigen::Vector3d place;
  double error = 0;
  int track_length = 0;
};

struct Observation {
  Eigen::Vector2d pixel;  // COLMAP's
  uint64_t point = 0;
};

struct PlacedImage {
  std::string name;
  uint64_t camera = 0;
  Rigid3 camera_from_world;
  std::vector<Observation> observations;
};

// What both kinds of files hold.
struct ModelFiles {
  std::map<uint64_t, Camera> cameras;
  std::unordered_map<uint64_t, Point> points;
  std::vector<PlacedImage> images;
};

Rigid3 MakePose(const fs::path& path, const std::string& where, const double* q, const double* t) {
  const Eigen::Quaterniond rotation(q[0], q[1], q[2], q[3]);
  const Eigen::Vector3d translation(t[0], t[1], t[2]);
  if (!(std::abs(rotation.norm() - 1) < 1e-3) || !IsPlace(translation))
    throw InputError(path, StrCat(where, ": is not a rotation and a place"));
  return {rotation.normalized(), translation};
}

// --- text ---

// Lines with their words, comments left out; empty lines stay, since an image without points has one.
class TextLines {
 public:
  explicit TextLines(const fs::path& path) : path_(path), text_(WithoutByteOrderMark(ReadFile(path))) {}

  bool Next(bool empty_too = false) {
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      line_ = Trim(std::string_view(text_).substr(at_, end - at_));
      at_ = end + 1;
      ++number_;
      if (!line_.empty() && line_[0] == '#') continue;
      if (line_.empty() && !empty_too) continue;
      words_ = SplitWords(line_);
      return true;
    }
    return false;
  }
  const std::string& Line() const { return line_; }
  size_t Size() const { return words_.size(); }
  const std::vector<std::string>& Words() const { return words_; }
  std::string Where() const { return StrCat("line ", number_); }
  [[noreturn]] void Fail(const std::string& reason) const {
    throw InputError(path_, StrCat(Where(), ": ", reason));
  }
  double Number(size_t i) const {
    const auto number = ParseDouble(words_[i]);
    if (!number || !std::isfinite(*number)) Fail(StrCat("\"", words_[i], "\" is not a number"));
    return *number;
  }
  long long Integer(size_t i) const {
    const auto number = ParseInteger(words_[i]);
    if (!number) Fail(StrCat("\"", words_[i], "\" is not a whole number"));
    return *number;
  }

 private:
  fs::path path_;
  std::string text_, line_;
  std::vector<std::string> words_;
  size_t at_ = 0;
  int number_ = 0;
};

void ReadTextCameras(const fs::path& path, ModelFiles& files) {
  for (TextLines lines(path); lines.Next();) {
    const Camera camera = ParseColmapCameraLine(lines.Words(), StrCat(path.string(), ": ", lines.Where()));
    files.cameras.emplace(static_cast<uint64_t>(lines.Integer(0)), camera);
  }
}

// "ID X Y Z R G B ERROR" and pairs of image and index.
void ReadTextPoints(const fs::path& path, ModelFiles& files) {
  constexpr size_t kBeforeTrack = 8;
  for (TextLines lines(path); lines.Next();) {
    if (lines.Size() < kBeforeTrack) lines.Fail("is not a point of a COLMAP model");
    files.points[static_cast<uint64_t>(lines.Integer(0))] = {
        {lines.Number(1), lines.Number(2), lines.Number(3)},
        lines.Number(7),
        static_cast<int>((lines.Size() - kBeforeTrack) / 2)};
  }
}

// "ID QW QX QY QZ TX TY TZ CAMERA NAME", where the name may hold blanks, then a line of "X Y POINT" triples.
void ReadTextImages(const fs::path& path, ModelFiles& files) {
  TextLines lines(path);
  while (lines.Next()) {
    if (lines.Size() < 10) lines.Fail("is not an image of a COLMAP model");
    double numbers[7];
    for (size_t i = 0; i < 7; ++i) numbers[i] = lines.Number(i + 1);
    PlacedImage image;
    image.camera_from_world = MakePose(path, lines.Where(), numbers, numbers + 4);
    image.camera = static_cast<uint64_t>(lines.Integer(8));
    size_t at = 0;
    for (int word = 0; word < 9; ++word) {
      constexpr const char* kBlanks = " \t\r\v\f";  // what SplitWords cuts at
      at = lines.Line().find_first_not_of(kBlanks, at);
      at = lines.Line().find_first_of(kBlanks, at);
    }
    image.name = Trim(std::string_view(lines.Line()).substr(at));
    if (lines.Next(true)) {
      if (lines.Size() % 3 != 0) lines.Fail("is not a list of X, Y and point");
      for (size_t i = 0; i < lines.Size(); i += 3) {
        const long long point = lines.Integer(i + 2);
        if (point >= 0)
          image.observations.push_back(
              {{lines.Number(i), lines.Number(i + 1)}, static_cast<uint64_t>(point)});
      }
    }
    files.images.push_back(std::move(image));
  }
}

// --- binary, little-endian ---

class Bytes {
 public:
  explicit Bytes(const fs::path& path) : path_(path), bytes_(ReadFile(path)) {}

  template <typename T>
  T Take() {
    T value;
    std::memcpy(&value, Pass(sizeof(T)), sizeof(T));
    return value;
  }
  template <typename T>
  void TakeAll(T* values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = Take<T>();
  }
  std::string TakeText() {
    const size_t end = bytes_.find('\0', at_);
    if (end == std::string::npos) Fail("is cut short");
    const std::string text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }
  // A number of things of at least that many bytes each, which the rest of the file must have room for.
  uint64_t TakeCount(size_t least_bytes) {
    const auto count = Take<uint64_t>();
    if (count > (bytes_.size() - at_) / least_bytes) Fail("is cut short");
    return count;
  }
  void Skip(size_t count) { Pass(count); }
  const fs::path& Path() const { return path_; }
  std::string Where() const { return StrCat("byte ", at_); }
  [[noreturn]] void Fail(const std::string& reason) const { throw InputError(path_, reason); }

 private:
  const char* Pass(size_t count) {
    if (count > bytes_.size() - at_) Fail("is cut short");
    const char* here = bytes_.data() + at_;
    at_ += count;
    return here;
  }

  fs::path path_;
  std::string bytes_;
  size_t at_ = 0;
};

struct BinaryModel {
  const char* name;
  size_t parameters;
};
// By number.
constexpr BinaryModel kBinaryModels[] = {{"SIMPLE_PINHOLE", 3},
                                         {"PINHOLE", 4},
                                         {"SIMPLE_RADIAL", 4},
                                         {"RADIAL", 5},
                                         {"OPENCV", 8},
                                         {"OPENCV_FISHEYE", 8},
                                         {"FULL_OPENCV", 12},
                                         {"FOV", 5},
                                         {"SIMPLE_RADIAL_FISHEYE", 4},
                                         {"RADIAL_FISHEYE", 5},
                                         {"THIN_PRISM_FISHEYE", 12}};

void ReadBinaryCameras(const fs::path& path, ModelFiles& files) {
  Bytes bytes(path);
  const uint64_t count = bytes.TakeCount(24);
  for (uint64_t i = 0; i < count; ++i) {
    const auto id = bytes.Take<uint32_t>();
    const auto model = bytes.Take<int32_t>();
    if (model < 0 || model >= static_cast<int32_t>(std::size(kBinaryModels)))
      bytes.Fail(StrCat("camera model number ", model, " is not supported"));
    const auto width = bytes.Take<uint64_t>();
    const auto height = bytes.Take<uint64_t>();
    std::vector<double> parameters(kBinaryModels[model].parameters);
    bytes.TakeAll(parameters.data(), parameters.size());
    constexpr uint64_t kMost = 1U << 20U;
    files.cameras.emplace(
        id, MakeColmapCamera(kBinaryModels[model].name, static_cast<int64_t>(std::min(width, kMost)),
                             static_cast<int64_t>(std::min(height, kMost)), parameters, path.string()));
  }
}

void ReadBinaryPoints(const fs::path& path, ModelFiles& files) {
  Bytes bytes(path);
  const uint64_t count = bytes.TakeCount(51);
  for (uint64_t i = 0; i < count; ++i) {
    const auto id = bytes.Take<uint64_t>();
    Point point;
    bytes.TakeAll(point.place.data(), 3);
    bytes.Skip(3);  // colour
    point.error = bytes.Take<double>();
    if (!point.place.allFinite() || !std::isfinite(point.error))
      bytes.Fail(StrCat(bytes.Where(), ": a point that is not finite"));
    const uint64_t track = bytes.TakeCount(8);
    point.track_length = static_cast<int>(std::min<uint64_t>(track, 1U << 30U));
    bytes.Skip(8 * track);
    files.points[id] = point;
  }
}

void ReadBinaryImages(const fs::path& path, ModelFiles& files) {
  Bytes bytes(path);
  const uint64_t count = bytes.TakeCount(73);
  for (uint64_t i = 0; i < count; ++i) {
    PlacedImage image;
    bytes.Skip(4);  // number
    double numbers[7];
    bytes.TakeAll(numbers, 7);
    image.camera_from_world = MakePose(path, bytes.Where(), numbers, numbers + 4);
    image.camera = bytes.Take<uint32_t>();
    image.name = bytes.TakeText();
    const uint64_t observations = bytes.TakeCount(24);
    for (uint64_t k = 0; k < observations; ++k) {
      Observation seen;
      bytes.TakeAll(seen.pixel.data(), 2);
      seen.point = bytes.Take<uint64_t>();
      constexpr uint64_t kNone = ~uint64_t{0};
      if (seen.point == kNone) continue;
      if (!seen.pixel.allFinite()) bytes.Fail(StrCat(bytes.Where(), ": a pixel that is not finite"));
      image.observations.push_back(seen);
    }
    files.images.push_back(std::move(image));
  }
}

// --- both ---

bool HoldsModel(const fs::path& folder) {
  return fs::is_regular_file(folder / "images.bin") || fs::is_regular_file(folder / "images.txt");
}

ModelFiles ReadFiles(const fs::path& folder) {
  ModelFiles files;
  // COLMAP writes all three of a kind; where both kinds lie, the binary one is what it reads itself.
  if (fs::is_regular_file(folder / "images.bin")) {
    ReadBinaryCameras(folder / "cameras.bin", files);
    ReadBinaryPoints(folder / "points3D.bin", files);
    ReadBinaryImages(folder / "images.bin", files);
  } else {
    ReadTextCameras(folder / "cameras.txt", files);
    ReadTextPoints(folder / "points3D.txt", files);
    ReadTextImages(folder / "images.txt", files);
  }
  if (files.images.empty()) throw InputError(folder, "the model holds no image");
  return files;
}

Camera CommonCamera(const ModelFiles& files, const fs::path& folder) {
  std::optional<Camera> common;
  for (const PlacedImage& image : files.images) {
    const auto found = files.cameras.find(image.camera);
    if (found == files.cameras.end())
      throw InputError(folder, StrCat(image.name, " is of camera ", image.camera, ", which is not there"));
    if (common && !(*common == found->second))
      throw InputError(folder,
                       "its images have different cameras: COLMAP must be told that there is one "
                       "(--ImageReader.single_camera 1)");
    common = found->second;
  }
  return *common;
}

std::vector<SparsePoint> PointsOf(const PlacedImage& image, const ModelFiles& files) {
  constexpr double kNearest = 1e-9;
  std::vector<SparsePoint> points;
  for (const Observation& seen : image.observations) {
    const auto found = files.points.find(seen.point);
    if (found == files.points.end()) continue;
    const double depth = (image.camera_from_world * found->second.place).z();
    if (!(depth > kNearest)) continue;
    points.push_back({{seen.pixel.x() - 0.5, seen.pixel.y() - 0.5},
                      depth,
                      found->second.track_length,
                      found->second.error});
  }
  return points;
}

ColmapModel MakeModel(const fs::path& folder, const ModelFiles& files) {
  ColmapModel model{folder, CommonCamera(files, folder), {}};
  size_t seen = 0;
  for (const PlacedImage& image : files.images) {
    model.views.push_back({image.name, image.camera_from_world.Inverse(), PointsOf(image, files)});
    seen += model.views.back().points.size();
  }
  if (seen == 0)
    throw InputError(folder, files.points.empty()
                                 ? "the model holds no points"
                                 : "no point of the model lies before a camera that sees it");
  return model;
}

std::vector<fs::path> ListSubmodels(const fs::path& folder) {
  std::vector<fs::path> found;
  for (int i = 0; HoldsModel(folder / std::to_string(i)); ++i) found.push_back(folder / std::to_string(i));
  return found;
}

}  // namespace

ColmapModel LoadColmapModel(const fs::path& folder, int submodel) {
  if (!fs::is_directory(folder)) throw InputError(folder, "no such folder");
  if (submodel < 0 && HoldsModel(folder)) return MakeModel(folder, ReadFiles(folder));
  const std::vector<fs::path> submodels = ListSubmodels(folder);
  if (submodels.empty())
    throw InputError(folder, "holds no COLMAP model (images.txt or images.bin, here or in folders 0, 1, …)");
  if (submodel >= static_cast<int>(submodels.size()))
    throw InputError(folder, StrCat("holds ", submodels.size(), " submodels: there is no ", submodel));
  if (submodel >= 0) {
    const fs::path& chosen = submodels[static_cast<size_t>(submodel)];
    return MakeModel(chosen, ReadFiles(chosen));
  }
  std::optional<ModelFiles> largest;
  fs::path where;
  for (const fs::path& path : submodels) {
    ModelFiles files = ReadFiles(path);
    if (largest && files.images.size() <= largest->images.size()) continue;
    largest = std::move(files);
    where = path;
  }
  return MakeModel(where, *largest);
}

DepthImage LoadColmapDepthMap(const fs::path& path) {
  const std::string bytes = ReadFile(path);
  // "WIDTH&HEIGHT&CHANNELS&", then floats row by row.
  long long sizes[3] = {};
  size_t at = 0;
  for (long long& size : sizes) {
    const size_t end = bytes.find('&', at);
    const auto number =
        end == std::string::npos || end - at > 9 ? std::nullopt : ParseInteger(bytes.substr(at, end - at));
    if (!number || *number < 1 || *number > 32768) throw InputError(path, "is not a depth map of COLMAP's");
    size = *number;
    at = end + 1;
  }
  const auto count = static_cast<size_t>(sizes[0]) * static_cast<size_t>(sizes[1]);
  if (sizes[2] != 1) throw InputError(path, "is not a depth map of COLMAP's");
  if (bytes.size() - at != count * sizeof(float))
    throw InputError(path, StrCat("holds ", bytes.size() - at, " bytes, not ", count * sizeof(float)));
  DepthImage depth(static_cast<int>(sizes[0]), static_cast<int>(sizes[1]));
  std::memcpy(depth.Data(), bytes.data() + at, count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    float& value = depth.Data()[i];
    if (!std::isfinite(value) || value < 0) value = 0;
  }
  return depth;
}

}  // namespace lumen
