// The Torch backend: the same priors on Torch, on the CPU or on a GPU. It lives in a module of its own,
// built where Torch is found and loaded when asked for; this header needs no Torch.
#pragma once

#include <memory>
#include <string>

#include "lumen/network/engine_priors.h"

namespace lumen {

class TorchBackend {
 public:
  virtual ~TorchBackend() = default;
  virtual std::string Version() const = 0;
  virtual bool HaveCuda() const = 0;
  // device: "cpu" or "cuda".
  virtual std::unique_ptr<Priors> MakePriors(const Model& model, const LensView& view,
                                             const PriorsOptions& options,
                                             const std::string& device) const = 0;
  // Milliseconds of one forward pass with both heads, the ways to and from the device included; best of many.
  virtual double TimeForward(const NetworkSpec& spec, const Model& model, const LensView& view,
                             const std::string& device) const = 0;
};

// Null where this build has none. Entry: extern "C" const TorchBackend* LumenTorchBackend().
const TorchBackend* FindTorchBackend();

// Whether a GPU's driver is there at all: cheap, and no promise.
bool MayHaveGpu();

// device: "auto" (a GPU where there is one, else the engine), "cpu" (the engine), "cuda" (throws InputError
// if there is none).
std::unique_ptr<Priors> MakePriors(const Model& model, const LensView& view, const PriorsOptions& options,
                                   const std::string& device);

}  // namespace lumen
