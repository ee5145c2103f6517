// Configuration: plain structs with their defaults in place. Each struct declares its fields once, in
//   void Describe(ConfigVisitor& visitor) {
//     visitor.Field("max_iterations", max_iterations, {.min = 1, .max = 1000, .help = "…"});
//     visitor.Group("solver", solver);
//   }
// and that one declaration drives reading TOML, `--set a.b=c`, validation (with the nearest name for a
// misspelt one), writing the resolved config, and the generated parameter page.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "lumen/base/toml.h"

namespace lumen {

struct FieldInfo {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string unit = {};
  std::string help = {};
  std::vector<std::string> choices = {};  // for strings: what is allowed, if not everything
};

class ConfigVisitor {
 public:
  virtual ~ConfigVisitor() = default;

  void Field(const std::string& name, bool& value, const FieldInfo& info) {
    Visit(prefix_ + name, value, info);
  }
  void Field(const std::string& name, int& value, const FieldInfo& info) {
    Visit(prefix_ + name, value, info);
  }
  void Field(const std::string& name, double& value, const FieldInfo& info) {
    Visit(prefix_ + name, value, info);
  }
  void Field(const std::string& name, std::string& value, const FieldInfo& info) {
    Visit(prefix_ + name, value, info);
  }
  void Field(const std::string& name, std::vector<double>& value, const FieldInfo& info) {
    Visit(prefix_ + name, value, info);
  }
  template <typename Config>
  void Group(const std::string& name, Config& config) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    config.Describe(*this);
    prefix_ = outer;
  }

 protected:
  virtual void Visit(const std::string& name, bool& value, const FieldInfo& info) = 0;
  virtual void Visit(const std::string& name, int& value, const FieldInfo& info) = 0;
  virtual void Visit(const std::string& name, double& value, const FieldInfo& info) = 0;
  virtual void Visit(const std::string& name, std::string& value, const FieldInfo& info) = 0;
  virtual void Visit(const std::string& name, std::vector<double>& value, const FieldInfo& info) = 0;

 private:
  std::string prefix_;
};

namespace internal {
using Describer = std::function<void(ConfigVisitor&)>;
void ApplyTable(const Describer& describe, const TomlTable& table, const std::string& source);
void ApplySetting(const Describer& describe, const std::string& setting);
std::string DumpConfig(const Describer& describe, const Describer& describe_default);
std::string DumpParameterPage(const Describer& describe);
}  // namespace internal

// Sets fields from a TOML file; unknown names, wrong kinds and values out of range throw InputError.
template <typename Config>
void LoadConfig(const std::filesystem::path& path, Config& config) {
  internal::ApplyTable([&](ConfigVisitor& v) { config.Describe(v); }, LoadToml(path), path.string());
}

// The same of a table that was read already; `source` names it in messages.
template <typename Config>
void LoadConfig(const TomlTable& table, const std::string& source, Config& config) {
  internal::ApplyTable([&](ConfigVisitor& v) { config.Describe(v); }, table, source);
}

// Sets one field from "group.name=value".
template <typename Config>
void SetConfig(const std::string& setting, Config& config) {
  internal::ApplySetting([&](ConfigVisitor& v) { config.Describe(v); }, setting);
}

// The resolved config as TOML; lines that differ from the default say so in a comment.
template <typename Config>
std::string FormatConfig(const Config& config) {
  Config copy = config;
  Config defaults;
  return internal::DumpConfig([&](ConfigVisitor& v) { copy.Describe(v); },
                              [&](ConfigVisitor& v) { defaults.Describe(v); });
}

// A Markdown table of every parameter: name, default, unit, range, help.
template <typename Config>
std::string FormatParameterPage() {
  Config defaults;
  return internal::DumpParameterPage([&](ConfigVisitor& v) { defaults.Describe(v); });
}

}  // namespace lumen
