// Numbers out of an HDF5 file. The library does not survive every damaged file, so it reads in a process of
// its own (base/isolated.h): whatever happens there is an InputError here. Links are not followed, and values
// that lie in other files are not read.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lumen/base/isolated.h"

namespace lumen {

using Hdf5Shape = std::vector<uint64_t>;

class Hdf5Reader {
 public:
  // Throws InputError where there is no regular file; one that is no HDF5 is noticed by the first question.
  explicit Hdf5Reader(const std::filesystem::path& path);

  bool Has(const std::string& name) const;
  Hdf5Shape Shape(const std::string& name) const;
  // T: uint8_t, char, uint16_t (half precision as it lies), int64_t, float or double; converted where need
  // be.
  template <typename T>
  std::vector<T> Read(const std::string& name) const;
  // Both at once, or nothing where there is no such name: one question, where the above are three.
  template <typename T>
  struct Array {
    Hdf5Shape shape;
    std::vector<T> values;
  };
  template <typename T>
  std::optional<Array<T>> Find(const std::string& name) const;
  // The same of 16-bit and 32-bit floating point.
  std::optional<Array<float>> FindFloats(const std::string& name) const;
  // One item along the first dimension.
  template <typename T>
  std::vector<T> ReadItem(const std::string& name, int64_t index) const;

 private:
  template <typename T>
  std::vector<T> Receive(const std::string& request) const;
  std::unique_ptr<Isolated> reader_;
};

}  // namespace lumen
