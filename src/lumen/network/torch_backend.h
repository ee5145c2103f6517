// The Torch backend: the same priors on Torch, on the CPU or on a GPU. It lives in a module of its own,
// built where Torch is found and loaded when asked for; this header needs no Torch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lumen/network/engine_priors.h"

namespace lumen {

// Several videos' frames through the networks at once: each video has a row of its own, with its mask and
// lens, and a run computes all rows in one go.
class NetworkRows {
 public:
  // What is computed: a frame's feature map, descriptors and average depth, or a keyframe's average depth
  // and bases.
  enum Program { kLive = 0, kBasis = 1 };
  static constexpr int kPrograms = 2;
  struct Map {
    const float* data = nullptr;  // interleaved
    int width = 0, height = 0, channels = 0;
    size_t Size() const { return static_cast<size_t>(width) * static_cast<size_t>(height * channels); }
  };

  virtual ~NetworkRows() = default;
  virtual int Count() const = 0;  // of each program
  virtual void SetView(Program program, int row, const LensView& view) = 0;
  // Where a row's picture goes: its pixels' bytes, red, green, blue.
  virtual uint8_t* Picture(Program program, int row) = 0;
  virtual void Run(Program program) = 0;
  // Of the last run.
  virtual std::vector<Map> Maps(Program program, int row) const = 0;
};

class TorchBackend {
 public:
  virtual ~TorchBackend() = default;
  virtual std::string Version() const = 0;
  virtual bool HaveCuda() const = 0;
  // device: "cpu" or "cuda".
  virtual std::unique_ptr<Priors> MakePriors(const Model& model, const LensView& view,
                                             const PriorsOptions& options,
                                             const std::string& device) const = 0;
  virtual std::unique_ptr<NetworkRows> MakeRows(const Model& model, const PriorsOptions& options, int rows,
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
