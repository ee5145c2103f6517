#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_formats.h"

namespace lumen::volume_formats {

namespace {

// Offsets in NIfTI-1's header.
constexpr size_t kHeader = 348, kDim = 40, kDatatype = 70, kPixdim = 76, kVoxOffset = 108, kSlope = 112,
                 kIntercept = 116, kUnits = 123, kQformCode = 252, kSformCode = 254, kQuaternion = 256,
                 kQoffset = 268, kSrow = 280, kMagic = 344;

class Header {
 public:
  Header(const std::string& bytes, const std::string& name) : bytes_(bytes) {
    if (bytes.size() < kHeader + 4) throw InputError(name, "the file is cut short");
    swap_ = Get<int32_t>(0) != static_cast<int32_t>(kHeader);
    if (Get<int32_t>(0) != static_cast<int32_t>(kHeader) || bytes.substr(kMagic, 3) != "n+1")
      throw InputError(name, "is not a NIfTI-1 file in one piece");
  }
  template <typename T>
  T Get(size_t at) const {
    char raw[sizeof(T)];
    std::memcpy(raw, bytes_.data() + at, sizeof(T));
    if (swap_) std::reverse(raw, raw + sizeof(T));
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return value;
  }
  double Real(size_t at) const { return static_cast<double>(Get<float>(at)); }
  bool Swapped() const { return swap_; }

 private:
  const std::string& bytes_;
  bool swap_ = false;
};

VoxelType TypeOf(int code, const std::string& name) {
  static constexpr std::pair<int, VoxelType> kTypes[] = {
      {2, VoxelType::kUint8},    {4, VoxelType::kInt16},    {8, VoxelType::kInt32},
      {16, VoxelType::kFloat32}, {64, VoxelType::kFloat64}, {256, VoxelType::kInt8},
      {512, VoxelType::kUint16}, {768, VoxelType::kUint32}};
  for (const auto& [known, type] : kTypes)
    if (known == code) return type;
  throw InputError(name, StrCat("holds voxels of NIfTI type ", code, ", which is not a scalar Lumen reads"));
}

// The header's own rule: sform where it is set, else qform, else spacing alone.
Eigen::Matrix4d RasFromIndex(const Header& header) {
  const Eigen::Vector3d spacing(header.Real(kPixdim + 4), header.Real(kPixdim + 8),
                                header.Real(kPixdim + 12));
  if (header.Get<int16_t>(kSformCode) > 0) {
    Eigen::Matrix4d transform = Eigen::Matrix4d::Identity();
    for (size_t r = 0; r < 3; ++r)
      for (size_t c = 0; c < 4; ++c)
        transform(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) =
            header.Real(kSrow + 16 * r + 4 * c);
    return transform;
  }
  if (header.Get<int16_t>(kQformCode) <= 0)
    return MakeTransform(spacing.asDiagonal().toDenseMatrix(), Eigen::Vector3d::Zero());
  const Eigen::Vector3d v(header.Real(kQuaternion), header.Real(kQuaternion + 4),
                          header.Real(kQuaternion + 8));
  const Eigen::Quaterniond rotation(std::sqrt(std::max(0.0, 1 - v.squaredNorm())), v.x(), v.y(), v.z());
  const double handedness = header.Real(kPixdim) < 0 ? -1 : 1;
  const Eigen::Vector3d steps(spacing.x(), spacing.y(), handedness * spacing.z());
  const Eigen::Vector3d offset(header.Real(kQoffset), header.Real(kQoffset + 4), header.Real(kQoffset + 8));
  return MakeTransform(rotation.normalized().toRotationMatrix() * steps.asDiagonal(), offset);
}

double MillimetresPerUnit(int code) {
  constexpr int kMetre = 1, kMicrometre = 3;
  return (code & 7) == kMetre ? 1000 : (code & 7) == kMicrometre ? 1e-3 : 1;
}

template <typename T>
void Put(std::string& header, size_t at, T value) {
  std::memcpy(header.data() + at, &value, sizeof(T));
}

}  // namespace

Volume ParseNifti(const std::string& bytes, const std::string& name) {
  const Header header(bytes, name);
  const int dimensions = header.Get<int16_t>(kDim);
  Volume volume;
  for (int k = 0; k < 3; ++k) volume.size[k] = header.Get<int16_t>(kDim + 2 + 2 * static_cast<size_t>(k));
  const bool more = dimensions > 3 && header.Get<int16_t>(kDim + 8) > 1;
  if (dimensions < 3 || more) throw InputError(name, "is not one volume of three dimensions");
  RawVoxels raw;
  raw.type = TypeOf(header.Get<int16_t>(kDatatype), name);
  raw.swap_bytes = header.Swapped();
  if (header.Real(kSlope) != 0 && std::isfinite(header.Real(kSlope))) {
    raw.slope = header.Real(kSlope);
    raw.intercept = header.Real(kIntercept);
  }
  FillValues(bytes, static_cast<size_t>(std::max(0.0, header.Real(kVoxOffset))), raw, name, volume);
  const double unit = MillimetresPerUnit(header.Get<uint8_t>(kUnits));
  Eigen::Matrix4d ras_from_index = RasFromIndex(header);
  ras_from_index.topRows<3>() *= unit;
  volume.lps_from_index = SwapRasAndLps(ras_from_index);
  return volume;
}

std::string FormatNifti(const Volume& volume) {
  constexpr size_t kBody = 352;
  std::string out(kBody, '\0');
  Put(out, 0, static_cast<int32_t>(kHeader));
  Put(out, kDim, int16_t{3});
  const Eigen::Matrix4d ras_from_index = SwapRasAndLps(volume.lps_from_index);
  for (int k = 0; k < 3; ++k) {
    const auto at = static_cast<size_t>(k);
    Put(out, kDim + 2 + 2 * at, static_cast<int16_t>(volume.size[k]));
    Put(out, kPixdim + 4 + 4 * at, static_cast<float>(volume.lps_from_index.col(k).head<3>().norm()));
    for (int c = 0; c < 4; ++c)
      Put(out, kSrow + 16 * at + 4 * static_cast<size_t>(c), static_cast<float>(ras_from_index(k, c)));
  }
  constexpr int16_t kInt16 = 4, kBits = 16, kScannerFrame = 1;
  Put(out, kDatatype, kInt16);
  Put(out, kDatatype + 2, kBits);
  Put(out, kVoxOffset, static_cast<float>(kBody));
  Put(out, kUnits, uint8_t{2});
  Put(out, kSformCode, kScannerFrame);
  std::memcpy(out.data() + kMagic, "n+1", 3);
  return out + FormatVoxels(volume);
}

}  // namespace lumen::volume_formats
