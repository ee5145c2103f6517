#include "lumen/base/toml.h"

#ifdef LUMEN_HAVE_TOMLPLUSPLUS
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
    result.value = text->get();
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
    const std::string name = prefix + std::string(key.str());
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
    Flatten(toml::parse(text), "", source, out);
  } catch (const toml::parse_error& error) {
    throw InputError(StrCat(source, ": line ", error.source().begin.line, ": ", error.description()));
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
