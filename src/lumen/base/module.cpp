#include "lumen/base/module.h"

#include <dlfcn.h>

#include <filesystem>

#include "lumen/base/log.h"
#include "lumen/base/signals.h"

namespace lumen {

namespace fs = std::filesystem;

fs::path InstallRoot() {
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&InstallRoot), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path here = fs::weakly_canonical(info.dli_fname, error);
    if (here.extension() == ".so") return here.parent_path() / "../../../..";
  }
  return fs::read_symlink("/proc/self/exe", error).parent_path() / "..";
}

void* FindModuleEntry(const std::string& name, const std::string& entry) {
  const fs::path root = InstallRoot();
  for (const fs::path& folder :
       {root / "lib", root / "lib/lumen/modules", fs::path(LUMEN_INSTALL_PREFIX) / "lib/lumen/modules",
        fs::path("/usr/lib/lumen/modules")}) {
    const fs::path file = folder / StrCat("lib", name, ".so");
    if (!fs::exists(file)) continue;
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    TakeRaisedSignals();
    if (library == nullptr) {
      LogWarning("module ", name, " is there but cannot be loaded: ", ::dlerror());
      continue;
    }
    if (void* found = ::dlsym(library, entry.c_str())) return found;
  }
  return nullptr;
}

}  // namespace lumen
