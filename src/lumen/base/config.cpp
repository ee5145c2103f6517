#include "lumen/base/config.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen::internal {

namespace {

struct DescribedField {
  std::string name;
  TomlValue value;
  FieldInfo info;
};

TomlValue ToToml(bool value) { return {value}; }
TomlValue ToToml(int value) { return {static_cast<int64_t>(value)}; }
TomlValue ToToml(double value) { return {value}; }
TomlValue ToToml(const std::string& value) { return {value}; }
TomlValue ToToml(const std::vector<double>& value) {
  TomlValue::Array items;
  for (const double item : value) items.push_back({item});
  return {items};
}

// Forwards the five field types to one template of the derived class.
template <typename Derived>
class UniformVisitor : public ConfigVisitor {
 protected:
  void Visit(const std::string& name, bool& value, const FieldInfo& info) override {
    Self().On(name, value, info);
  }
  void Visit(const std::string& name, int& value, const FieldInfo& info) override {
    Self().On(name, value, info);
  }
  void Visit(const std::string& name, double& value, const FieldInfo& info) override {
    Self().On(name, value, info);
  }
  void Visit(const std::string& name, std::string& value, const FieldInfo& info) override {
    Self().On(name, value, info);
  }
  void Visit(const std::string& name, std::vector<double>& value, const FieldInfo& info) override {
    Self().On(name, value, info);
  }

 private:
  Derived& Self() { return static_cast<Derived&>(*this); }
};

class Collector : public UniformVisitor<Collector> {
 public:
  template <typename T>
  void On(const std::string& name, const T& value, const FieldInfo& info) {
    fields.push_back({name, ToToml(value), info});
  }
  std::vector<DescribedField> fields;
};

std::vector<DescribedField> Collect(const Describer& describe) {
  Collector collector;
  describe(collector);
  return std::move(collector.fields);
}

std::string RangeText(const FieldInfo& info) {
  if (!info.choices.empty()) {
    std::string text;
    for (const std::string& choice : info.choices) text += (text.empty() ? "" : ", ") + choice;
    return text;
  }
  const bool low = std::isfinite(info.min);
  const bool high = std::isfinite(info.max);
  if (low && high) return StrCat(FormatDouble(info.min), " … ", FormatDouble(info.max));
  if (low) return StrCat("≥ ", FormatDouble(info.min));
  if (high) return StrCat("≤ ", FormatDouble(info.max));
  return "";
}

// Writes one value into the field of that name.
class Assigner : public UniformVisitor<Assigner> {
 public:
  Assigner(const std::string& name, const TomlValue& value, const std::string& where)
      : wanted_(name), value_(value), where_(where) {}

  template <typename T>
  void On(const std::string& name, T& field, const FieldInfo& info) {
    if (name != wanted_) return;
    found = true;
    Assign(field, info);
  }
  bool found = false;

 private:
  [[noreturn]] void Fail(const std::string& reason) const {
    throw InputError(StrCat(where_, ": ", wanted_, " ", reason));
  }
  [[noreturn]] void FailKind(const char* wanted) const {
    Fail(StrCat("must be ", wanted, ", not ", value_.Kind()));
  }

