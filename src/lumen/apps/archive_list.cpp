#include "lumen/apps/archive_list.h"

#include <algorithm>
#include <map>

#include "lumen/apps/archive_video.h"
#include "lumen/apps/made_with.h"
#include "lumen/base/csv.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/input_search.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLongestVideoName = 200;
constexpr size_t kLongestFolderName = 100;
constexpr const char* kInputColumn = "input";
constexpr const char* kNameColumn = "name";

bool IsThere(const fs::path& path) {
  std::error_code error;  // a path may be longer than the system allows
  return fs::exists(path, error);
}

bool ParseYes(const std::string& word) {
  const std::string lower = ToLower(word);
  for (const char* yes : {"yes", "true", "1", "x"})
    if (lower == yes) return true;
  for (const char* no : {"no", "false", "0"})
    if (lower == no) return false;
  throw InputError(StrCat("\"", Printable(word), "\" is neither yes nor no"));
}

// What a row may say, held to what the command line holds its options to.
class RowOptions {
 public:
  RowOptions() {
    AddVideoOptions(parser_, parsed_);
    for (const OptionFacts& option : parser_.Facts().options) {
      std::string column = option.names.back().substr(2);
      std::replace(column.begin(), column.end(), '-', '_');
      if (column != "help") columns_[column] = option;
    }
  }

  const std::map<std::string, OptionFacts>& Columns() const { return columns_; }

  // What the command line would say of it, without its name.
  void Check(const std::string& option, const std::string& value) {
    try {
      parser_.Parse({StrCat(option, "=", value)});
      if (option == "--ct-start") ParseStartRegion(value);
    } catch (const InputError& error) {
      const std::string name = option + ": ";
      const std::string fault = error.what();
      throw InputError(StartsWith(fault, name) ? fault.substr(name.size()) : fault);
    }
  }

 private:
  Command parser_{"row", ""};
  VideoOptions parsed_;
  std::map<std::string, OptionFacts> columns_;
};

class ListReader {
 public:
  explicit ListReader(const fs::path& file) : file_(file), folder_(fs::absolute(file).parent_path()) {}

  std::vector<ArchiveVideo> Read() {
    const std::string text = ReadFile(file_, limits::kTextBytes);
    if (text.find('\0') != std::string::npos)
      throw InputError(file_, "is no list: expected a table with a column `input`, or a path a line");
    if (const auto separator = SeparatorOf(text))
      ReadTable(ParseCsv(text, file_.string(), *separator));
    else
      ReadLines(text);
    if (videos_.empty()) throw InputError(file_, "names no videos");
    return std::move(videos_);
  }

 private:
  // Of a table: the one by which its first line has `input` as a column; nothing if it is none.
  static std::optional<char> SeparatorOf(std::string_view text) {
    const std::string_view bare = WithoutByteOrderMark(text);
    const std::string head = ToLower(Trim(bare.substr(0, bare.find('\n'))));
    for (const char separator : {',', ';', '\t'})
      for (const std::string& cell : Split(head, separator))
        if (Trim(cell) == kInputColumn || Trim(cell) == "\"input\"") return separator;
    return std::nullopt;
  }

  [[noreturn]] void Fail(int line, const std::string& column, const std::string& reason) const {
    const std::string where = column.empty() ? "" : StrCat(", column ", Printable(column));
    throw InputError(file_, StrCat("line ", line, where, ": ", reason));
  }

  void ReadLines(const std::string& text) {
    int number = 0;
    for (const std::string& raw : Split(WithoutByteOrderMark(text), '\n')) {
      ++number;
      const std::string line = Trim(raw);
      if (line.empty() || line.front() == '#') continue;
      Add(number, {{kInputColumn, line}});
    }
  }

  void ReadTable(const std::vector<CsvRow>& rows) {
    const std::vector<std::string> head = ReadHead(rows.front());
    for (size_t i = 1; i < rows.size(); ++i) {
      std::map<std::string, std::string> cells;
      for (size_t k = 0; k < rows[i].cells.size(); ++k) {
        const std::string& cell = rows[i].cells[k];
        if (cell.empty()) continue;
        if (k >= head.size())
          Fail(rows[i].line, "", StrCat("has ", k + 1, " cells, the head has ", head.size()));
        if (!head[k].empty()) cells[head[k]] = cell;
      }
      Add(rows[i].line, cells);
    }
  }

