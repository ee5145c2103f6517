#include "lumen/base/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");
constexpr uint64_t kMaxHeader = 100'000'000;

float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fU;
  const uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0)
    return std::bit_cast<float>(sign) + (sign != 0 ? -1.0F : 1.0F) * static_cast<float>(mantissa) * 0x1p-24F;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

struct Range {
  uint64_t begin = 0, end = 0;
};

class SafetensorsParser {
 public:
  SafetensorsParser(const std::string& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  TensorFile Parse() {
    uint64_t header_size = 0;
    if (bytes_.empty()) Fail("is empty");
    if (bytes_.size() < 8) Fail("is not a safetensors file");
    std::memcpy(&header_size, bytes_.data(), 8);
    if (header_size > kMaxHeader || header_size > bytes_.size() - 8)
      Fail("is not a safetensors file, or is cut short");
    const std::string_view text = std::string_view(bytes_).substr(8, header_size);
    if (ToValidUtf8(text) != text) Fail("the header is not UTF-8");
    const Json header = Json::Parse(text, name_);
    if (!header.IsObject()) Fail("the header is not an object");
    data_begin_ = 8 + header_size;
    for (const auto& [key, entry] : header.AsObject()) {
      if (key == "__metadata__")
        ReadMetadata(entry);
      else
        ReadTensor(key, entry);
    }
    CheckRanges();
    return std::move(file_);
  }

 private:
  [[noreturn]] void Fail(const std::string& reason) const { throw InputError(name_, reason); }

  void ReadMetadata(const Json& entry) {
    if (!entry.IsObject()) Fail("the metadata is not an object");
    for (const auto& [key, value] : entry.AsObject()) {
      if (!value.IsString()) Fail(StrCat("metadata \"", key, "\" is not a string"));
      file_.metadata[key] = value.AsString();
    }
  }

  uint64_t ReadCount(const Json& value, const std::string& key) const {
    if (!value.IsInteger() || value.AsInteger() < 0)
      Fail(StrCat("tensor \"", key, "\" has a damaged header"));
    return static_cast<uint64_t>(value.AsInteger());
  }

  void ReadTensor(const std::string& key, const Json& entry) {
    const Json* type = entry.Find("dtype");
    const Json* shape = entry.Find("shape");
    const Json* offsets = entry.Find("data_offsets");
    const bool whole = type != nullptr && type->IsString() && shape != nullptr && shape->IsArray() &&
                       offsets != nullptr && offsets->IsArray() && offsets->AsArray().size() == 2;
    if (!whole) Fail(StrCat("tensor \"", key, "\" has a damaged header"));
    const bool half = type->AsString() == "F16";
    if (!half && type->AsString() != "F32")
      Fail(StrCat("tensor \"", key, "\" is of type ", type->AsString(), ", not F32 or F16"));
    Tensor tensor;
    uint64_t size = 1;
    for (const Json& extent : shape->AsArray()) {
      const uint64_t count = ReadCount(extent, key);
      if (count > bytes_.size() || (count != 0 && size > bytes_.size() / count))
        Fail(StrCat("tensor \"", key, "\" is larger than the file"));
      size *= count;
      tensor.shape.push_back(static_cast<int64_t>(count));
    }
    const Range range{ReadCount(offsets->AsArray()[0], key), ReadCount(offsets->AsArray()[1], key)};
    const uint64_t available = bytes_.size() - data_begin_;
    if (range.begin > range.end || range.end > available)
      Fail(StrCat("tensor \"", key, "\" lies beyond the end: the file is cut short"));
    if (range.end - range.begin != size * (half ? 2 : 4))
      Fail(StrCat("tensor \"", key, "\" does not have the size its shape says"));
    ranges_.push_back(range);
    CopyValues(range, half, tensor);
    if (!file_.tensors.emplace(key, std::move(tensor)).second)
      Fail(StrCat("tensor \"", key, "\" is given twice"));
  }

  void CopyValues(const Range& range, bool half, Tensor& tensor) const {
    const char* source = bytes_.data() + data_begin_ + range.begin;
    const size_t count = (range.end - range.begin) / (half ? 2 : 4);
    tensor.values.resize(count);
    if (count == 0) return;
    if (!half) {
      std::memcpy(tensor.values.data(), source, 4 * count);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      uint16_t value = 0;
      std::memcpy(&value, source + 2 * i, 2);
      tensor.values[i] = HalfToFloat(value);
    }
  }

  // Tensors must not share bytes.
  void CheckRanges() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].begin < ranges_[i - 1].end) Fail("two tensors overlap");
    }
  }

  const std::string& bytes_;
  const std::string& name_;
  uint64_t data_begin_ = 0;
  std::vector<Range> ranges_;
  TensorFile file_;
};

}  // namespace

TensorFile ParseSafetensors(const std::string& bytes, const std::string& name) {
  return SafetensorsParser(bytes, name).Parse();
}

TensorFile LoadSafetensors(const std::filesystem::path& path) {
  return ParseSafetensors(ReadFile(path), path.string());
}

std::string FormatSafetensors(const TensorFile& file) {
  Json header = Json::MakeObject();
  if (!file.metadata.empty()) {
    Json metadata = Json::MakeObject();
    for (const auto& [key, value] : file.metadata) metadata[key] = value;
    header["__metadata__"] = std::move(metadata);
  }
  uint64_t offset = 0;
  for (const auto& [key, tensor] : file.tensors) {
    Json entry;
    entry["dtype"] = "F32";
    entry["shape"] = Json::MakeArray();
    for (const int64_t extent : tensor.shape) entry["shape"].Append(extent);
    const uint64_t end = offset + 4 * tensor.values.size();
    entry["data_offsets"] = Json::Array{Json(offset), Json(end)};
    header[key] = std::move(entry);
    offset = end;
  }
  std::string text = header.Dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data begins aligned
  const uint64_t size = text.size();
  std::string out(reinterpret_cast<const char*>(&size), 8);
  out += text;
  for (const auto& [key, tensor] : file.tensors)
    out.append(reinterpret_cast<const char*>(tensor.values.data()), 4 * tensor.values.size());
  return out;
}

void SaveSafetensors(const std::filesystem::path& path, const TensorFile& file) {
  WriteFileAtomically(path, FormatSafetensors(file));
}

std::string HashTensors(const std::map<std::string, Tensor>& tensors) {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  const auto add = [&](const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  };
  for (const auto& [name, tensor] : tensors) {
    add(name.data(), name.size());
    add(tensor.shape.data(), tensor.shape.size() * sizeof(int64_t));
    add(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
  char text[20];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace lumen
