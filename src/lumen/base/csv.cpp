#include "lumen/base/csv.h"

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source, char separator)
      : text_(WithoutByteOrderMark(text)), source_(source), separator_(separator) {}

  std::vector<CsvRow> Read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row{line_, {}};
      do row.cells.push_back(ReadCell());
      while (Took(separator_));
      Took('\r');
      Took('\n');
      if (row.cells.size() > 1 || !row.cells.front().empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  // Whether this is the next letter; if so, it is passed.
  bool Took(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    if (wanted == '\n') ++line_;
    ++at_;
    return true;
  }
  bool AtLineEnd() const {
    return at_ >= text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
  }
  bool AtCellEnd() const { return AtLineEnd() || text_[at_] == separator_; }
  void PassBlanks() {
    while (!AtCellEnd() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  [[noreturn]] void Fail(int line, const char* reason) const {
    throw InputError(source_, StrCat("line ", line, ": ", reason));
  }

  std::string ReadCell() {
    PassBlanks();
    if (Took('"')) return ReadQuoted();
    const size_t from = at_;
    while (!AtCellEnd()) {
      if (text_[at_] == '"') Fail(line_, "a quote in the midst of a cell: the whole cell must be in quotes");
      ++at_;
    }
    return Trim(text_.substr(from, at_ - from));
  }

  std::string ReadQuoted() {
    const int begun = line_;
    std::string cell;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      Took(c);
      if (c != '"') {
        cell += c;
      } else if (Took('"')) {
        cell += '"';
      } else {
        PassBlanks();
        if (!AtCellEnd()) Fail(line_, "something stands behind a cell in quotes");
        return cell;
      }
    }
    Fail(begun, "a quote that is never closed");
  }

  std::string_view text_;
  const std::string& source_;
  char separator_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<CsvRow> ParseCsv(std::string_view text, const std::string& source, char separator) {
  return CsvReader(text, source, separator).Read();
}

std::string CsvCell(const std::string& text) {
  const bool blank_end = !text.empty() && (Trim(text).size() != text.size());
  if (text.find_first_of(",;\t\"\r\n") == std::string::npos && !blank_end) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace lumen
