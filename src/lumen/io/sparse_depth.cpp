#include "lumen/io/sparse_depth.h"

#include <cmath>
#include <cstdio>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {

SparseDepth LoadSparseDepth(const std::filesystem::path& path) {
  constexpr size_t kLeastColumns = 4, kAllColumns = 6;
  constexpr double kLongestTrack = 1e9;
  SparseDepth depth;
  int line_number = 0;
  for (const std::string& line : Split(ReadFile(path), '\n')) {
    const std::string trimmed = Trim(line);
    if (++line_number == 1 || trimmed.empty()) continue;
    const auto fail = [&](const std::string& what) {
      throw InputError(path, StrCat("line ", line_number, ": ", what));
    };
    const std::vector<std::string> cells = Split(trimmed, ',');
    if (cells.size() != kLeastColumns && cells.size() != kAllColumns)
      fail("expected frame,u,v,depth or frame,u,v,depth,track_length,error");
    const auto frame = ParseInteger(cells[0]);
    double numbers[kAllColumns] = {};
    for (size_t i = 1; i < cells.size(); ++i) {
      const auto number = ParseDouble(cells[i]);
      if (!number || !std::isfinite(*number)) fail("not a number: " + cells[i]);
      numbers[i] = *number;
    }
    if (!frame || *frame < 0) fail("not a frame's number: " + cells[0]);
    if (!(numbers[4] >= 0 && numbers[4] <= kLongestTrack)) fail("not a track's length: " + cells[4]);
    if (!(numbers[3] > 0)) continue;
    depth[*frame].push_back({{numbers[1], numbers[2]}, numbers[3], static_cast<int>(numbers[4]), numbers[5]});
  }
  return depth;
}

void SaveSparseDepth(const std::filesystem::path& path, const SparseDepth& depth) {
  std::string text = "frame,u,v,depth,track_length,error\n";
  for (const auto& [frame, points] : depth) {
    for (const SparsePoint& point : points) {
      char line[800];  // numbers as large as they may be
      std::snprintf(line, sizeof(line), "%lld,%.4f,%.4f,%.9g,%d,%.4g\n", static_cast<long long>(frame),
                    point.uv.x(), point.uv.y(), point.depth, point.track_length, point.error);
      text += line;
    }
  }
  WriteFileAtomically(path, text);
}

}  // namespace lumen
