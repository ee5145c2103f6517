#include "lumen/io/dataset_frames.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostDigits = 12;

std::optional<int64_t> NumberIn(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!StartsWith(name, prefix) || !EndsWith(name, suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.size() > kMostDigits || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return ParseInteger(digits);
}

std::vector<std::string> FieldsOf(std::string line) {
  for (char& c : line)
    if (c == ',' || c == ';') c = ' ';
  return SplitWords(line);
}

std::optional<std::vector<double>> NumbersIn(const std::vector<std::string>& words) {
  std::vector<double> numbers;
  for (const std::string& word : words) {
    const auto number = ParseDouble(word);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Trajectory AtFrames(const std::vector<Rigid3>& poses, double fps) {
  Trajectory trajectory;
  for (size_t i = 0; i < poses.size(); ++i) trajectory.push_back({static_cast<double>(i) / fps, poses[i]});
  return trajectory;
}

}  // namespace

std::map<int64_t, fs::path> FindNumbered(const fs::path& folder, std::string_view prefix,
                                         std::string_view suffix) {
  std::map<int64_t, fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto number = NumberIn(entry.path().filename().string(), prefix, suffix);
    if (!number) continue;
    const auto [place, fresh] = found.emplace(*number, entry.path());
    if (!fresh)
      throw InputError(folder, StrCat("holds frame ", *number, " twice: ", place->second.filename().string(),
                                      " and ", entry.path().filename().string()));
  }
  return found;
}

bool HasNumbered(const fs::path& folder, std::string_view prefix, std::string_view suffix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (NumberIn(entry.path().filename().string(), prefix, suffix)) return true;
  }
  return false;
}

std::vector<std::vector<double>> LoadNumberTable(const fs::path& path, const NumberTableOptions& options) {
  const std::string text = ReadFile(path, limits::kTextBytes);
  const std::vector<std::string> lines = Split(WithoutByteOrderMark(text), '\n');
  std::vector<std::vector<double>> rows;
  bool header = options.header;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string line = Trim(lines[i]);
    if (line.empty() || line[0] == '#') continue;
    if (std::exchange(header, false)) continue;
    const auto numbers = NumbersIn(FieldsOf(line));
    if (numbers && (options.columns == 0 || numbers->size() == options.columns)) {
      rows.push_back(*numbers);
      continue;
    }
    const bool is_last = i + 1 == lines.size() || (i + 2 == lines.size() && Trim(lines[i + 1]).empty());
    if (is_last && options.last_may_be_cut) break;
    throw InputError(
        path, numbers ? StrCat("line ", i + 1, ": ", numbers->size(), " numbers, not ", options.columns)
                      : StrCat("line ", i + 1, ": something that is no number"));
  }
  if (rows.empty()) throw InputError(path, "holds no numbers");
  return rows;
}

Camera LoadCameraMatrix(const fs::path& path, int width, int height) {
  std::vector<double> k;
  for (const std::vector<double>& row : LoadNumberTable(path, {})) k.insert(k.end(), row.begin(), row.end());
  if (k.size() != 9 || !(k[0] > 0) || !(k[4] > 0)) throw InputError(path, "is not a camera matrix");
  return {PinholeCamera{k[0], k[4], k[2], k[5]}, width, height};
}

Rigid3 RigidFromNumbers(const Eigen::Vector3d& position, const double* xyzw, const fs::path& path,
                        const std::string& what) {
  const Eigen::Quaterniond rotation(xyzw[3], xyzw[0], xyzw[1], xyzw[2]);
  if (!(std::abs(rotation.norm() - 1) < 1e-2)) throw InputError(path, what + " is not a unit quaternion");
  return {rotation.normalized(), position};
}

Rigid3 RigidFromRows(const double* rows, const fs::path& path, const std::string& what) {
  Eigen::Matrix3d rotation;
  Eigen::Vector3d translation;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x) rotation(y, x) = rows[4 * y + x];
    translation[y] = rows[4 * y + 3];
  }
  const bool rigid = rotation.allFinite() && IsPlace(translation) &&
                     (rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() < 1e-2 &&
                     rotation.determinant() > 0;
  if (!rigid) throw InputError(path, what + " is not a rigid transform");
  return {rotation, translation};
}

DatasetFrames::DatasetFrames(std::string name, const std::map<int64_t, fs::path>& pictures, double fps) {
  LUMEN_CHECK(!pictures.empty());
  std::vector<fs::path> files;
  first_number_ = pictures.begin()->first;
  int64_t expected = first_number_;
  for (const auto& [number, file] : pictures) {
    if (number != expected) throw InputError(file.parent_path(), StrCat("frame ", expected, " is missing"));
    files.push_back(file);
    ++expected;
  }
  info_.name = std::move(name);
  info_.fps = fps;
  info_.units = "mm";
  SetFiles(std::move(files), 0);
}

void DatasetFrames::SetDepth(std::map<int64_t, fs::path> files, ReadDepth read) {
  depth_ = std::move(files);
  read_depth_ = std::move(read);
}

void DatasetFrames::SetTruth(const std::vector<Rigid3>& world_from_camera, const fs::path& path,
                             bool last_may_miss) {
  const auto poses = static_cast<int64_t>(world_from_camera.size());
  if (poses != info_.frame_count && !(last_may_miss && poses + 1 == info_.frame_count))
    throw InputError(path, StrCat("holds ", poses, " poses, but there are ", info_.frame_count, " frames"));
  info_.truth = AtFrames(world_from_camera, info_.fps);
}

std::optional<DepthImage> DatasetFrames::LoadDepth(int64_t index) const {
  const auto file = depth_.find(first_number_ + index);
  if (file == depth_.end()) return std::nullopt;
  DepthImage depth = read_depth_(file->second);
  if (depth.Width() != info_.width || depth.Height() != info_.height)
    throw InputError(file->second, StrCat("is ", depth.Width(), "x", depth.Height(), ", the pictures are ",
                                          info_.width, "x", info_.height));
  return depth;
}

Trajectory AtFrames(const std::map<int64_t, Rigid3>& world_from_camera, double fps) {
  Trajectory trajectory;
  for (const auto& [frame, pose] : world_from_camera)
    trajectory.push_back({static_cast<double>(frame) / fps, pose});
  return trajectory;
}

UpperHalf::UpperHalf(std::unique_ptr<FrameSource> stacked, const fs::path& path)
    : DescribedSource(std::move(stacked)) {
  if (info_.height % 2 != 0 || info_.height < info_.width)
    throw InputError(
        path, StrCat("is ", info_.width, "x", info_.height, ": not two eyes' pictures, one above the other"));
  info_.height /= 2;
}

std::optional<RawFrame> UpperHalf::Next() {
  std::optional<RawFrame> frame = DescribedSource::Next();
  if (!frame) return std::nullopt;
  RgbImage left(info_.width, info_.height, 3);
  std::copy_n(frame->image.Data(), left.Size(), left.Data());
  frame->image = std::move(left);
  return frame;
}

void SetVideoTruth(SourceInfo& info, const std::vector<Rigid3>& world_from_camera, const fs::path& path) {
  const auto poses = static_cast<int64_t>(world_from_camera.size());
  if (info.frame_count >= 0 && std::abs(poses - info.frame_count) > kMiscounted)
    throw InputError(path,
                     StrCat("holds ", poses, " poses, but the video has ", info.frame_count, " frames"));
  info.truth = AtFrames(world_from_camera, info.fps);
}

}  // namespace lumen
