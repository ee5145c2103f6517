#include "lumen/io/targets_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"
#include "lumen/base/text.h"

namespace lumen {

using Eigen::Vector3d;

namespace {

constexpr uint64_t kMostTargetBytes = 16 << 20;
constexpr size_t kLongestTargetName = 120;
constexpr double kFarthestTarget = 1e5;  // mm: no patient is that tall

class TargetList {
 public:
  explicit TargetList(const std::filesystem::path& path) : path_(path) {}

  // `where`: "line 3".
  void Add(const std::string& name, const Vector3d& place, bool ras, const std::string& where) {
    if (!place.allFinite() || place.cwiseAbs().maxCoeff() > kFarthestTarget)
      throw InputError(path_, where + ": not a place in mm");
    if (targets_.size() >= kMostTargets)
      throw InputError(path_, StrCat(where, ": more than ", kMostTargets, " targets"));
    const std::string shown = Printable(ToValidUtf8(Trim(name)));
    if (shown.size() > kLongestTargetName)
      throw InputError(path_, StrCat(where, ": a name of more than ", kLongestTargetName, " letters"));
    targets_.push_back({shown.empty() ? StrCat("target ", targets_.size() + 1) : shown,
                        ras ? Vector3d(-place.x(), -place.y(), place.z()) : place});
  }
  std::vector<Target> Take() {
    if (targets_.empty()) throw InputError(path_, "holds no targets");
    return std::move(targets_);
  }

 private:
  const std::filesystem::path& path_;
  std::vector<Target> targets_;
};

// At commas; what stands in quotes stays together.
std::vector<std::string> CutCells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  for (std::string& cell : cells) cell = Trim(cell);
  return cells;
}

std::optional<Vector3d> PlaceAt(const std::vector<std::string>& cells, size_t first) {
  Vector3d place;
  for (size_t i = 0; i < 3; ++i) {
    const auto number = first + i < cells.size() ? ParseDouble(cells[first + i]) : std::nullopt;
    if (!number) return std::nullopt;
    place[static_cast<Eigen::Index>(i)] = *number;
  }
  return place;
}

bool HasWord(std::string_view text, std::string_view wanted) {
  std::string word;
  for (const char c : StrCat(text, " ")) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (word == wanted) return true;
    word.clear();
  }
  return false;
}

// Where a table's columns are.
struct TargetColumns {
  size_t place = 1, name = 0, least = 4;
  bool ras = false;
};

// What a comment says of the axes; fcsv says "CoordinateSystem = 0" for RAS as well.
void ReadTargetComment(const std::string& line, TargetColumns& columns) {
  if (HasWord(line, "ras") || (HasWord(line, "coordinatesystem") && HasWord(line, "0"))) columns.ras = true;
  if (HasWord(line, "lps") || (HasWord(line, "coordinatesystem") && HasWord(line, "1"))) columns.ras = false;
}

std::vector<Target> ParseTargetTable(const std::string& text, TargetColumns columns,
                                     const std::filesystem::path& path) {
  TargetList list(path);
  int line_number = 0;
  bool first = true;
  for (const std::string& raw : Split(WithoutByteOrderMark(text), '\n')) {
    ++line_number;
    const std::string line = Trim(raw);
    if (line.empty()) continue;
    if (line.front() == '#') {
      ReadTargetComment(line, columns);
      continue;
    }
    const std::vector<std::string> cells = CutCells(line);
    const auto place = PlaceAt(cells, columns.place);
    const bool head = std::exchange(first, false) && !place && cells.size() == columns.least &&
                      std::none_of(cells.begin(), cells.end(),
                                   [](const std::string& cell) { return ParseDouble(cell).has_value(); });
    if (head) {
      const std::string axes = ToLower(StrCat(cells[1], cells[2], cells[3]));
      columns.ras |= axes == "ras";
      continue;
    }
    if (!place || cells.size() < columns.least)
      throw InputError(
          path, StrCat("line ", line_number, ": expected name,x,y,z: ", Printable(line.substr(0, 60))));
    list.Add(columns.name < cells.size() ? cells[columns.name] : std::string(), *place, columns.ras,
             StrCat("line ", line_number));
  }
  return list.Take();
}

std::string MarkupText(const Json* json) {
  return json != nullptr && json->IsString() ? json->AsString() : "";
}

void AddMarkup(const Json& markup, const std::string& where, const std::filesystem::path& path,
               TargetList& list) {
  const Json* points = markup.Find("controlPoints");
  if (points == nullptr || !points->IsArray()) throw InputError(path, where + " has no controlPoints");
  const std::string axes = ToLower(MarkupText(markup.Find("coordinateSystem")));
  if (!axes.empty() && axes != "lps" && axes != "ras")
    throw InputError(path, StrCat(where, ": coordinateSystem is neither LPS nor RAS: ", Printable(axes)));
  int number = 0;
  for (const Json& point : points->AsArray()) {
    const std::string here = StrCat(where, ", point ", ++number);
    const std::string status = MarkupText(point.Find("positionStatus"));
    if (status == "undefined" || status == "preview") continue;  // not placed yet
    const Json* position = point.Find("position");
    Vector3d place;
    bool whole = position != nullptr && position->IsArray() && position->AsArray().size() == 3;
    for (size_t i = 0; whole && i < 3; ++i) {
      whole = position->AsArray()[i].IsNumber();
      if (whole) place[static_cast<Eigen::Index>(i)] = position->AsArray()[i].AsDouble();
    }
    if (!whole) throw InputError(path, here + ": its position is not three numbers");
    list.Add(MarkupText(point.Find("label")), place, axes == "ras", here);
  }
}

std::vector<Target> ParseMarkups(const std::string& text, const std::filesystem::path& path) {
  const Json json = Json::Parse(text, path.string());
  const Json* markups = json.Find("markups");
  if (markups == nullptr || !markups->IsArray())
    throw InputError(path, "has no markups, as 3D Slicer writes them");
  TargetList list(path);
  int number = 0;
  for (const Json& markup : markups->AsArray()) AddMarkup(markup, StrCat("markup ", ++number), path, list);
  return list.Take();
}

}  // namespace

std::vector<Target> ReadTargets(const std::filesystem::path& path) {
  const std::string text = ReadFile(path, kMostTargetBytes);
  const std::string name = ToLower(path.filename().string());
  if (EndsWith(name, ".json")) return ParseMarkups(text, path);
  constexpr TargetColumns kFcsv{.place = 1, .name = 11, .least = 4, .ras = true};
  return ParseTargetTable(text, EndsWith(name, ".fcsv") ? kFcsv : TargetColumns{}, path);
}

}  // namespace lumen
