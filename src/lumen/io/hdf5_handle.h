// An HDF5 handle that closes itself.
#pragma once

#include <hdf5.h>

#include <utility>

namespace lumen {

class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  hid_t Id() const { return id_; }
  bool Valid() const { return id_ >= 0; }
  // What was written may only now meet the disk: false if that fails.
  bool Close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// IEEE's half precision, which HDF5 has no name for.
inline Hdf5Handle MakeHalfType() {
  Hdf5Handle half(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(half.Id(), 15, 10, 5, 0, 10);
  H5Tset_size(half.Id(), 2);
  H5Tset_ebias(half.Id(), 15);
  return half;
}

}  // namespace lumen