  double CheckedNumber(const TomlValue& value, const FieldInfo& info) const {
    if (!value.IsNumber()) FailKind("a number");
    const double number = value.AsNumber();
    if (!std::isfinite(number) || number < info.min || number > info.max) {
      Fail(StrCat("= ", FormatDouble(number), " is out of range (", RangeText(info), ")"));
    }
    return number;
  }
  void Assign(bool& field, const FieldInfo&) const {
    if (!std::holds_alternative<bool>(value_.value)) FailKind("true or false");
    field = std::get<bool>(value_.value);
  }
  void Assign(int& field, const FieldInfo& info) const {
    if (!std::holds_alternative<int64_t>(value_.value)) FailKind("an integer");
    const double number = CheckedNumber(value_, info);
    if (std::abs(number) > std::numeric_limits<int>::max()) Fail("is too large");
    field = static_cast<int>(number);
  }
  void Assign(double& field, const FieldInfo& info) const { field = CheckedNumber(value_, info); }
  void Assign(std::string& field, const FieldInfo& info) const {
    if (!std::holds_alternative<std::string>(value_.value)) FailKind("a string");
    const auto& text = std::get<std::string>(value_.value);
    if (!info.choices.empty() &&
        std::find(info.choices.begin(), info.choices.end(), text) == info.choices.end()) {
      Fail(StrCat("= \"", text, "\" is not one of: ", RangeText(info)));
    }
    field = text;
  }
  void Assign(std::vector<double>& field, const FieldInfo& info) const {
    if (!std::holds_alternative<TomlValue::Array>(value_.value)) FailKind("an array of numbers");
    std::vector<double> numbers;
    for (const TomlValue& item : std::get<TomlValue::Array>(value_.value))
      numbers.push_back(CheckedNumber(item, info));
    field = std::move(numbers);
  }

  std::string wanted_;
  const TomlValue& value_;
  std::string where_;
};

void AssignField(const Describer& describe, const std::string& name, const TomlValue& value,
                 const std::string& where) {
  Assigner assigner(name, value, where);
  describe(assigner);
  if (assigner.found) return;
  std::vector<std::string> known;
  for (const DescribedField& field : Collect(describe)) known.push_back(field.name);
  const auto nearest = NearestName(name, known);
  throw InputError(StrCat(where, ": unknown parameter \"", name, "\"",
                          nearest ? StrCat(" (did you mean \"", *nearest, "\"?)") : ""));
}

}  // namespace

void ApplyTable(const Describer& describe, const TomlTable& table, const std::string& source) {
  for (const auto& [name, value] : table)
    AssignField(describe, name, value, StrCat(source, ": line ", value.line));
}

void ApplySetting(const Describer& describe, const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) throw InputError(StrCat("--set ", setting, ": expected name=value"));
  const std::string name = Trim(setting.substr(0, equals));
  const std::string text = Trim(setting.substr(equals + 1));
  const std::string where = StrCat("--set ", setting);
  TomlTable parsed;
  try {
    parsed = ParseToml(StrCat("value = ", text), where);
  } catch (const InputError&) {
    parsed["value"] = {text};  // a bare word is a string: the shell has eaten its quotes
  }
  AssignField(describe, name, parsed.at("value"), where);
}

std::string DumpConfig(const Describer& describe, const Describer& describe_default) {
  const std::vector<DescribedField> fields = Collect(describe);
  const std::vector<DescribedField> defaults = Collect(describe_default);
  // TOML opens a table once: fields that come after a group of their own go back to their table's lines. The
  // root's come first, as they have no header to go back to.
  std::vector<std::pair<std::string, std::string>> tables = {{"", ""}};
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t dot = fields[i].name.rfind('.');
    const std::string name = dot == std::string::npos ? "" : fields[i].name.substr(0, dot);
    auto table = std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return t.first == name; });
    if (table == tables.end()) table = tables.insert(tables.end(), {name, ""});
    table->second += StrCat(fields[i].name.substr(dot == std::string::npos ? 0 : dot + 1), " = ",
                            FormatToml(fields[i].value));
    if (!(fields[i].value == defaults[i].value))
      table->second += StrCat("  # default: ", FormatToml(defaults[i].value));
    table->second += '\n';
  }
  std::string out = tables.front().second;
  for (size_t i = 1; i < tables.size(); ++i)
    out += StrCat(out.empty() ? "" : "\n", "[", tables[i].first, "]\n", tables[i].second);
  return out;
}

std::string DumpParameterPage(const Describer& describe) {
  std::string page = "| parameter | default | unit | range | meaning |\n|---|---|---|---|---|\n";
  for (const DescribedField& field : Collect(describe)) {
    page += StrCat("| `", field.name, "` | ", FormatToml(field.value), " | ", field.info.unit, " | ",
                   RangeText(field.info), " | ", field.info.help, " |\n");
  }
  return page;
}

}  // namespace lumen::internal
