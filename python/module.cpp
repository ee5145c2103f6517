// The extension behind `import lumen`; lumen/__init__.pyi says what there is.
#include <pybind11/pybind11.h>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/version.h"
#include "objects.h"

namespace py = pybind11;

namespace lumen {

namespace {

void SetLevel(const std::string& name) {
  for (const auto& [word, level] : {std::pair{"debug", LogLevel::kDebug}, std::pair{"info", LogLevel::kInfo},
                                    std::pair{"warning", LogLevel::kWarning},
                                    std::pair{"error", LogLevel::kError}, std::pair{"off", LogLevel::kOff}}) {
    if (name == word) return SetLogLevel(level);
  }
  throw InputError(StrCat("a level is debug, info, warning, error or off, not \"", name, "\""));
}

// Arrays of NumPy 2 are laid out otherwise than pybind11 knew before its 2.12.
void RequireKnownNumpy() {
  const auto version = std::string(py::str(py::module_::import("numpy").attr("__version__")));
  if (PYBIND11_VERSION_HEX < 0x020C0000 && version.substr(0, 2) != "1.")
    throw py::import_error("this build of lumen needs NumPy 1, not " + version +
                           ": its pybind11 is older than 2.12");
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  py::register_exception<InputError>(module, "InputError", PyExc_ValueError);
  py::register_exception<OutputError>(module, "OutputError", PyExc_OSError);
  py::register_exception<ContractError>(module, "ContractError", PyExc_RuntimeError);
  SetLogLevel(LogLevel::kWarning);
  module.def("set_log_level", &SetLevel, py::arg("level"));
  module.def("version", &Version);
  module.def("commit", &Commit);
  module.def("_require_numpy", &RequireKnownNumpy);
  BindMeshes(module);
  BindInputs(module);
  BindSlam(module);
  BindTools(module);
}

}  // namespace lumen
