#include "lumen/io/hdf5_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>

#include "lumen/base/error.h"
#include "lumen/base/half.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/io/hdf5_handle.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;

// One dataset, in the process that reads.
class Dataset {
 public:
  Dataset(hid_t file, const std::string& name, const fs::path& path)
      : name_(name), path_(path), set_(Open(file, name, path)) {
    const Hdf5Handle space(H5Dget_space(set_.Id()), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space.Id());
    if (rank < 1) throw InputError(path, StrCat("\"", name, "\" is a single value, not an array"));
    shape_.resize(static_cast<size_t>(rank));
    H5Sget_simple_extent_dims(space.Id(), shape_.data(), nullptr);
    RequireOwnNumbers();
  }

  const std::vector<hsize_t>& Shape() const { return shape_; }
  bool HoldsHalves() const {
    const Hdf5Handle type(H5Dget_type(set_.Id()), H5Tclose), half = MakeHalfType();
    return H5Tequal(type.Id(), half.Id()) > 0;
  }

  // All of it, or one item along the first dimension.
  std::string Read(std::optional<hsize_t> item, hid_t type) const {
    std::vector<hsize_t> start(shape_.size(), 0), count = shape_;
    if (item) {
      if (*item >= shape_[0]) throw InputError(path_, StrCat("\"", name_, "\" has no item ", *item));
      start[0] = *item;
      count[0] = 1;
    }
    std::string bytes(CountOf(count) * H5Tget_size(type), '\0');
    if (bytes.empty()) return bytes;
    const Hdf5Handle space(H5Dget_space(set_.Id()), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                            H5Sclose);
    const bool good =
        H5Sselect_hyperslab(space.Id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
        H5Dread(set_.Id(), type, memory.Id(), space.Id(), H5P_DEFAULT, bytes.data()) >= 0;
    if (!good) throw InputError(path_, StrCat("\"", name_, "\" cannot be read"));
    return bytes;
  }

 private:
  size_t CountOf(const std::vector<hsize_t>& shape) const {
    constexpr uint64_t kMostValues = 4 * limits::kImagePixels;
    uint64_t count = 1;
    for (const hsize_t extent : shape) {
      if (extent > kMostValues) throw InputError(path_, StrCat("\"", name_, "\" is too large to be true"));
      count *= extent;
      if (count > kMostValues) throw InputError(path_, StrCat("\"", name_, "\" is too large to be true"));
    }
    return count;
  }

  // A link leads to other files, or round in circles.
  static Hdf5Handle Open(hid_t file, const std::string& name, const fs::path& path) {
    for (size_t end = name.find('/'); true; end = name.find('/', end + 1)) {
      const std::string part = name.substr(0, end);
      H5L_info_t link;
      if (H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0)
        throw InputError(path, StrCat("has no dataset \"", name, "\""));
      if (link.type != H5L_TYPE_HARD)
        throw InputError(path, StrCat("\"", part, "\" is a link, which is not followed"));
      if (end == std::string::npos) break;
    }
    Hdf5Handle set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!set.Valid()) throw InputError(path, StrCat("has no dataset \"", name, "\""));
    return set;
  }

  // Its values are numbers, and lie in this file.
  void RequireOwnNumbers() const {
    const Hdf5Handle made(H5Dget_create_plist(set_.Id()), H5Pclose);
    if (H5Pget_external_count(made.Id()) != 0 || H5Pget_layout(made.Id()) == H5D_VIRTUAL)
      throw InputError(path_, StrCat("\"", name_, "\" lies in another file, which is not read"));
    const Hdf5Handle type(H5Dget_type(set_.Id()), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type.Id());
    if (kind != H5T_INTEGER && kind != H5T_FLOAT)
      throw InputError(path_, StrCat("\"", name_, "\" does not hold numbers"));
  }

  std::string name_;
  fs::path path_;
  Hdf5Handle set_;
  std::vector<hsize_t> shape_;
};

// The reading process's side: answers "has NAME", "shape NAME", "find TYPE NAME", and "TYPE NAME" or "TYPE
// NAME ITEM".
class Server {
 public:
  explicit Server(fs::path path) : path_(std::move(path)) {}

  void Answer(std::string_view request, RecordWriter& out) {
    const std::vector<std::string> words = SplitWords(request);
    if (words[0] == "has") {
      out.Put(H5Lexists(File(), words[1].c_str(), H5P_DEFAULT) > 0);
      return;
    }
    if (words[0] == "find") return Find(words[1], words[2], out);
    const Dataset set(File(), words[1], path_);
    if (words[0] == "shape") {
      WriteShape(set, out);
    } else {
      const auto item = words.size() > 2 ? std::optional<hsize_t>(std::stoull(words[2])) : std::nullopt;
      const Hdf5Handle half = MakeHalfType();
      out.Write(set.Read(item, TypeOf(words[0], half.Id())));
    }
  }

