// JSON values: what weights files, run records and results are written in. Objects keep the order of
// insertion, so that files are stable. Small and ours because `network` must build on a machine that
// has no JSON library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lumen {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() : value_(nullptr) {}
  Json(std::nullptr_t) : value_(nullptr) {}                      // NOLINT(google-explicit-constructor)
  Json(bool value) : value_(value) {}                            // NOLINT
  Json(int value) : value_(static_cast<int64_t>(value)) {}       // NOLINT
  Json(int64_t value) : value_(value) {}                         // NOLINT
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Json(double value) : value_(value) {}                          // NOLINT
  Json(const char* value) : value_(std::string(value)) {}        // NOLINT
  Json(std::string value) : value_(std::move(value)) {}          // NOLINT
  Json(Array value) : value_(std::move(value)) {}                // NOLINT
  Json(Object value) : value_(std::move(value)) {}               // NOLINT
  static Json MakeObject() { return Json(Object{}); }
  static Json MakeArray() { return Json(Array{}); }

  // Throws InputError naming `source` and the position of the fault. Depth is bounded.
  static Json Parse(std::string_view text, const std::string& source = "JSON");
  static Json Load(const std::filesystem::path& path);
  // indent < 0: one line. Numbers that are not finite become null, as JSON has no word for them.
  std::string Dump(int indent = -1) const;

  bool IsNull() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool IsBool() const { return std::holds_alternative<bool>(value_); }
  bool IsInteger() const { return std::holds_alternative<int64_t>(value_); }
  bool IsNumber() const { return IsInteger() || std::holds_alternative<double>(value_); }
  bool IsString() const { return std::holds_alternative<std::string>(value_); }
  bool IsArray() const { return std::holds_alternative<Array>(value_); }
  bool IsObject() const { return std::holds_alternative<Object>(value_); }

  // Each throws InputError when the value is of another kind.
  bool AsBool() const;
  int64_t AsInteger() const;
  double AsDouble() const;
  const std::string& AsString() const;
  const Array& AsArray() const;
  const Object& AsObject() const;

  const Json* Find(std::string_view key) const;  // null if absent or not an object
  const Json& At(std::string_view key) const;    // throws InputError if absent
  Json& operator[](const std::string& key);      // inserts if absent; a null becomes an object
  void Append(Json item);                        // a null becomes an array

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

 private:
  void DumpTo(std::string& out, int indent, int depth) const;

  std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace lumen
