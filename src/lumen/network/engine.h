// The engine: runs one network on the CPU for one video. Everything that depends on the weights and the
// mask alone is prepared at construction; a frame then allocates nothing but its outputs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lumen/base/safetensors.h"
#include "lumen/network/architecture.h"
#include "lumen/network/arithmetic.h"
#include "lumen/network/lens_view.h"

namespace lumen {

struct EngineOptions {
  int threads = 1;
  // What to compute in: half precision, or single where null.
  const Arithmetic<Half>* half = nullptr;
};

class NetworkEngine {
 public:
  // The view is of the network's input size. Throws InputError if its mask has no valid pixel.
  NetworkEngine(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors, const LensView& view,
                const EngineOptions& options = {});
  ~NetworkEngine();

  const NetworkSpec& Spec() const { return spec_; }

  // The trunk, whose output is kept; then any of the heads, as often as wanted.
  void RunTrunk(ImageView<const uint8_t> rgb);
  Image<float> RunHead(int head);  // interleaved; 0 outside the dilated mask
  // Whether the last head's numbers lay within what they are computed in: half precision ends at 65504.
  bool IsFinite() const;

 private:
  class Runner;
  template <typename T>
  class TypedRunner;

  NetworkSpec spec_;
  std::unique_ptr<Runner> runner_;
  bool have_trunk_ = false;
};

}  // namespace lumen