  // Names of the columns; empty where there is none, which may stand for nothing.
  std::vector<std::string> ReadHead(const CsvRow& row) const {
    std::vector<std::string> known{kInputColumn, kNameColumn};
    for (const auto& [column, _] : options_.Columns()) known.push_back(column);
    std::vector<std::string> head;
    for (const std::string& cell : row.cells) {
      std::string column = ToLower(cell);
      std::replace(column.begin(), column.end(), '-', '_');
      if (!column.empty() && std::find(head.begin(), head.end(), column) != head.end())
        Fail(row.line, cell, "stands there twice");
      if (!column.empty() && std::find(known.begin(), known.end(), column) == known.end()) {
        const auto nearest = NearestName(column, known);
        Fail(row.line, cell,
             StrCat("is not known", nearest ? StrCat(" (did you mean \"", *nearest, "\"?)") : ""));
      }
      head.push_back(column);
    }
    return head;
  }

  fs::path PathOf(const std::string& text) const { return (folder_ / text).lexically_normal(); }

  void Add(int line, const std::map<std::string, std::string>& cells) {
    const auto input = cells.find(kInputColumn);
    if (input == cells.end()) Fail(line, kInputColumn, "is empty");
    ArchiveVideo video;
    video.input = PathOf(input->second);
    if (IsCamera(video.input)) Fail(line, kInputColumn, "a camera is no recording");
    if (!IsThere(video.input))
      Fail(line, kInputColumn, StrCat("no such file or folder: ", Printable(video.input.string())));
    const auto name = cells.find(kNameColumn);
    video.name = name != cells.end() ? name->second : fs::path(input->second).lexically_normal().string();
    if (video.name.size() > kLongestVideoName)
      Fail(line, kNameColumn, StrCat("longer than ", kLongestVideoName, " letters: give it a shorter name"));
    video.folder = VideoFolderName(video.name);
    const auto [before, is_new] = lines_.emplace(video.folder, line);
    if (!is_new)
      Fail(line, kNameColumn,
           StrCat("the same as in line ", before->second, ": give each a name of its own"));
    for (const auto& [column, value] : cells)
      if (column != kInputColumn && column != kNameColumn) AddOption(line, column, value, video);
    videos_.push_back(std::move(video));
  }

  void AddOption(int line, const std::string& column, const std::string& value, ArchiveVideo& video) {
    const OptionFacts& facts = options_.Columns().at(column);
    GivenOption option{facts.names.back(), facts.kind, {value}};
    try {
      if (facts.kind == ValueKind::kNone) {
        option.values.clear();
        if (!ParseYes(value)) return;
      } else {
        if (facts.kind == ValueKind::kPath) option.values = {PathOf(value).string()};
        if (facts.kind == ValueKind::kPath && !IsThere(option.values.front()))
          throw InputError(StrCat("no such file or folder: ", Printable(option.values.front())));
        options_.Check(option.name, option.values.front());
      }
    } catch (const InputError& error) {
      Fail(line, column, error.what());
    }
    video.own.push_back(std::move(option));
  }

  const fs::path file_, folder_;
  RowOptions options_;
  std::map<std::string, int> lines_;  // where each name stands
  std::vector<ArchiveVideo> videos_;
};

}  // namespace

std::vector<ArchiveVideo> FindVideos(const fs::path& folder) {
  const FoundInputs found = FindInputs(folder);
  if (found.dicom_without_video > 0)
    LogInfo(found.dicom_without_video, " DICOM files that hold no video are left alone");
  std::vector<ArchiveVideo> videos;
  for (const FoundInput& input : found.inputs) {
    ArchiveVideo video{input.name, VideoFolderName(input.name), input.path, {}};
    if (const fs::path ct = FindCtOf(input.path); !ct.empty())
      video.own.push_back({"--ct", ValueKind::kPath, {ct.string()}});
    videos.push_back(std::move(video));
  }
  if (videos.empty())
    throw InputError(folder,
                     "holds nothing that can be opened: no videos, DICOM recordings, sequence folders, data "
                     "sets, or folders of ten pictures and more");
  return videos;
}

std::vector<ArchiveVideo> ReadVideoList(const fs::path& file) { return ListReader(file).Read(); }

std::string VideoFolderName(const std::string& name) {
  std::string parted;
  for (const char c : name) parted += c == '/' ? "--" : std::string(1, c);
  std::string safe = FolderName(parted);
  const bool same = safe == parted && safe.size() <= kLongestFolderName &&
                    name.find("--") == std::string::npos && name.find("-/") == std::string::npos &&
                    name.find("/-") == std::string::npos;
  if (same) return safe;
  constexpr size_t kDigits = 8;
  return safe.substr(0, kLongestFolderName) + "-" + HashText(name).substr(0, kDigits);
}

}  // namespace lumen
