#include "lumen/base/json.h"

#include <cmath>
#include <cstdio>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Json ParseDocument() {
    Json value = ParseValue(0);
    SkipSpace();
    if (position_ != text_.size()) Fail("something follows the end");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& reason) const {
    throw InputError(StrCat(source_, ": not valid JSON at byte ", position_, ": ", reason));
  }

  void SkipSpace() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }

  char Peek() {
    SkipSpace();
    if (position_ >= text_.size()) Fail("ends too early");
    return text_[position_];
  }

  bool Take(char c) {
    if (Peek() != c) return false;
    ++position_;
    return true;
  }

  void Expect(char c) {
    if (!Take(c)) Fail(StrCat("expected '", c, "'"));
  }

  Json ParseValue(int depth) {
    if (depth > limits::kNesting) Fail("nested too deep");
    switch (Peek()) {
      case '{':
        return ParseObject(depth);
      case '[':
        return ParseArray(depth);
      case '"':
        return Json(ParseString());
      case 't':
        return ParseWord("true", Json(true));
      case 'f':
        return ParseWord("false", Json(false));
      case 'n':
        return ParseWord("null", Json());
      default:
        return ParseNumber();
    }
  }

  Json ParseWord(std::string_view word, Json value) {
    if (text_.substr(position_, word.size()) != word) Fail("unknown word");
    position_ += word.size();
    return value;
  }

  Json ParseNumber() {
    const size_t begin = position_;
    while (position_ < text_.size() &&
           std::string_view("+-.0123456789eE").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
    const std::string_view number = text_.substr(begin, position_ - begin);
    if (number.empty() || number.front() == '+') Fail("not a value");
    if (const auto integer = ParseInteger(number)) return Json(static_cast<int64_t>(*integer));
    if (const auto real = ParseDouble(number)) return Json(*real);
    Fail("not a number");
  }

  uint32_t ParseHex4() {
    if (position_ + 4 > text_.size()) Fail("ends inside an escape");
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = text_[position_++];
      code *= 16;
      if (c >= '0' && c <= '9')
        code += static_cast<uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        code += static_cast<uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        code += static_cast<uint32_t>(c - 'A' + 10);
      else
        Fail("not a hexadecimal digit");
    }
    return code;
  }

  void ParseEscape(std::string& out) {
    if (position_ >= text_.size()) Fail("ends inside an escape");
    const char c = text_[position_++];
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out += c;
        return;
      case 'b':
        out += '\b';
        return;
      case 'f':
        out += '\f';
        return;
      case 'n':
        out += '\n';
        return;
      case 'r':
        out += '\r';
        return;
      case 't':
        out += '\t';
        return;
      case 'u':
        break;
      default:
        Fail("unknown escape");
    }
    uint32_t code = ParseHex4();
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(position_, 2) == "\\u") {
      position_ += 2;
      code = 0x10000 + ((code - 0xd800) << 10) + ((ParseHex4() - 0xdc00) & 0x3ff);
    }
    AppendUtf8(out, code);
  }

  std::string ParseString() {
    Expect('"');
    std::string out;
    while (true) {
      if (position_ >= text_.size()) Fail("ends inside a string");
      const char c = text_[position_++];
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) Fail("control character in a string");
      if (c == '\\')
        ParseEscape(out);
      else
        out += c;
    }
  }

  Json ParseArray(int depth) {
    Expect('[');
    Json::Array items;
    if (Take(']')) return Json(std::move(items));
    do items.push_back(ParseValue(depth + 1));
    while (Take(','));
    Expect(']');
    return Json(std::move(items));
  }

  Json ParseObject(int depth) {
    Expect('{');
    Json::Object members;
    if (Take('}')) return Json(std::move(members));
    do {
      if (Peek() != '"') Fail("expected a key");
      std::string key = ParseString();
      Expect(':');
      members.emplace_back(std::move(key), ParseValue(depth + 1));
    } while (Take(','));
    Expect('}');
    return Json(std::move(members));
  }

  std::string_view text_;
  const std::string& source_;
  size_t position_ = 0;
};

void DumpString(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : ToValidUtf8(text)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          char escape[8];
          std::snprintf(escape, sizeof(escape), "\\u%04x", c);
          out += escape;
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

template <typename T>
const T& Get(const auto& value, const char* kind) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw InputError(StrCat("JSON: expected ", kind));
}

}  // namespace

Json Json::Parse(std::string_view text, const std::string& source) {
  return Parser(text, source).ParseDocument();
}

Json Json::Load(const std::filesystem::path& path) { return Parse(ReadFile(path), path.string()); }

std::string Json::Dump(int indent) const {
  std::string out;
  DumpTo(out, indent, 0);
  return out;
}

void Json::DumpTo(std::string& out, int indent, int depth) const {
  const auto new_line = [&](int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent * level), ' ');
  };
  const auto dump_items = [&](char open, char close, const auto& items, const auto& dump_item) {
    out += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += indent < 0 ? ", " : ",";
      first = false;
      new_line(depth + 1);
      dump_item(item);
    }
    if (!items.empty()) new_line(depth);
    out += close;
  };
  if (IsNull())
    out += "null";
  else if (IsBool())
    out += AsBool() ? "true" : "false";
  else if (IsInteger())
    out += std::to_string(AsInteger());
  else if (IsNumber() && AsDouble() == 0 && std::signbit(AsDouble()))
    out += "-0.0";  // without its point it would read back as an integer, which has no sign there
  else if (IsNumber())
    out += std::isfinite(AsDouble()) ? FormatDouble(AsDouble()) : "null";
  else if (IsString())
    DumpString(out, AsString());
  else if (IsArray())
    dump_items('[', ']', AsArray(), [&](const Json& item) { item.DumpTo(out, indent, depth + 1); });
  else
    dump_items('{', '}', AsObject(), [&](const auto& member) {
      DumpString(out, member.first);
      out += ": ";
      member.second.DumpTo(out, indent, depth + 1);
    });
}

bool Json::AsBool() const { return Get<bool>(value_, "true or false"); }
int64_t Json::AsInteger() const { return Get<int64_t>(value_, "an integer"); }
double Json::AsDouble() const {
  if (IsInteger()) return static_cast<double>(AsInteger());
  return Get<double>(value_, "a number");
}
const std::string& Json::AsString() const { return Get<std::string>(value_, "a string"); }
const Json::Array& Json::AsArray() const { return Get<Array>(value_, "an array"); }
const Json::Object& Json::AsObject() const { return Get<Object>(value_, "an object"); }

const Json* Json::Find(std::string_view key) const {
  if (!IsObject()) return nullptr;
  for (const auto& [name, value] : AsObject()) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::At(std::string_view key) const {
  const Json* found = Find(key);
  if (found == nullptr) throw InputError(StrCat("JSON: key \"", key, "\" is missing"));
  return *found;
}

Json& Json::operator[](const std::string& key) {
  if (IsNull()) value_ = Object{};
  LUMEN_CHECK(IsObject(), "not a JSON object");
  auto& members = std::get<Object>(value_);
  for (auto& [name, value] : members) {
    if (name == key) return value;
  }
  return members.emplace_back(key, Json()).second;
}

void Json::Append(Json item) {
  if (IsNull()) value_ = Array{};
  LUMEN_CHECK(IsArray(), "not a JSON array");
  std::get<Array>(value_).push_back(std::move(item));
}

}  // namespace lumen
