// Numbers out of an HDF5 file. The library does not survive every damaged file, so it reads in a process of
// its own (base/isolated.h): whatever happens there is an InputError here. Links are not followed, and values
// that lie in other files are not read.
#pragma once

#include <filesystem>
#include <memory>
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
  bool HoldsHalves(const std::string& name) const;  // 16-bit floating point
  Hdf5Shape Shape(const std::string& name) const;
  // T: uint8_t, char, uint16_t (half precision as it lies), int64_t, float or double; converted where need
  // be.
  template <typename T>
  std::vector<T> Read(const std::string& name) const;
  // One item along the first dimension.
  template <typename T>
  std::vector<T> ReadItem(const std::string& name, int64_t index) const;

 private:
  template <typename T>
  std::vector<T> Receive(const std::string& request) const;
  std::unique_ptr<Isolated> reader_;
};

}  // namespace lumen