 private:
  // Whether it is there; whether it holds halves, its shape, its values. "any" is what it holds of the two.
  void Find(const std::string& type, const std::string& name, RecordWriter& out) {
    const bool has = H5Lexists(File(), name.c_str(), H5P_DEFAULT) > 0;
    out.Put(has);
    if (!has) return;
    const Dataset set(File(), name, path_);
    const bool halves = set.HoldsHalves();
    out.Put(halves);
    WriteShape(set, out);
    const Hdf5Handle half = MakeHalfType();
    out.Write(set.Read(std::nullopt, TypeOf(type != "any" ? type : halves ? "f16" : "f32", half.Id())));
  }
  static void WriteShape(const Dataset& set, RecordWriter& out) {
    out.Write(set.Shape().data(), set.Shape().size() * sizeof(hsize_t));
  }
  static hid_t TypeOf(const std::string& name, hid_t half) {
    if (name == "u8") return H5T_NATIVE_UINT8;
    if (name == "i8") return H5T_NATIVE_CHAR;
    if (name == "i64") return H5T_NATIVE_INT64;
    if (name == "f32") return H5T_NATIVE_FLOAT;
    return name == "f64" ? H5T_NATIVE_DOUBLE : half;
  }

  hid_t File() {
    if (!file_) {
      H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // our own messages are enough
      file_.emplace(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
      if (!file_->Valid()) throw InputError(path_, "is not an HDF5 file");
    }
    return file_->Id();
  }

  fs::path path_;
  std::optional<Hdf5Handle> file_;
};

// What the server calls it.
template <typename T>
constexpr const char* TypeName() {
  if constexpr (std::is_same_v<T, uint8_t>) return "u8";
  if constexpr (std::is_same_v<T, char>) return "i8";
  if constexpr (std::is_same_v<T, uint16_t>) return "f16";
  if constexpr (std::is_same_v<T, int64_t>) return "i64";
  return std::is_same_v<T, float> ? "f32" : "f64";
}

const fs::path& RequireFile(const fs::path& path) {
  if (!fs::exists(path)) throw InputError(path, "no such file");
  if (!fs::is_regular_file(path)) throw InputError(path, "is not a regular file");
  return path;
}

}  // namespace

Hdf5Reader::Hdf5Reader(const fs::path& path)
    : reader_(std::make_unique<Isolated>(
          RequireFile(path).string(),
          [server = std::make_shared<Server>(path)](std::string_view request, RecordWriter& out) {
            server->Answer(request, out);
          })) {}

template <typename T>
std::vector<T> Hdf5Reader::Receive(const std::string& request) const {
  std::vector<T> values;
  reader_->Ask(request, [&](RecordReader& in) { values = in.ReadValues<T>(); });
  return values;
}

bool Hdf5Reader::Has(const std::string& name) const {
  bool has = false;
  reader_->Ask("has " + name, [&](RecordReader& in) { has = in.Get<bool>(); });
  return has;
}

Hdf5Shape Hdf5Reader::Shape(const std::string& name) const { return Receive<uint64_t>("shape " + name); }

template <typename T>
std::vector<T> Hdf5Reader::Read(const std::string& name) const {
  return Receive<T>(StrCat(TypeName<T>(), " ", name));
}

template <typename T>
std::optional<Hdf5Reader::Array<T>> Hdf5Reader::Find(const std::string& name) const {
  std::optional<Array<T>> found;
  reader_->Ask(StrCat("find ", TypeName<T>(), " ", name), [&](RecordReader& in) {
    if (!in.Get<bool>()) return;
    in.Get<bool>();
    Hdf5Shape shape = in.ReadValues<uint64_t>();
    found = {std::move(shape), in.ReadValues<T>()};
  });
  return found;
}

std::optional<Hdf5Reader::Array<float>> Hdf5Reader::FindFloats(const std::string& name) const {
  std::optional<Array<float>> found;
  reader_->Ask("find any " + name, [&](RecordReader& in) {
    if (!in.Get<bool>()) return;
    const bool halves = in.Get<bool>();
    found.emplace();
    found->shape = in.ReadValues<uint64_t>();
    if (!halves) {
      found->values = in.ReadValues<float>();
      return;
    }
    const std::vector<uint16_t> stored = in.ReadValues<uint16_t>();
    found->values.resize(stored.size());
    std::transform(stored.begin(), stored.end(), found->values.begin(), FromHalf);
  });
  return found;
}

template <typename T>
std::vector<T> Hdf5Reader::ReadItem(const std::string& name, int64_t index) const {
  return Receive<T>(StrCat(TypeName<T>(), " ", name, " ", index));
}

template std::vector<uint8_t> Hdf5Reader::Read(const std::string&) const;
template std::vector<char> Hdf5Reader::Read(const std::string&) const;
template std::vector<uint16_t> Hdf5Reader::Read(const std::string&) const;
template std::vector<int64_t> Hdf5Reader::Read(const std::string&) const;
template std::vector<float> Hdf5Reader::Read(const std::string&) const;
template std::vector<double> Hdf5Reader::Read(const std::string&) const;
template std::optional<Hdf5Reader::Array<uint8_t>> Hdf5Reader::Find(const std::string&) const;
template std::optional<Hdf5Reader::Array<char>> Hdf5Reader::Find(const std::string&) const;
template std::optional<Hdf5Reader::Array<int64_t>> Hdf5Reader::Find(const std::string&) const;
template std::optional<Hdf5Reader::Array<double>> Hdf5Reader::Find(const std::string&) const;
template std::vector<uint8_t> Hdf5Reader::ReadItem(const std::string&, int64_t) const;
template std::vector<float> Hdf5Reader::ReadItem(const std::string&, int64_t) const;
template std::vector<double> Hdf5Reader::ReadItem(const std::string&, int64_t) const;

}  // namespace lumen
