#include "lumen/base/safetensors.h"

#include "fuzz/fuzz.h"

namespace lumen::fuzz {
namespace {

void ReadSafetensors(const std::string& input) {
  const TensorFile file = ParseSafetensors(input, kName);
  for (const auto& [name, tensor] : file.tensors) {
    int64_t size = 1;
    for (const int64_t extent : tensor.shape) size *= extent;
    Expect(size == tensor.Size(), "a tensor has as many values as its shape says");
  }
  const std::string written = FormatSafetensors(file);
  Expect(FormatSafetensors(ParseSafetensors(written, kName)) == written, "what is written reads back");
}

const Registration kTarget("safetensors", ReadSafetensors);

}  // namespace
}  // namespace lumen::fuzz
