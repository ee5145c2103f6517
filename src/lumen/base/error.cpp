#include "lumen/base/error.h"

namespace lumen {

ContractError::ContractError(const char* file, int line, const std::string& what)
    : std::logic_error(StrCat(file, ":", line, ": ", what)) {}

InputError::InputError(const std::filesystem::path& path, const std::string& reason)
    : std::runtime_error(StrCat(path.string(), ": ", reason)) {}

OutputError::OutputError(const std::filesystem::path& path, const std::string& reason)
    : std::runtime_error(StrCat(path.string(), ": ", reason)) {}

namespace internal {

void FailContract(const char* file, int line, const char* condition, const std::string& message) {
  throw ContractError(file, line,
                      message.empty() ? StrCat("broken contract: ", condition)
                                      : StrCat("broken contract: ", condition, " (", message, ")"));
}

}  // namespace internal

}  // namespace lumen
