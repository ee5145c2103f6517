#include "lumen/io/volume_file.h"

#include <zlib.h>

#include <Eigen/LU>
#include <cmath>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/module.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_formats.h"

namespace lumen {

namespace fs = std::filesystem;

namespace volume_formats {

namespace {

template <typename T>
void FillAs(const char* bytes, const RawVoxels& raw, std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    char buffer[sizeof(T)];
    std::memcpy(buffer, bytes + i * sizeof(T), sizeof(T));
    if (raw.swap_bytes) std::reverse(buffer, buffer + sizeof(T));
    T value;
    std::memcpy(&value, buffer, sizeof(T));
    values[i] = static_cast<float>(raw.slope * static_cast<double>(value) + raw.intercept);
  }
}

}  // namespace

size_t BytesOf(VoxelType type) {
  switch (type) {
    case VoxelType::kInt8:
    case VoxelType::kUint8:
      return 1;
    case VoxelType::kInt16:
    case VoxelType::kUint16:
      return 2;
    case VoxelType::kInt32:
    case VoxelType::kUint32:
    case VoxelType::kFloat32:
      return 4;
    case VoxelType::kFloat64:
      return 8;
  }
  return 1;
}

void FillValues(const std::string& bytes, size_t offset, const RawVoxels& raw, const std::string& name,
                Volume& volume) {
  constexpr int kMostSide = 1 << 14;
  if (volume.size.minCoeff() < 2 || volume.size.maxCoeff() > kMostSide)
    throw InputError(name, StrCat("is a volume of ", volume.size.x(), " x ", volume.size.y(), " x ",
                                  volume.size.z(), " voxels: nothing to work with"));
  const size_t count = static_cast<size_t>(volume.size.x()) * static_cast<size_t>(volume.size.y()) *
                       static_cast<size_t>(volume.size.z());
  if (offset > bytes.size() || bytes.size() - offset < count * BytesOf(raw.type))
    throw InputError(name, "the file is cut short");
  volume.values.resize(count);
  const char* data = bytes.data() + offset;
  switch (raw.type) {
    case VoxelType::kInt8:
      return FillAs<int8_t>(data, raw, volume.values);
    case VoxelType::kUint8:
      return FillAs<uint8_t>(data, raw, volume.values);
    case VoxelType::kInt16:
      return FillAs<int16_t>(data, raw, volume.values);
    case VoxelType::kUint16:
      return FillAs<uint16_t>(data, raw, volume.values);
    case VoxelType::kInt32:
      return FillAs<int32_t>(data, raw, volume.values);
    case VoxelType::kUint32:
      return FillAs<uint32_t>(data, raw, volume.values);
    case VoxelType::kFloat32:
      return FillAs<float>(data, raw, volume.values);
    case VoxelType::kFloat64:
      return FillAs<double>(data, raw, volume.values);
  }
}

bool IsGzip(const std::string& bytes) {
  return bytes.size() > 2 && static_cast<uint8_t>(bytes[0]) == 0x1F && static_cast<uint8_t>(bytes[1]) == 0x8B;
}

std::string Inflate(const std::string& bytes, const std::string& name) {
  z_stream stream{};
  constexpr int kAnyHeader = 15 + 32;
  if (inflateInit2(&stream, kAnyHeader) != Z_OK) throw InputError(name, "cannot be unpacked");
  std::string out;
  std::string block(size_t{1} << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int status = Z_OK;
  constexpr size_t kMost = size_t{8} << 30;
  while (status == Z_OK && out.size() < kMost) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(block, 0, block.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw InputError(name, "its packed data is damaged or cut short");
  return out;
}

Eigen::Matrix4d MakeTransform(const Eigen::Matrix3d& steps, const Eigen::Vector3d& origin) {
  Eigen::Matrix4d transform = Eigen::Matrix4d::Identity();
  transform.topLeftCorner<3, 3>() = steps;
  transform.topRightCorner<3, 1>() = origin;
  return transform;
}

Eigen::Matrix4d SwapRasAndLps(const Eigen::Matrix4d& from_index) {
  return Eigen::Vector4d(-1, -1, 1, 1).asDiagonal() * from_index;
}

void RequireSpacing(const Volume& volume, const std::string& name) {
  const Eigen::Matrix3d steps = volume.lps_from_index.topLeftCorner<3, 3>();
  if (!volume.lps_from_index.allFinite() || !(std::abs(steps.determinant()) > 1e-12))
    throw InputError(name, "does not say how large its voxels are (no spacing)");
}

std::string FormatVoxels(const Volume& volume) {
  std::string out;
  out.reserve(2 * volume.values.size());
  for (const float value : volume.values) {
    const auto stored = static_cast<int16_t>(std::lround(std::clamp(value, -32768.0F, 32767.0F)));
    out.append(reinterpret_cast<const char*>(&stored), sizeof(stored));
  }
  return out;
}

}  // namespace volume_formats

namespace {

const DicomModule* Module() {
  static const DicomModule* const module = [] {
    const auto entry =
        reinterpret_cast<const DicomModule* (*)()>(FindModuleEntry("lumen_gdcm", kDicomModuleEntry));
    return entry != nullptr ? entry() : nullptr;
  }();
  return module;
}

Volume LoadByEnding(const fs::path& path) {
  const std::string name = ToLower(path.filename().string());
  if (EndsWith(name, ".nii") || EndsWith(name, ".nii.gz")) {
    const std::string bytes = ReadFile(path);
    const bool packed = volume_formats::IsGzip(bytes);
    return volume_formats::ParseNifti(packed ? volume_formats::Inflate(bytes, path.string()) : bytes,
                                      path.string());
  }
  if (EndsWith(name, ".nrrd") || EndsWith(name, ".nhdr")) return volume_formats::LoadNrrd(path);
  if (EndsWith(name, ".mha") || EndsWith(name, ".mhd")) return volume_formats::LoadMetaImage(path);
  throw InputError(path,
                   "is no model Lumen knows (.ply, .stl, .obj; .nii, .nii.gz, .nrrd, .nhdr, .mha, .mhd, or a "
                   "folder of DICOM slices)");
}

}  // namespace

bool HaveDicom() { return Module() != nullptr; }

Volume LoadVolume(const fs::path& path, const VolumeOptions& options) {
  if (!fs::exists(path)) throw InputError(path, "no such file or folder");
  Volume volume;
  if (fs::is_directory(path) || ToLower(path.extension().string()) == ".dcm") {
    if (!HaveDicom()) throw InputError(path, "reading DICOM needs Lumen's GDCM module, which is not here");
    volume = Module()->Load(path, options);
  } else {
    volume = LoadByEnding(path);
  }
  volume_formats::RequireSpacing(volume, path.string());
  return volume;
}

void SaveVolume(const fs::path& path, const Volume& volume) {
  const std::string ending = ToLower(path.extension().string());
  if (ending == ".nii")
    WriteFileAtomically(path, volume_formats::FormatNifti(volume));
  else if (ending == ".nrrd")
    WriteFileAtomically(path, volume_formats::FormatNrrd(volume));
  else if (ending == ".mha")
    WriteFileAtomically(path, volume_formats::FormatMetaImage(volume));
  else
    throw InputError(path, "must end in .nii, .nrrd or .mha");
}

}  // namespace lumen
