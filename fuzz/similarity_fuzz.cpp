// A transform or pairs of points to begin a registration with, as text: each input is read as both.
#include "fuzz/fuzz.h"
#include "lumen/apps/registering.h"
#include "lumen/base/error.h"

namespace lumen::fuzz {
namespace {

void ReadSimilarity(const std::string& input) {
  const std::filesystem::path path = WriteScratch("start.txt", input);
  try {
    Expect(LoadPairs(path).Matrix().allFinite(), "a similarity is finite");
  } catch (const InputError&) {
    // It may be a matrix.
  }
  Expect(LoadSimilarity(path).Matrix().allFinite(), "a similarity is finite");
}

const Registration kTarget("similarity", ReadSimilarity);

}  // namespace
}  // namespace lumen::fuzz
