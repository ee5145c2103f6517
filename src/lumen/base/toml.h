// TOML documents, flattened: "camera.fx" → value. toml++ parses where it is installed; elsewhere a
// plain reader understands the part of TOML that Lumen itself writes (tables, strings, numbers,
// booleans, arrays of those). A test holds the two together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lumen {

struct TomlValue {
  using Array = std::vector<TomlValue>;
  std::variant<bool, int64_t, double, std::string, Array> value;
  int line = 0;

  bool IsNumber() const {
    return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
  }
  double AsNumber() const;   // requires IsNumber()
  const char* Kind() const;  // "a number", "a string", … for messages
  friend bool operator==(const TomlValue& a, const TomlValue& b) { return a.value == b.value; }
};

using TomlTable = std::map<std::string, TomlValue>;

// Throws InputError naming `source`, the line and the fault.
TomlTable ParseToml(std::string_view text, const std::string& source);
TomlTable ParseTomlPlain(std::string_view text, const std::string& source);
TomlTable LoadToml(const std::filesystem::path& path);

// One value as TOML writes it.
std::string FormatToml(const TomlValue& value);

}  // namespace lumen
