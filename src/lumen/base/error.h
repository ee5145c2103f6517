// The three kinds of trouble, kept apart.
//   - A broken contract (a bug in the caller) throws ContractError, which names file and line.
//   - Bad input (a file, a folder, a user's number) throws InputError with its path and the reason;
//     it is caught once, in apps, and becomes one line on stderr and exit code 2.
//   - A hard world (no overlap, too few matches, …) is no exception at all: it is a status in a result.
// OutputError is bad input's twin on the writing side (a full disk); it becomes exit code 3.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "lumen/base/text.h"

namespace lumen {

class ContractError : public std::logic_error {
 public:
  ContractError(const char* file, int line, const std::string& what);
};

class InputError : public std::runtime_error {
 public:
  InputError(const std::filesystem::path& path, const std::string& reason);
  explicit InputError(const std::string& reason) : std::runtime_error(reason) {}
};

class OutputError : public std::runtime_error {
 public:
  OutputError(const std::filesystem::path& path, const std::string& reason);
};

namespace internal {
[[noreturn]] void FailContract(const char* file, int line, const char* condition, const std::string& message);
}  // namespace internal

}  // namespace lumen

// Checks a contract in every build type; further arguments are joined into the message.
#define LUMEN_CHECK(condition, ...)                                                                  \
  do {                                                                                               \
    if (!(condition)) [[unlikely]]                                                                   \
      ::lumen::internal::FailContract(__FILE__, __LINE__, #condition, ::lumen::StrCat(__VA_ARGS__)); \
  } while (false)
