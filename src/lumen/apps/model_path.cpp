#include "lumen/apps/model_path.h"

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
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder : {program.parent_path() / "../share/lumen/models", program.parent_path(),
                                 fs::path(LUMEN_SOURCE_MODELS)}) {
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
