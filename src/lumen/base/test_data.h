// Where tests find data that does not live in the tree: $LUMEN_TEST_DATA, else ../shared/data beside
// the checkout. Tests that need it skip where it is absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace lumen {

inline std::optional<std::filesystem::path> FindTestData(const std::string& name) {
  const char* given = std::getenv("LUMEN_TEST_DATA");
  const std::filesystem::path root = given != nullptr
                                         ? std::filesystem::path(given)
                                         : std::filesystem::path(LUMEN_SOURCE_DIR) / "../shared/data";
  const std::filesystem::path path = root / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

}  // namespace lumen
