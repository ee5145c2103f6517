#include "lumen/io/trajectory_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

struct Line {
  int number = 0;
  std::vector<std::string> words;
};

// Lines that are neither empty nor comments.
std::vector<Line> ReadLines(const std::string& text) {
  std::vector<Line> lines;
  int number = 0;
  for (const std::string& raw : Split(WithoutByteOrderMark(text), '\n')) {
    ++number;
    const std::string line = Trim(raw);
    if (!line.empty() && line[0] != '#') lines.push_back({number, SplitWords(line)});
  }
  return lines;
}

[[noreturn]] void Fail(const std::filesystem::path& path, const Line& line, const std::string& reason) {
  throw InputError(path, StrCat("line ", line.number, ": ", reason));
}

std::vector<double> ParseNumbers(const std::filesystem::path& path, const Line& line, size_t first,
                                 size_t count) {
  std::vector<double> numbers;
  for (size_t i = first; i < first + count; ++i) {
    const auto number = ParseDouble(line.words[i]);
    if (!number) Fail(path, line, StrCat("\"", line.words[i], "\" is not a number"));
    if (!std::isfinite(*number)) Fail(path, line, "holds a number that is not finite");
    numbers.push_back(*number);
  }
  return numbers;
}

Eigen::Quaterniond ParseUnitQuaternion(const std::filesystem::path& path, const Line& line, double w,
                                       double x, double y, double z) {
  const Eigen::Quaterniond q(w, x, y, z);
  if (std::abs(q.norm() - 1) > 1e-3)
    Fail(path, line, StrCat("the quaternion's length is ", q.norm(), ", not 1"));
  return q;
}

Rigid3 MakePose(const std::filesystem::path& path, const Line& line, const auto& rotation,
                const Eigen::Vector3d& position) {
  if (!IsPlace(position)) Fail(path, line, "lies beyond all numbers");
  return Rigid3(rotation, position);
}

TimedPose ParseTum(const std::filesystem::path& path, const Line& line) {
  const std::vector<double> n = ParseNumbers(path, line, 0, 8);
  return {n[0],
          MakePose(path, line, ParseUnitQuaternion(path, line, n[7], n[4], n[5], n[6]), {n[1], n[2], n[3]})};
}

