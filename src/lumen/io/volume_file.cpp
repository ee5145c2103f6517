#include "lumen/io/volume_file.h"

#include <zlib.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/isolated.h"
#include "lumen/base/limits.h"
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

size_t BodyBytes(const Eigen::Vector3i& size, VoxelType type, const std::string& name) {
  constexpr int kMostSide = 1 << 14;
  if (size.minCoeff() < 2 || size.maxCoeff() > kMostSide)
    throw InputError(name, StrCat("is a volume of ", size.x(), " x ", size.y(), " x ", size.z(),
                                  " voxels: nothing to work with"));
  const size_t count =
      static_cast<size_t>(size.x()) * static_cast<size_t>(size.y()) * static_cast<size_t>(size.z());
  if (count > limits::kVoxels) throw InputError(name, StrCat("is a volume of ", count, " voxels: too many"));
  return count * BytesOf(type);
}

void FillValues(const std::string& bytes, size_t offset, const RawVoxels& raw, const std::string& name,
                Volume& volume) {
  const size_t length = BodyBytes(volume.size, raw.type, name), count = length / BytesOf(raw.type);
  if (offset > bytes.size() || bytes.size() - offset < length)
    throw InputError(name, "the file is cut short");
  volume.values.resize(count);
  const char* data = bytes.data() + offset;
  const auto fill = [&](auto type) { FillAs<decltype(type)>(data, raw, volume.values); };
  switch (raw.type) {
    case VoxelType::kInt8:
      return fill(int8_t{});
    case VoxelType::kUint8:
      return fill(uint8_t{});
    case VoxelType::kInt16:
      return fill(int16_t{});
    case VoxelType::kUint16:
      return fill(uint16_t{});
    case VoxelType::kInt32:
      return fill(int32_t{});
    case VoxelType::kUint32:
      return fill(uint32_t{});
    case VoxelType::kFloat32:
      return fill(float{});
    case VoxelType::kFloat64:
      return fill(double{});
  }
}

bool IsGzip(const std::string& bytes) {
  return bytes.size() > 2 && static_cast<uint8_t>(bytes[0]) == 0x1F && static_cast<uint8_t>(bytes[1]) == 0x8B;
}

namespace {

// Unpacks a stream block by block.
class Inflater {
 public:
  Inflater(const std::string& bytes, const std::string& name) : name_(name) {
    constexpr int kAnyHeader = 15 + 32;
    if (inflateInit2(&stream_, kAnyHeader) != Z_OK) throw InputError(name, "cannot be unpacked");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());  // files are never larger (limits::kFileBytes)
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool AtEnd() const { return at_end_; }
  // As much as there is room for, or what is left; the size of it.
  size_t Next(std::string& block) {
    stream_.next_out = reinterpret_cast<Bytef*>(block.data());
    stream_.avail_out = static_cast<uInt>(block.size());
    const int status = inflate(&stream_, Z_SYNC_FLUSH);
    at_end_ = status == Z_STREAM_END;
    if (status != Z_OK && !at_end_) throw InputError(name_, "its packed data is damaged or cut short");
    return block.size() - stream_.avail_out;
  }

 private:
  const std::string& name_;
  z_stream stream_{};
  bool at_end_ = false;
};

}  // namespace

std::string Inflate(const std::string& bytes, size_t most, const std::string& name) {
  if (most / limits::kDeflateRatio > bytes.size()) throw InputError(name, "the file is cut short");
  Inflater inflater(bytes, name);
  std::string out, block(size_t{1} << 20, '\0');
  // What lies beyond is unpacked, too, but not kept: the checksum stands at its end.
  constexpr size_t kMostBeyond = size_t{64} << 20;
  for (size_t beyond = 0; !inflater.AtEnd();) {
    const size_t got = inflater.Next(block), kept = std::min(got, most - out.size());
    out.append(block, 0, kept);
    beyond += got - kept;
    if (beyond >= kMostBeyond) throw InputError(name, "holds far more data than its header says");
  }
  return out;
}

std::string InflateStart(const std::string& bytes, size_t count, const std::string& name) {
  std::string out(count, '\0');
  out.resize(Inflater(bytes, name).Next(out));
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
  constexpr double kLeast = 1e-5, kMost = 1e3;  // a scan in metres is asked about later, not refused
  for (int k = 0; k < 3; ++k) {
    const double step = steps.col(k).norm();
    if (step < kLeast || step > kMost)
      throw InputError(name, StrCat("its voxels are ", FormatDouble(step),
                                    " mm apart along one axis: not a scan of a body"));
  }
}

