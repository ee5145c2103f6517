// Numbers to little-endian bytes, as the page reads them.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "lumen/geometry/rigid3.h"

namespace lumen {

class Bytes {
 public:
  void U8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void U16(uint16_t value) { Little(value, 2); }
  void U32(uint32_t value) { Little(value, 4); }
  void U64(uint64_t value) { Little(value, 8); }
  void I32(int32_t value) { U32(static_cast<uint32_t>(value)); }
  void F32(double value) { U32(std::bit_cast<uint32_t>(static_cast<float>(value))); }
  void Text(std::string_view text) { bytes_ += text; }
  void Pad(size_t multiple) { bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple, '\0'); }
  // Translation, then the quaternion as x, y, z, w: seven numbers.
  void Pose(const Rigid3& pose) {
    for (int i = 0; i < 3; ++i) F32(pose.Translation()[i]);
    const Eigen::Quaterniond& q = pose.Rotation();
    for (const double value : {q.x(), q.y(), q.z(), q.w()}) F32(value);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Little(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) U8(static_cast<uint8_t>(value >> (8 * i)));
  }
  std::string bytes_;
};

}  // namespace lumen