TimedPose ParseKitti(const std::filesystem::path& path, const Line& line, double time) {
  const std::vector<double> n = ParseNumbers(path, line, 0, 12);
  Eigen::Matrix3d rotation;
  rotation << n[0], n[1], n[2], n[4], n[5], n[6], n[8], n[9], n[10];
  // Asked this way round, what is no number fails, too.
  if (!((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() <= 1e-3) ||
      !(rotation.determinant() > 0)) {
    Fail(path, line, "the matrix is not a rotation");
  }
  return {time, MakePose(path, line, rotation, {n[3], n[7], n[11]})};
}

// "ID qw qx qy qz tx ty tz CAMERA NAME", each followed by a line of points that may be empty.
Trajectory ParseColmap(const std::filesystem::path& path, const std::string& text, double fps) {
  std::vector<std::pair<std::string, Rigid3>> images;
  int number = 0;
  bool points_line = false;
  for (const std::string& raw : Split(text, '\n')) {
    ++number;
    const std::string trimmed = Trim(raw);
    if (!trimmed.empty() && trimmed[0] == '#') continue;
    if (points_line) {
      points_line = false;
      continue;
    }
    if (trimmed.empty()) continue;
    const Line line{number, SplitWords(trimmed)};
    if (line.words.size() < 10) Fail(path, line, "is not an image of a COLMAP model");
    const std::vector<double> n = ParseNumbers(path, line, 1, 7);
    const Rigid3 camera_from_world =
        MakePose(path, line, ParseUnitQuaternion(path, line, n[0], n[1], n[2], n[3]), {n[4], n[5], n[6]});
    images.emplace_back(line.words[9], camera_from_world.Inverse());
    points_line = true;
  }
  std::sort(images.begin(), images.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Trajectory trajectory;
  for (size_t i = 0; i < images.size(); ++i) {
    // The number in the name is the frame's, where there is one.
    const auto frame = ParseInteger(std::filesystem::path(images[i].first).stem().string());
    trajectory.push_back(
        {static_cast<double>(frame.value_or(static_cast<long long>(i))) / fps, images[i].second});
  }
  // Names come in the order of letters: 10.png before 9.png.
  std::stable_sort(trajectory.begin(), trajectory.end(),
                   [](const TimedPose& a, const TimedPose& b) { return a.time < b.time; });
  return trajectory;
}

}  // namespace

Trajectory LoadTrajectory(const std::filesystem::path& path, double fps) {
  return ParseTrajectory(ReadFile(path), path, fps);
}

bool HoldsPoses(const std::string& text) { return !ReadLines(text).empty(); }

Trajectory ParseTrajectory(const std::string& text, const std::filesystem::path& path, double fps) {
  const std::vector<Line> lines = ReadLines(text);
  if (lines.empty()) throw InputError(path, "holds no poses");
  const size_t columns = lines.front().words.size();
  if (columns == 10) return ParseColmap(path, text, fps);
  if (columns != 8 && columns != 12)
    Fail(path, lines.front(), StrCat(columns, " columns: neither TUM (8) nor KITTI (12)"));
  Trajectory trajectory;
  for (const Line& line : lines) {
    if (line.words.size() != columns) Fail(path, line, StrCat(line.words.size(), " columns, not ", columns));
    trajectory.push_back(columns == 8 ? ParseTum(path, line)
                                      : ParseKitti(path, line, static_cast<double>(trajectory.size()) / fps));
    if (trajectory.size() > 1 && trajectory.back().time < trajectory[trajectory.size() - 2].time) {
      Fail(path, line, "time goes backwards");
    }
  }
  return trajectory;
}

std::string FormatTumLine(const TimedPose& pose) {
  const Eigen::Vector3d& t = pose.world_from_camera.Translation();
  const Eigen::Quaterniond& q = pose.world_from_camera.Rotation();
  char line[512];  // times as large as they may be
  std::snprintf(line, sizeof(line), "%.9f %.9g %.9g %.9g %.12g %.12g %.12g %.12g\n", pose.time, t.x(), t.y(),
                t.z(), q.x(), q.y(), q.z(), q.w());
  return line;
}

void SaveTrajectory(const std::filesystem::path& path, const Trajectory& trajectory,
                    const std::string& comment) {
  std::string text = "# timestamp tx ty tz qx qy qz qw\n";
  if (!comment.empty()) text += "# " + comment + "\n";
  for (const TimedPose& pose : trajectory) text += FormatTumLine(pose);
  WriteFileAtomically(path, text);
}

void SaveTrajectoryKitti(const std::filesystem::path& path, const Trajectory& trajectory) {
  std::string text;
  for (const TimedPose& pose : trajectory) {
    const Eigen::Matrix4d m = pose.world_from_camera.Matrix();
    char line[512];
    std::snprintf(line, sizeof(line),
                  "%.12g %.12g %.12g %.9g %.12g %.12g %.12g %.9g %.12g %.12g %.12g %.9g\n", m(0, 0), m(0, 1),
                  m(0, 2), m(0, 3), m(1, 0), m(1, 1), m(1, 2), m(1, 3), m(2, 0), m(2, 1), m(2, 2), m(2, 3));
    text += line;
  }
  WriteFileAtomically(path, text);
}

void SaveTrajectoryColmap(const std::filesystem::path& folder, const Trajectory& trajectory,
                          const Camera& camera) {
  const auto unified = camera.AsUnified();
  LUMEN_CHECK(unified, "a COLMAP export is of the view");
  MakeDirectories(folder);
  // COLMAP has no unified camera; its fisheye fits one to a thousandth of a pixel.
  std::string described = StrCat("1 ", unified->IsPinhole() ? "PINHOLE " : "OPENCV_FISHEYE ", camera.Width(),
                                 " ", camera.Height());
  std::vector<double> numbers = {unified->fx, unified->fy, unified->cx + 0.5, unified->cy + 0.5};
  if (!unified->IsPinhole()) {
    const auto distortion = FitKannalaBrandt(*unified).distortion;
    numbers.insert(numbers.end(), distortion.begin(), distortion.end());
  }
  for (const double number : numbers) described += StrCat(" ", FormatDouble(number));
  WriteFileAtomically(folder / "cameras.txt", described + "\n");
  std::string text;
  for (size_t i = 0; i < trajectory.size(); ++i) {
    const Rigid3 camera_from_world = trajectory[i].world_from_camera.Inverse();
    const Eigen::Quaterniond& q = camera_from_world.Rotation();
    const Eigen::Vector3d& t = camera_from_world.Translation();
    char line[320];
    std::snprintf(line, sizeof(line), "%zu %.12g %.12g %.12g %.12g %.9g %.9g %.9g 1 %06zu.png\n\n", i + 1,
                  q.w(), q.x(), q.y(), q.z(), t.x(), t.y(), t.z(), i);
    text += line;
  }
  WriteFileAtomically(folder / "images.txt", text);
  WriteFileAtomically(folder / "points3D.txt", "");
}

void SaveMatrix(const std::filesystem::path& path, const Eigen::Matrix4d& matrix) {
  std::string text;
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) text += FormatDouble(matrix(r, c)) + (c == 3 ? "\n" : " ");
  WriteFileAtomically(path, text);
}

}  // namespace lumen
