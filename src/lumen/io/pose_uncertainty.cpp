#include "lumen/io/pose_uncertainty.h"

#include <cmath>
#include <cstdio>
#include <numbers>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr const char* kColumns = "x,y,z,turn_x,turn_y,turn_z,scale";
constexpr size_t kNumbers = 7;

std::string FormatSigmas(const PoseSigma& sigma) {
  char text[400];
  std::snprintf(text, sizeof(text), "%.6f,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", sigma.time, sigma.position.x(),
                sigma.position.y(), sigma.position.z(), sigma.turn_degrees.x(), sigma.turn_degrees.y(),
                sigma.turn_degrees.z(), sigma.scale);
  std::string line = text;
  if (sigma.off_probability >= 0) {
    std::snprintf(text, sizeof(text), ",%.4g", sigma.off_probability);
    line += text;
  }
  return line + "\n";
}

// A table of so many times and the seven numbers after them, and maybe a probability.
std::vector<std::vector<double>> LoadTable(const std::filesystem::path& path, size_t times, size_t most) {
  std::vector<std::vector<double>> rows;
  int line_number = 0;
  for (const std::string& line : Split(ReadFile(path), '\n')) {
    const std::string trimmed = Trim(line);
    if (++line_number == 1 || trimmed.empty()) continue;
    std::vector<double> row;
    for (const std::string& cell : Split(trimmed, ',')) {
      const auto number = ParseDouble(cell);
      const bool is_time = row.size() < times;
      if (!number || !std::isfinite(*number) || (!is_time && *number < 0))
        throw InputError(path, StrCat("line ", line_number, ": not a ",
                                      is_time ? "time" : "standard deviation", ": ", Printable(cell)));
      row.push_back(*number);
    }
    if (row.size() < times + kNumbers || row.size() > most)
      throw InputError(path, StrCat("line ", line_number, ": expected ", times + kNumbers, " numbers"));
    if (row.size() > times + kNumbers && row.back() > 1)
      throw InputError(path, StrCat("line ", line_number, ": not a probability: ", row.back()));
    rows.push_back(std::move(row));
  }
  return rows;
}

PoseSigma SigmaAt(const std::vector<double>& row, size_t time) {
  return {row[time],
          {row[time + 1], row[time + 2], row[time + 3]},
          {row[time + 4], row[time + 5], row[time + 6]},
          row[time + 7],
          row.size() > time + 8 ? row[time + 8] : -1};
}

}  // namespace

PoseSigma MakePoseSigma(double time, const PlaceCovariance& covariance) {
  const Eigen::Matrix<double, 7, 1> sigma = covariance.diagonal().cwiseMax(0).cwiseSqrt();
  return {time, sigma.head<3>(), sigma.segment<3>(3) * (180 / std::numbers::pi), sigma[6], -1};
}

void SavePoseSigmas(const std::filesystem::path& path, const std::vector<PoseSigma>& sigmas) {
  const bool off = !sigmas.empty() && sigmas.front().off_probability >= 0;
  std::string text = StrCat("time,", kColumns, off ? ",off" : "", "\n");
  for (const PoseSigma& sigma : sigmas) text += FormatSigmas(sigma);
  WriteFileAtomically(path, text);
}

void SaveStepSigmas(const std::filesystem::path& path, const std::vector<StepSigma>& sigmas) {
  std::string text = StrCat("from,to,", kColumns, "\n");
  for (const StepSigma& step : sigmas) {
    char from[40];
    std::snprintf(from, sizeof(from), "%.6f,", step.from);
    text += from + FormatSigmas(step.sigma);
  }
  WriteFileAtomically(path, text);
}

std::vector<PoseSigma> LoadPoseSigmas(const std::filesystem::path& path) {
  std::vector<PoseSigma> sigmas;
  for (const std::vector<double>& row : LoadTable(path, 1, kNumbers + 2)) sigmas.push_back(SigmaAt(row, 0));
  return sigmas;
}

std::vector<StepSigma> LoadStepSigmas(const std::filesystem::path& path) {
  std::vector<StepSigma> sigmas;
  for (const std::vector<double>& row : LoadTable(path, 2, kNumbers + 2))
    sigmas.push_back({row[0], SigmaAt(row, 1)});
  return sigmas;
}

}  // namespace lumen
