// The networks' weights. A whole model is far larger than an input; the first tensors of one are not.
#include "lumen/network/weights.h"

#include "fuzz/fuzz.h"

namespace lumen::fuzz {
namespace {

void ReadWeights(const std::string& input) { ParseModel(input, kName); }

const Registration kTarget("weights", ReadWeights);

}  // namespace
}  // namespace lumen::fuzz
