// Safetensors files: an 8-byte header length, a JSON header (names, types, shapes, offsets, metadata),
// then the raw little-endian data. Reading checks everything: a damaged file is one clear line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lumen {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
  int64_t Size() const { return static_cast<int64_t>(values.size()); }
};

struct TensorFile {
  std::map<std::string, Tensor> tensors;  // 32-bit floats; 16-bit ones are widened
  std::map<std::string, std::string> metadata;
};

TensorFile ParseSafetensors(const std::string& bytes, const std::string& name);  // throws InputError
TensorFile LoadSafetensors(const std::filesystem::path& path);
std::string FormatSafetensors(const TensorFile& file);
void SaveSafetensors(const std::filesystem::path& path, const TensorFile& file);  // atomically

// A hash of all tensors, their names and shapes.
std::string HashTensors(const std::map<std::string, Tensor>& tensors);

}  // namespace lumen
