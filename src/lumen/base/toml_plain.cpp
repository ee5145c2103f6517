// The plain TOML reader: what Lumen writes, and what a person writes by hand in a sequence.toml.
#include <charconv>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/base/toml.h"

namespace lumen {

namespace {

class PlainParser {
 public:
  PlainParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  TomlTable Parse() {
    while (SkipToContent()) {
      if (text_[position_] == '[')
        ParseHeader();
      else
        ParseAssignment();
      EndLine();
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void Fail(const std::string& reason) const {
    throw InputError(StrCat(source_, ": line ", line_, ": ", reason));
  }
  bool AtEnd() const { return position_ >= text_.size(); }

  void SkipBlanks() {
    while (!AtEnd() && (text_[position_] == ' ' || text_[position_] == '\t' || text_[position_] == '\r'))
      ++position_;
  }
  void SkipComment() {
    if (!AtEnd() && text_[position_] == '#') {
      while (!AtEnd() && text_[position_] != '\n') ++position_;
    }
  }
  // Skips empty lines and comments; false at the end.
  bool SkipToContent() {
    while (true) {
      SkipBlanks();
      SkipComment();
      if (AtEnd()) return false;
      if (text_[position_] != '\n') return true;
      ++line_;
      ++position_;
    }
  }
  void EndLine() {
    SkipBlanks();
    SkipComment();
    if (!AtEnd() && text_[position_] != '\n') Fail("something follows the value");
  }

  std::string ParseKey() {
    const size_t begin = position_;
    const auto is_key = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    };
    while (!AtEnd() && is_key(text_[position_])) ++position_;
    if (position_ == begin) Fail("expected a key");
    return std::string(text_.substr(begin, position_ - begin));
  }

  void ParseHeader() {
    ++position_;
    SkipBlanks();
    prefix_ = ParseKey() + ".";
    SkipBlanks();
    if (AtEnd() || text_[position_] != ']') Fail("expected ']' after the table's name");
    ++position_;
  }

  void ParseAssignment() {
    const std::string key = prefix_ + ParseKey();
    SkipBlanks();
    if (AtEnd() || text_[position_] != '=') Fail("expected '=' after the key");
    ++position_;
    SkipBlanks();
    const int line = line_;
    TomlValue value = ParseValue();
    value.line = line;
    if (!out_.emplace(key, std::move(value)).second) Fail(StrCat("key \"", key, "\" is given twice"));
  }

  TomlValue ParseValue() {
    if (AtEnd()) Fail("expected a value");
    const char c = text_[position_];
    if (c == '"' || c == '\'') return {ParseString(c), line_};
    if (c == '[') return {ParseArray(), line_};
    const size_t end = std::min(text_.find_first_of(",]# \t\r\n", position_), text_.size());
    const std::string word(text_.substr(position_, end - position_));
    position_ = end;
    if (word == "true" || word == "false") return {word == "true", line_};
    if (const auto integer = ParseInteger(word)) return {static_cast<int64_t>(*integer), line_};
    if (const auto real = ParseDouble(word)) return {*real, line_};
    Fail(StrCat("\"", word, "\" is not a value"));
  }

  std::string ParseString(char quote) {
    std::string out;
    for (++position_; !AtEnd() && text_[position_] != '\n'; ++position_) {
      char c = text_[position_];
      if (c == quote) {
        ++position_;
        return out;
      }
      if (c == '\\' && quote == '"' && position_ + 1 < text_.size()) {
        c = text_[++position_];
        if (c == 'n')
          c = '\n';
        else if (c == 't')
          c = '\t';
        else if (c == 'u')
          c = ParseControl();
        else if (c != '"' && c != '\\')
          Fail("unknown escape in a string");
      }
      out += c;
    }
    Fail("a string does not end");
  }

  // Four hexadecimal digits; of the characters so written only those that cannot be written plainly are used.
  char ParseControl() {
    constexpr size_t kDigits = 4;
    unsigned code = 0;
    const std::string digits(text_.substr(position_ + 1, kDigits));
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != kDigits || fault != std::errc() || end != digits.data() + kDigits || code > 0x7F)
      Fail("unknown escape in a string");
    position_ += kDigits;
    return static_cast<char>(code);
  }

  TomlValue::Array ParseArray() {
    TomlValue::Array items;
    ++position_;
    while (true) {
      if (!SkipToContent()) Fail("an array does not end");
      if (text_[position_] == ']') break;
      items.push_back(ParseValue());
      if (!SkipToContent()) Fail("an array does not end");
      if (text_[position_] == ',')
        ++position_;
      else if (text_[position_] != ']')
        Fail("expected ',' or ']' in an array");
    }
    ++position_;
    return items;
  }

  std::string_view text_;
  const std::string& source_;
  std::string prefix_;
  TomlTable out_;
  size_t position_ = 0;
  int line_ = 1;
};

}  // namespace

TomlTable ParseTomlPlain(std::string_view text, const std::string& source) {
  return PlainParser(text, source).Parse();
}

}  // namespace lumen
