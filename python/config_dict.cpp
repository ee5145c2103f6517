// Parameters as Python has them: dicts of dicts.
#include <pybind11/stl.h>

#include "lumen/base/error.h"
#include "objects.h"

namespace py = pybind11;

namespace lumen {

namespace {

void Flatten(const py::dict& dict, const std::string& prefix, TomlTable& table) {
  for (const auto& [key, value] : dict) {
    if (!py::isinstance<py::str>(key)) throw InputError("config: names must be strings");
    const std::string name = prefix + std::string(py::str(key));
    if (py::isinstance<py::dict>(value))
      Flatten(py::reinterpret_borrow<py::dict>(value), name + ".", table);
    else
      table[name] = ToToml(value, name);
  }
}

class DictWriter : public ConfigVisitor {
 public:
  py::dict root;

 private:
  template <typename T>
  void Put(const std::string& name, const T& value) {
    py::dict table = root;
    std::string rest = name;
    for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
      const std::string group = rest.substr(0, dot);
      if (!table.contains(group)) table[py::str(group)] = py::dict();
      table = py::reinterpret_borrow<py::dict>(table[py::str(group)]);
      rest = rest.substr(dot + 1);
    }
    table[py::str(rest)] = py::cast(value);
  }
  void Visit(const std::string& name, bool& value, const FieldInfo&) override { Put(name, value); }
  void Visit(const std::string& name, int& value, const FieldInfo&) override { Put(name, value); }
  void Visit(const std::string& name, double& value, const FieldInfo&) override { Put(name, value); }
  void Visit(const std::string& name, std::string& value, const FieldInfo&) override { Put(name, value); }
  void Visit(const std::string& name, std::vector<double>& value, const FieldInfo&) override {
    Put(name, value);
  }
};

}  // namespace

TomlValue ToToml(const py::handle& value, const std::string& where) {
  if (py::isinstance<py::bool_>(value)) return {py::cast<bool>(value)};
  if (py::isinstance<py::str>(value)) return {std::string(py::str(value))};
  if (PyIndex_Check(value.ptr()) != 0)
    return {py::cast<int64_t>(py::int_(py::reinterpret_borrow<py::object>(value)))};
  if (py::isinstance<py::float_>(value)) return {py::cast<double>(value)};
  if (!py::isinstance<py::sequence>(value))
    throw InputError(where + ": neither a number, nor a word, nor a list");
  TomlValue::Array items;
  for (const auto& item : py::reinterpret_borrow<py::sequence>(value)) items.push_back(ToToml(item, where));
  return {items};
}

void ApplyConfig(const py::object& dict, AppConfig& config) {
  if (dict.is_none()) return;
  if (!py::isinstance<py::dict>(dict))
    throw InputError("config must be a dict, as default_config() makes it");
  TomlTable table;
  Flatten(py::reinterpret_borrow<py::dict>(dict), "", table);
  LoadConfig(table, "config", config);
}

py::dict ConfigToDict(AppConfig config) {
  DictWriter writer;
  config.Describe(writer);
  return writer.root;
}

}  // namespace lumen
