#include "lumen/io/png.h"

#include "fuzz/fuzz.h"
#include "lumen/base/error.h"

namespace lumen::fuzz {
namespace {

void ReadPng(const std::string& input) {
  try {
    const Image<uint16_t> deep = LoadPng16(WriteScratch("deep.png", input));
    Expect(deep.Channels() == 1 && !deep.Empty(), "16 bits are one channel");
  } catch (const InputError&) {
    // Most are of 8 bits.
  }
  const Image<uint8_t> image = DecodePng8(input, kName);
  Expect(!image.Empty() && (image.Channels() == 1 || image.Channels() == 3), "grey or colours");
  constexpr size_t kSmall = 1 << 14;
  if (image.Size() <= kSmall)
    Expect(DecodePng8(EncodePng(image), kName) == image, "what is written reads back");
}

const Registration kTarget("png", ReadPng);

}  // namespace
}  // namespace lumen::fuzz
