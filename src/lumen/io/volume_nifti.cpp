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

// Where voxels begin: whole bytes behind the header.
size_t BodyOffset(const Header& header, const std::string& name) {
  constexpr double kLeast = kHeader + 4, kMost = 1 << 30;
  const double offset = header.Real(kVoxOffset);
  if (!(offset >= kLeast && offset <= kMost) || offset != std::floor(offset))
    throw InputError(name,
                     StrCat("its voxels begin at byte ", FormatDouble(offset), ", it says (vox_offset)"));
  return static_cast<size_t>(offset);
}

Eigen::Vector3i SizeOf(const Header& header, const std::string& name) {
  const int dimensions = header.Get<int16_t>(kDim);
  const bool more = dimensions > 3 && header.Get<int16_t>(kDim + 8) > 1;
  if (dimensions < 3 || dimensions > 7 || more)
    throw InputError(name, "is not one volume of three dimensions");
  Eigen::Vector3i size;
  for (int k = 0; k < 3; ++k) size[k] = header.Get<int16_t>(kDim + 2 + 2 * static_cast<size_t>(k));
  return size;
}

// Two sizes of one voxel, in the spacing and in the axes, are one too many.
void RequireOneSpacing(const Header& header, const Eigen::Matrix4d& ras_from_index, const std::string& name) {
  for (int k = 0; k < 3; ++k) {
    const double spacing = header.Real(kPixdim + 4 + 4 * static_cast<size_t>(k));
    const double step = ras_from_index.col(k).head<3>().norm();
    if (!(std::abs(spacing - step) <= 0.1 * step))
      throw InputError(name, StrCat("its spacing along axis ", k + 1, " is ", FormatDouble(spacing),
                                    ", and its axes say ", FormatDouble(step)));
  }
}

// The header's own rule: sform where it is set, else qform. Spacing alone, as older files have it, does not
// say which side is left.
Eigen::Matrix4d RasFromIndex(const Header& header, const std::string& name) {
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
    throw InputError(name, "does not say how it lies in space (no sform, no qform)");
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

std::string UnpackNifti(const std::string& bytes, const std::string& name) {
  const std::string start = InflateStart(bytes, kHeader + 4, name);
  const Header header(start, name);
  const size_t body = BodyBytes(SizeOf(header, name), TypeOf(header.Get<int16_t>(kDatatype), name), name);
  return Inflate(bytes, BodyOffset(header, name) + body, name);
}

Volume ParseNifti(const std::string& bytes, const std::string& name) {
  const Header header(bytes, name);
  Volume volume;
  volume.size = SizeOf(header, name);
  RawVoxels raw;
  raw.type = TypeOf(header.Get<int16_t>(kDatatype), name);
  raw.swap_bytes = header.Swapped();
  const double slope = header.Real(kSlope), intercept = header.Real(kIntercept);
  if (slope != 0 && !std::isnan(slope)) {  // both mean that there is none
    if (!std::isfinite(slope) || !std::isfinite(intercept))
      throw InputError(name, "its scale (scl_slope, scl_inter) is not a number");
    raw.slope = slope;
    raw.intercept = intercept;
  }
  Eigen::Matrix4d ras_from_index = RasFromIndex(header, name);
  RequireOneSpacing(header, ras_from_index, name);
  FillValues(bytes, BodyOffset(header, name), raw, name, volume);
  ras_from_index.topRows<3>() *= MillimetresPerUnit(header.Get<uint8_t>(kUnits));
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
