#include "lumen/base/module.h"

#include <dlfcn.h>

#include <filesystem>

#include "lumen/base/log.h"

namespace lumen {

void* FindModuleEntry(const std::string& name, const std::string& entry) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder :
       {program / "../lib", program / "../lib/lumen/modules",
        fs::path(LUMEN_INSTALL_PREFIX) / "lib/lumen/modules", fs::path("/usr/lib/lumen/modules")}) {
    const fs::path file = folder / StrCat("lib", name, ".so");
    if (!fs::exists(file)) continue;
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      LogWarning("module ", name, " is there but cannot be loaded: ", ::dlerror());
      continue;
    }
    if (void* found = ::dlsym(library, entry.c_str())) return found;
  }
  return nullptr;
}

}  // namespace lumen
