#include "lumen/apps/model_path.h"

#include <vector>

#include "lumen/base/error.h"

namespace lumen {

namespace fs = std::filesystem;

std::optional<fs::path> FindModel(const fs::path& given) {
  if (!given.empty()) {
    if (!fs::exists(given)) throw InputError(given, "no such model");
    return given;
  }
  constexpr const char* kName = "lumen-base.safetensors";
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> folders = {program / "../share/lumen/models", program};
  // Only a program that still lies where it was built looks into the source tree.
  if (program == fs::path(LUMEN_BUILD_PROGRAMS)) folders.emplace_back(LUMEN_SOURCE_MODELS);
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / kName)) return fs::weakly_canonical(folder / kName);
  }
  return std::nullopt;
}

std::optional<fs::path> FindVocabulary(const fs::path& model) {
  fs::path path = model;
  path.replace_extension(".vocabulary.safetensors");
  if (!fs::exists(path)) return std::nullopt;
  return path;
}

}  // namespace lumen
