// A model: both networks' weights with what is known about them, in one safetensors file.
#pragma once

#include "lumen/base/safetensors.h"
#include "lumen/network/architecture.h"

namespace lumen {

struct Model {
  NetworkSpec depth = MakeDepthSpec();
  NetworkSpec feature = MakeFeatureSpec();
  std::map<std::string, Tensor> tensors;        // of both, by full name
  std::map<std::string, std::string> metadata;  // training facts, in words
  std::string hash;
};

// Checks names, shapes, finite values and the hash; throws InputError with one line that says what is wrong.
Model LoadModel(const std::filesystem::path& path);
Model ParseModel(const std::string& bytes, const std::string& name);
void SaveModel(const std::filesystem::path& path, const Model& model);

// Gives the depth network of an older model the lens as a fourth channel, which it does not heed yet: it
// computes what it did before.
void TellLens(Model& model);

// Xavier-uniform weights, zero biases, unit norms: how training starts, and what tests run on.
Model MakeRandomModel(uint64_t seed);
std::map<std::string, Tensor> MakeRandomTensors(const NetworkSpec& spec, uint64_t seed);

}  // namespace lumen
