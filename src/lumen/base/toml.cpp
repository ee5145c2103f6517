#include "lumen/base/toml.h"

#ifdef LUMEN_HAVE_TOMLPLUSPLUS
// What toml++ takes for granted is not so ("[ ," ends a debug build): it neither stops for it, nor may the
// compiler rely on it, as it may where NDEBUG is set.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>
#endif

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/nesting.h"
#include "lumen/base/text.h"

namespace lumen {

double TomlValue::AsNumber() const {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

const char* TomlValue::Kind() const {
  static constexpr const char* kKinds[] = {"true or false", "a number", "a number", "a string", "an array"};
  return kKinds[value.index()];
}

TomlTable LoadToml(const std::filesystem::path& path) {
  return ParseToml(ReadFile(path, limits::kTextBytes), path.string());
}

namespace {

std::string FormatString(const std::string& text) {
  std::string out = "\"";
  for (const char c : ToValidUtf8(text)) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += StrCat('\\', c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (code < 0x20 || code == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04X", static_cast<unsigned>(code));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string FormatToml(const TomlValue& item) {
  if (const auto* flag = std::get_if<bool>(&item.value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&item.value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&item.value)) {
    const std::string text = FormatDouble(*real);
    // TOML tells floats from integers by the point.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (const auto* text = std::get_if<std::string>(&item.value)) return FormatString(*text);
  std::string out = "[";
  for (const TomlValue& part : std::get<TomlValue::Array>(item.value)) {
    if (out.size() > 1) out += ", ";
    out += FormatToml(part);
  }
  return out + "]";
}

#ifdef LUMEN_HAVE_TOMLPLUSPLUS

namespace {

// Where toml++ asks whether a letter is a blank, it tells the compiler that U+00A1 to U+0499 and U+FA26 to
// U+FEFE cannot be met (is_non_ascii_horizontal_whitespace of 3.3): what becomes of them is
// undefined. So letters of two bytes, and the last ones of three, are stood in for by those of plane 15,
// which nobody uses, while it reads.
unsigned ByteAt(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}
bool Follows(std::string_view text, size_t i) { return (ByteAt(text, i) & 0xC0U) == 0x80U; }

std::string HideLetters(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const unsigned first = ByteAt(text, i);
    if (first >= 0xC2 && first <= 0xDF && Follows(text, i + 1)) {  // U+0080 to U+07FF
      out += {'\xF3', '\xB0', static_cast<char>(first - 0x40), text[i + 1]};
      i += 2;
    } else if (first == 0xEF && Follows(text, i + 1) && Follows(text, i + 2) &&
               text.substr(i, 3) != kByteOrderMark) {  // U+F000 to U+FFFF
      out += {'\xF3', '\xBF', text[i + 1], text[i + 2]};
      i += 3;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string ShowLetters(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool ours = ByteAt(text, i) == 0xF3 && Follows(text, i + 2) && Follows(text, i + 3);
    const unsigned second = ByteAt(text, i + 1), third = ByteAt(text, i + 2);
    if (ours && second == 0xB0 && third >= 0x82 && third <= 0x9F) {
      out += {static_cast<char>(third + 0x40), text[i + 3]};
      i += 4;
    } else if (ours && second == 0xBF) {
      out += {'\xEF', text[i + 2], text[i + 3]};
      i += 4;
    } else {
      out += text[i++];
    }
  }
  return out;
}

TomlValue Convert(const toml::node& node, const std::string& source) {
  TomlValue result;
  result.line = static_cast<int>(node.source().begin.line);
  if (const auto* flag = node.as_boolean())
    result.value = flag->get();
  else if (const auto* integer = node.as_integer())
    result.value = integer->get();
  else if (const auto* real = node.as_floating_point())
    result.value = real->get();
  else if (const auto* text = node.as_string())
    result.value = ShowLetters(text->get());
  else if (const auto* array = node.as_array()) {
    TomlValue::Array items;
    for (const toml::node& item : *array) items.push_back(Convert(item, source));
    result.value = std::move(items);
  } else {
    throw InputError(StrCat(source, ": line ", result.line, ": a value of a kind that is not used here"));
  }
  return result;
}

void Flatten(const toml::table& table, const std::string& prefix, const std::string& source, TomlTable& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + ShowLetters(key.str());
    if (const auto* inner = node.as_table())
      Flatten(*inner, name + ".", source, out);
    else
      out[name] = Convert(node, source);
  }
}

}  // namespace

TomlTable ParseToml(std::string_view text, const std::string& source) {
  RequireShallow(text, source);
  TomlTable out;
  try {
    Flatten(toml::parse(HideLetters(text)), "", source, out);
  } catch (const toml::parse_error& error) {
    throw InputError(
        StrCat(source, ": line ", error.source().begin.line, ": ", ShowLetters(error.description())));
  }
  return out;
}

#else

TomlTable ParseToml(std::string_view text, const std::string& source) {
  RequireShallow(text, source);
  return ParseTomlPlain(text, source);
}

#endif

}  // namespace lumen
