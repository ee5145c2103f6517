#include "lumen/network/torch_backend.h"

#include <cstdlib>
#include <filesystem>

#include "lumen/base/error.h"
#include "lumen/base/module.h"
#include "lumen/network/shared_networks.h"

namespace lumen {

const TorchBackend* FindTorchBackend() {
  static const TorchBackend* const backend = [] {
    const auto entry =
        reinterpret_cast<const TorchBackend* (*)()>(FindModuleEntry("lumen_torch", "LumenTorchBackend"));
    return entry != nullptr ? entry() : nullptr;
  }();
  return backend;
}

bool MayHaveGpu() {
  return std::filesystem::exists("/proc/driver/nvidia/version") || std::filesystem::exists("/dev/nvidia0");
}

std::unique_ptr<Priors> MakePriors(const Model& model, const LensView& view, const PriorsOptions& options,
                                   const std::string& device) {
  LUMEN_CHECK(device == "auto" || device == "cpu" || device == "cuda", device);
  // Loading Torch takes half a second: only where a GPU's driver is there at all.
  const char* shared = std::getenv(kNetworksVariable);
  if (shared != nullptr && device != "cpu") {
    if (auto priors = MakeSharedPriors(shared, model, view, options)) return priors;
  }
  if (device == "cuda" || (device == "auto" && MayHaveGpu())) {
    const TorchBackend* backend = FindTorchBackend();
    if (backend != nullptr && backend->HaveCuda()) return backend->MakePriors(model, view, options, "cuda");
    if (device == "cuda")
      throw InputError(backend == nullptr ? "--device cuda: this build has no Torch backend"
                                          : "--device cuda: Torch finds no GPU");
  }
  return std::make_unique<EnginePriors>(model, view, options);
}

}  // namespace lumen
