#include "lumen/train/curves.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 420;
constexpr double kMargin = 50;
constexpr const char* kColors[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                                   "#8c564b", "#e377c2", "#17becf", "#7f7f7f", "#bcbd22"};

struct Column {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x, log10 of the value
};

std::vector<Column> ReadColumns(const std::filesystem::path& csv) {
  std::vector<Column> columns;
  for (const std::string& line : Split(ReadFile(csv), '\n')) {
    const std::vector<std::string> cells = Split(line, ',');
    if (columns.empty()) {
      for (const std::string& name : cells) columns.push_back({name, {}});
      continue;
    }
    const auto x = ParseDouble(cells[0]);
    if (!x || cells.size() != columns.size()) continue;
    for (size_t i = 1; i < cells.size(); ++i) {
      const auto y = ParseDouble(cells[i]);
      if (y && *y > 0 && std::isfinite(*y)) columns[i].points.emplace_back(*x, std::log10(*y));
    }
  }
  return columns;
}

// A running mean, so that the course is seen through the noise.
void Smooth(Column& column) {
  double mean = 0;
  for (size_t i = 0; i < column.points.size(); ++i) {
    const double rate = std::max(0.1, 1.0 / static_cast<double>(i + 1));
    mean += rate * (column.points[i].second - mean);
    column.points[i].second = mean;
  }
}

}  // namespace

void SaveCurves(const std::filesystem::path& csv, const std::filesystem::path& svg) {
  std::vector<Column> columns = ReadColumns(csv);
  double x_high = 1;
  double low = 1e9;
  double high = -1e9;
  for (size_t i = 1; i < columns.size(); ++i) {
    Smooth(columns[i]);
    for (const auto& [x, y] : columns[i].points) {
      x_high = std::max(x_high, x);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  if (low >= high) {
    low = -1;
    high = 1;
  }
  const auto sx = [&](double x) { return kMargin + x / x_high * (kWidth - 4 * kMargin); };
  const auto sy = [&](double y) {
    return kHeight - kMargin - (y - low) / (high - low) * (kHeight - 2 * kMargin);
  };
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // a want of memory would only cut the text short
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
      << "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  for (double y = std::ceil(low); y <= high; ++y) {
    out << "<line x1=\"" << kMargin << "\" x2=\"" << kWidth - 3 * kMargin << "\" y1=\"" << sy(y) << "\" y2=\""
        << sy(y) << "\" stroke=\"#ddd\"/><text x=\"5\" y=\"" << sy(y) + 4 << "\">1e" << y << "</text>\n";
  }
  out << "<text x=\"" << kWidth / 2 << "\" y=\"" << kHeight - 10 << "\">"
      << (columns.empty() ? "" : columns[0].name) << " (0 to " << x_high << ")</text>\n";
  for (size_t i = 1; i < columns.size(); ++i) {
    if (columns[i].points.empty()) continue;
    const char* color = kColors[(i - 1) % std::size(kColors)];
    out << "<polyline fill=\"none\" stroke=\"" << color << "\" points=\"";
    for (const auto& [x, y] : columns[i].points) out << sx(x) << "," << sy(y) << " ";
    out << "\"/><text x=\"" << kWidth - 3 * kMargin + 8 << "\" y=\"" << kMargin + 16 * static_cast<double>(i)
        << "\" fill=\"" << color << "\">" << columns[i].name << "</text>\n";
  }
  out << "</svg>\n";
  WriteFileAtomically(svg, out.str());
}

}  // namespace lumen
