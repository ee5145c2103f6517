#include "lumen/apps/model_path.h"

#include <vector>

#include "lumen/base/error.h"
#include "lumen/base/module.h"

namespace lumen {

namespace fs = std::filesystem;

std::optional<fs::path> FindModel(const fs::path& given) {
  if (!given.empty()) {
    if (!fs::exists(given)) throw InputError(given, "no such model");
    return given;
  }
  constexpr const char* kName = "lumen-base.safetensors";
  const fs::path root = InstallRoot();
  std::vector<fs::path> folders = {root / "share/lumen/models", root / "bin"};
  // Only what still lies where it was built looks into the source tree.
  if (fs::weakly_canonical(root) == fs::path(LUMEN_BUILD_PROGRAMS).parent_path())
    folders.emplace_back(LUMEN_SOURCE_MODELS);
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
