#include "lumen/network/weights.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr const char* kHashKey = "lumen.hash";
constexpr const char* kArchitectureKey = "lumen.architecture";

std::string DescribeBoth(const Model& model) {
  return DescribeSpec(model.depth) + DescribeSpec(model.feature);
}

void CheckTensor(const TensorSpec& spec, const TensorFile& file, const std::string& name) {
  const auto found = file.tensors.find(spec.name);
  if (found == file.tensors.end())
    throw InputError(name, StrCat("tensor \"", spec.name, "\" is missing: another architecture?"));
  const std::vector<int64_t> shape(spec.shape.begin(), spec.shape.end());
  if (found->second.shape != shape)
    throw InputError(name, StrCat("tensor \"", spec.name, "\" has another shape than the architecture's"));
  for (const float value : found->second.values) {
    if (!std::isfinite(value))
      throw InputError(name, StrCat("tensor \"", spec.name, "\" holds a number that is not finite"));
  }
}

// Channels of a head's output: the one size a file may choose.
constexpr int64_t kMostOutputChannels = 4096;  // far beyond any that is of use

int ReadOutputChannels(const TensorFile& file, const std::string& tensor, int fallback,
                       const std::string& name) {
  const auto found = file.tensors.find(tensor);
  if (found == file.tensors.end() || found->second.shape.size() != 4) return fallback;
  const auto channels = static_cast<int64_t>(found->second.shape[0]);
  if (channels < 1 || channels > kMostOutputChannels)
    throw InputError(name, StrCat("tensor ", tensor, " gives ", channels, " channels"));
  return static_cast<int>(channels);
}

bool KnowsLens(const TensorFile& file) {
  const auto found = file.tensors.find("depth.trunk.pre_down.conv1.weight");
  return found == file.tensors.end() || found->second.shape.size() != 4 || found->second.shape[1] != 3;
}

}  // namespace

Model ParseModel(const std::string& bytes, const std::string& name) {
  TensorFile file = ParseSafetensors(bytes, name);
  Model model;
  model.depth =
      MakeDepthSpec(ReadOutputChannels(file, "depth.bases.2.conv2.weight", 16, name), KnowsLens(file));
  model.feature = MakeFeatureSpec(ReadOutputChannels(file, "feature.map.2.conv2.weight", 16, name));
  size_t expected = 0;
  for (const NetworkSpec* spec : {&model.depth, &model.feature}) {
    for (const TensorSpec& tensor : ListTensors(*spec)) {
      CheckTensor(tensor, file, name);
      ++expected;
    }
  }
  if (file.tensors.size() != expected)
    throw InputError(name, StrCat("holds ", file.tensors.size(), " tensors, not ", expected));
  model.hash = HashTensors(file.tensors);
  const auto stored = file.metadata.find(kHashKey);
  if (stored != file.metadata.end() && stored->second != model.hash)
    throw InputError(name, "the weights do not match their hash: the file is damaged");
  model.tensors = std::move(file.tensors);
  model.metadata = std::move(file.metadata);
  return model;
}

Model LoadModel(const std::filesystem::path& path) { return ParseModel(ReadFile(path), path.string()); }

void SaveModel(const std::filesystem::path& path, const Model& model) {
  TensorFile file{model.tensors, model.metadata};
  file.metadata[kHashKey] = HashTensors(model.tensors);
  file.metadata[kArchitectureKey] = DescribeBoth(model);
  SaveSafetensors(path, file);
}

std::map<std::string, Tensor> MakeRandomTensors(const NetworkSpec& spec, uint64_t seed) {
  std::map<std::string, Tensor> tensors;
  for (const TensorSpec& shape : ListTensors(spec)) {
    Tensor& tensor = tensors[shape.name];
    tensor.shape.assign(shape.shape.begin(), shape.shape.end());
    int64_t size = 1;
    for (const int64_t extent : tensor.shape) size *= extent;
    tensor.values.assign(static_cast<size_t>(size), EndsWith(shape.name, "norm.weight") ? 1.0F : 0.0F);
    if (shape.shape.size() != 4) continue;
    Random random = Random(seed).Split(shape.name);
    const double bound = std::sqrt(6.0 / (9.0 * (shape.shape[0] + shape.shape[1])));
    for (float& value : tensor.values) value = static_cast<float>(random.Uniform(-bound, bound));
  }
  return tensors;
}

void TellLens(Model& model) {
  if (model.depth.input_channels != 3) return;
  model.depth.input_channels = 4;
  Tensor& weight = model.tensors.at("depth.trunk.pre_down.conv1.weight");
  LUMEN_CHECK(weight.shape.size() == 4 && weight.shape[1] == 3);
  std::vector<float> wider;
  const size_t per_output = 3 * 9;
  for (size_t begin = 0; begin < weight.values.size(); begin += per_output) {
    const auto from = weight.values.begin() + static_cast<std::ptrdiff_t>(begin);
    wider.insert(wider.end(), from, from + per_output);
    wider.insert(wider.end(), 9, 0.0F);
  }
  weight.values = std::move(wider);
  weight.shape[1] = 4;
  model.hash = HashTensors(model.tensors);
}

Model MakeRandomModel(uint64_t seed) {
  Model model;
  model.tensors = MakeRandomTensors(model.depth, seed);
  model.tensors.merge(MakeRandomTensors(model.feature, seed + 1));
  model.hash = HashTensors(model.tensors);
  return model;
}

}  // namespace lumen