void RequireNumbers(const Volume& volume, const std::string& name) {
  if (!std::all_of(volume.values.begin(), volume.values.end(),
                   [](float value) { return std::isfinite(value); }))
    throw InputError(name, "holds voxels that are no numbers");
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

const DicomModule* GdcmModule() {
  static const DicomModule* const module = [] {
    const auto entry =
        reinterpret_cast<const DicomModule* (*)()>(FindModuleEntry("lumen_gdcm", kDicomModuleEntry));
    return entry != nullptr ? entry() : nullptr;
  }();
  return module;
}

// From the reading process: what it is at, what comes, and a slice at a time.
enum class Record : uint8_t { kReading, kBegin, kSlice };

class SendingSink : public VolumeSink {
 public:
  explicit SendingSink(RecordWriter& out) : out_(out) {}
  void Reading(const std::string& file) override {
    out_.Put(Record::kReading);
    out_.Write(file);
  }
  void Begin(const Eigen::Vector3i& size, const Eigen::Matrix4d& lps_from_index) override {
    out_.Put(Record::kBegin);
    out_.Write(size.data(), 3 * sizeof(int));
    out_.Write(lps_from_index.data(), 16 * sizeof(double));
  }
  void Add(const std::vector<float>& slice) override {
    out_.Put(Record::kSlice);
    out_.Write(slice.data(), slice.size() * sizeof(float));
  }

 private:
  RecordWriter& out_;
};

void ReceiveVolume(RecordReader& in, Volume& volume, std::string& at) {
  constexpr size_t kLongestName = 1 << 16;
  for (int z = 0; z < std::max(1, volume.size.z());) {
    const auto record = in.Get<Record>();
    if (record == Record::kReading) {
      at = in.ReadText(kLongestName);
    } else if (record == Record::kBegin) {
      in.Read(volume.size.data(), 3 * sizeof(int));
      in.Read(volume.lps_from_index.data(), 16 * sizeof(double));
    } else {
      // Room for all of them once there is one: a header alone may say anything.
      const size_t slice = static_cast<size_t>(volume.size.x()) * static_cast<size_t>(volume.size.y());
      volume.values.resize(slice * static_cast<size_t>(volume.size.z()));
      in.Read(volume.values.data() + static_cast<size_t>(z++) * slice, slice * sizeof(float));
    }
  }
}

Volume LoadDicom(const fs::path& path, const VolumeOptions& options) {
  const DicomModule* module = GdcmModule();
  if (module == nullptr) throw InputError(path, "reading DICOM needs Lumen's GDCM module, which is not here");
  Volume volume;
  std::string at = path.string();
  Isolated reader([&at] { return at; },
                  [&](std::string_view, RecordWriter& out) {
                    SendingSink sink(out);
                    module->Load(path, options, sink);
                  });
  reader.Ask("", [&](RecordReader& in) { ReceiveVolume(in, volume, at); });
  return volume;
}

Volume LoadByEnding(const fs::path& path) {
  const std::string name = ToLower(path.filename().string());
  if (EndsWith(name, ".nii") || EndsWith(name, ".nii.gz")) {
    const std::string bytes = ReadFile(path);
    return volume_formats::ParseNifti(
        volume_formats::IsGzip(bytes) ? volume_formats::UnpackNifti(bytes, path.string()) : bytes,
        path.string());
  }
  if (EndsWith(name, ".nrrd") || EndsWith(name, ".nhdr")) return volume_formats::LoadNrrd(path);
  if (EndsWith(name, ".mha") || EndsWith(name, ".mhd")) return volume_formats::LoadMetaImage(path);
  throw InputError(path,
                   "is no model Lumen knows (.ply, .stl, .obj; .nii, .nii.gz, .nrrd, .nhdr, .mha, .mhd, or a "
                   "folder of DICOM slices)");
}

}  // namespace

bool HaveDicom() { return GdcmModule() != nullptr; }

Volume LoadVolume(const fs::path& path, const VolumeOptions& options) {
  if (!fs::exists(path)) throw InputError(path, "no such file or folder");
  Volume volume;
  if (fs::is_directory(path) || ToLower(path.extension().string()) == ".dcm") {
    volume = LoadDicom(path, options);
  } else {
    volume = LoadByEnding(path);
  }
  volume_formats::RequireSpacing(volume, path.string());
  volume_formats::RequireNumbers(volume, path.string());
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
