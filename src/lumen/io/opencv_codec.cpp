#include "lumen/io/opencv_codec.h"

#include <dlfcn.h>

#include "lumen/base/log.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;

// Beside the program (build tree and installed tree alike), else where the build put it.
const OpenCvModule* LoadModule() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder :
       {program / "../lib", program / "../lib/lumen", fs::path(LUMEN_MODULE_FOLDER)}) {
    const fs::path file = folder / "liblumen_opencv.so";
    if (!fs::exists(file)) continue;
    // Never unloaded: sources made by it may outlive any scope of ours.
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      LogWarning(::dlerror());
      continue;
    }
    const auto entry = reinterpret_cast<const OpenCvModule* (*)()>(::dlsym(library, kOpenCvModuleEntry));
    if (entry != nullptr) return entry();
  }
  return nullptr;
}

const OpenCvModule* Module() {
  static const OpenCvModule* const module = LoadModule();
  return module;
}

const OpenCvModule& RequireModule(const std::string& name) {
  if (Module() == nullptr)
    throw InputError(name, "reading or writing this needs Lumen's OpenCV module, which is not here");
  return *Module();
}

}  // namespace

bool HaveOpenCv() { return Module() != nullptr; }

RgbImage DecodeWithOpenCv(const std::string& bytes, const std::string& name) {
  return RequireModule(name).Decode(bytes, name);
}
std::string EncodeJpeg(ImageView<const uint8_t> rgb, int quality) {
  return RequireModule("JPEG").EncodeJpeg(rgb, quality);
}
Camera LoadOpenCvCalibration(const fs::path& path) {
  return RequireModule(path.string()).LoadCalibration(path);
}
std::unique_ptr<FrameSource> OpenVideo(const fs::path& path) {
  return RequireModule(path.string()).OpenVideo(path);
}

}  // namespace lumen
