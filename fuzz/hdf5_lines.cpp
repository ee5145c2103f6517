#include "fuzz/hdf5_lines.h"

#include <hdf5.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "fuzz/fuzz.h"
#include "lumen/base/half.h"
#include "lumen/base/text.h"
#include "lumen/io/hdf5_handle.h"

namespace lumen::fuzz {

namespace {

struct Lines {
  std::string name, kind;
  std::vector<hsize_t> shape;
  std::vector<double> values;
};

std::optional<Lines> ParseLine(const std::string& line) {
  constexpr size_t kMostDimensions = 6;
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::vector<std::string> words = SplitWords(line.substr(0, colon));
  if (words.size() < 2 || words.size() > 2 + kMostDimensions) return std::nullopt;
  Lines set{words[0], words[1], {}, {}};
  for (size_t i = 2; i < words.size(); ++i) {
    const auto extent = ParseInteger(words[i]);
    if (!extent || *extent < 0) return std::nullopt;
    set.shape.push_back(static_cast<hsize_t>(*extent));
  }
  for (const std::string& word : SplitWords(line.substr(colon + 1)))
    set.values.push_back(ParseDouble(word).value_or(0));
  return set;
}

// Nothing is written where there is too much of it; the library then reads zeros.
bool IsSmall(const std::vector<hsize_t>& shape) {
  constexpr hsize_t kMost = 1 << 16;
  hsize_t count = 1;
  for (const hsize_t extent : shape) {
    if (extent > kMost) return false;
    count *= extent;
    if (count > kMost) return false;
  }
  return true;
}

// A type with its values as they lie in the file: HDF5 takes a megabyte to convert them.
struct Stored {
  Hdf5Handle type;
  std::string bytes;
};

template <typename T, typename Convert>
Stored Store(Hdf5Handle type, const std::vector<double>& values, const Convert& convert) {
  Stored stored{std::move(type), {}};
  for (const double value : values) {
    const T converted = convert(value);
    stored.bytes.append(reinterpret_cast<const char*>(&converted), sizeof(T));
  }
  return stored;
}

// What does not fit becomes the nearest that does.
template <typename T>
T Fit(double value) {
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
  if (!std::numeric_limits<T>::is_integer) return static_cast<T>(value);
  if (!(value > kLeast)) return std::numeric_limits<T>::lowest();
  return value < kMost ? static_cast<T>(value) : std::numeric_limits<T>::max();
}

Stored Store(const std::string& kind, const std::vector<double>& values) {
  const auto copy = [](hid_t type) { return Hdf5Handle(H5Tcopy(type), H5Tclose); };
  if (kind == "u8") return Store<uint8_t>(copy(H5T_STD_U8LE), values, Fit<uint8_t>);
  if (kind == "i8") return Store<int8_t>(copy(H5T_STD_I8LE), values, Fit<int8_t>);
  if (kind == "u16") return Store<uint16_t>(copy(H5T_STD_U16LE), values, Fit<uint16_t>);
  if (kind == "i64") return Store<int64_t>(copy(H5T_STD_I64LE), values, Fit<int64_t>);
  if (kind == "u64") return Store<uint64_t>(copy(H5T_STD_U64LE), values, Fit<uint64_t>);
  if (kind == "f16")
    return Store<uint16_t>(MakeHalfType(), values,
                           [](double value) { return ToHalf(static_cast<float>(value)); });
  if (kind == "f32") return Store<float>(copy(H5T_IEEE_F32LE), values, Fit<float>);
  if (kind == "text") return Store<char>(copy(H5T_C_S1), values, Fit<char>);
  return Store<double>(copy(H5T_IEEE_F64LE), values, Fit<double>);
}

void WriteSet(hid_t file, const Lines& set) {
  const Hdf5Handle space(
      set.shape.empty() ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(static_cast<int>(set.shape.size()), set.shape.data(), nullptr),
      H5Sclose);
  size_t count = IsSmall(set.shape) && !set.values.empty() ? 1 : 0;
  if (count > 0)
    for (const hsize_t extent : set.shape) count *= extent;
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = set.values[i % set.values.size()];
  const Stored stored = Store(set.kind, values);
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links.Id(), 1);
  const Hdf5Handle made(
      H5Dcreate2(file, set.name.c_str(), stored.type.Id(), space.Id(), links.Id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  if (made.Valid() && count > 0)
    H5Dwrite(made.Id(), stored.type.Id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.bytes.data());
}

}  // namespace

std::filesystem::path WriteHdf5(const std::string& name, const std::string& input) {
  if (StartsWith(input, "\x89HDF")) return WriteScratch(name, input);
  const std::filesystem::path path = Scratch() / name;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  Expect(file.Valid(), "the input's own file can be written");
  for (const std::string& line : Split(input, '\n'))
    if (const auto set = ParseLine(line)) WriteSet(file.Id(), *set);
  return path;
}

}  // namespace lumen::fuzz
