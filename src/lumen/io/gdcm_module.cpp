// The module that links GDCM; see volume_file.h.
#include <gdcmDirectory.h>
#include <gdcmImageReader.h>
#include <gdcmScanner.h>
#include <gdcmTrace.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_file.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;

const gdcm::Tag kSeriesUid(0x0020, 0x000e), kDescription(0x0008, 0x103e), kPosition(0x0020, 0x0032),
    kPixelSpacing(0x0028, 0x0030);

struct Series {
  std::string uid, description;
  std::vector<std::string> files;
};

std::string ValueOf(const gdcm::Scanner& scanner, const std::string& file, const gdcm::Tag& tag) {
  const char* value = scanner.GetValue(file.c_str(), tag);
  return value != nullptr ? Trim(value) : "";
}

// Slices with a position in space, by series; everything else in the folder is passed over.
std::vector<Series> FindSeries(const fs::path& folder) {
  gdcm::Directory directory;
  directory.Load(folder.string(), true);
  gdcm::Scanner scanner;
  for (const gdcm::Tag& tag : {kSeriesUid, kDescription, kPosition}) scanner.AddTag(tag);
  scanner.Scan(directory.GetFilenames());
  std::map<std::string, Series> by_uid;
  for (const std::string& file : directory.GetFilenames()) {
    const std::string uid = ValueOf(scanner, file, kSeriesUid);
    if (uid.empty() || ValueOf(scanner, file, kPosition).empty()) continue;
    Series& series = by_uid[uid];
    series.uid = uid;
    series.description = ValueOf(scanner, file, kDescription);
    series.files.push_back(file);
  }
  std::vector<Series> all;
  for (auto& [uid, series] : by_uid) all.push_back(std::move(series));
  return all;
}

const Series& ChooseSeries(const std::vector<Series>& all, const std::string& wanted,
                           const fs::path& folder) {
  if (all.empty()) throw InputError(folder, "holds no DICOM slices with a position");
  if (all.size() == 1 && wanted.empty()) return all.front();
  const auto number = ParseInteger(wanted);
  if (number && *number >= 1 && *number <= static_cast<long long>(all.size()))
    return all[static_cast<size_t>(*number - 1)];
  std::string list;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].uid == wanted) return all[i];
    list +=
        StrCat(i == 0 ? "" : "; ", i + 1, ": \"", all[i].description, "\", ", all[i].files.size(), " slices");
  }
  throw InputError(folder, StrCat("holds ", all.size(), " series, choose with --series NUMBER (", list, ")"));
}

struct Slice {
  Eigen::Vector3d position, across, down;
  double across_step = 0, down_step = 0;
  int width = 0, height = 0;
  std::vector<float> values;
};

template <typename T>
void Convert(const std::vector<char>& buffer, double slope, double intercept, std::vector<float>& values) {
  const auto* raw = reinterpret_cast<const T*>(buffer.data());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(slope * static_cast<double>(raw[i]) + intercept);
}

void ConvertPixels(const gdcm::Image& image, const std::vector<char>& buffer, const std::string& file,
                   std::vector<float>& values) {
  const double slope = image.GetSlope(), intercept = image.GetIntercept();
  switch (image.GetPixelFormat().GetScalarType()) {
    case gdcm::PixelFormat::INT16:
      return Convert<int16_t>(buffer, slope, intercept, values);
    case gdcm::PixelFormat::UINT16:
      return Convert<uint16_t>(buffer, slope, intercept, values);
    case gdcm::PixelFormat::INT8:
      return Convert<int8_t>(buffer, slope, intercept, values);
    case gdcm::PixelFormat::UINT8:
      return Convert<uint8_t>(buffer, slope, intercept, values);
    case gdcm::PixelFormat::INT32:
      return Convert<int32_t>(buffer, slope, intercept, values);
    default:
      throw InputError(file, "holds pixels of a kind Lumen does not read");
  }
}

Slice LoadSlice(const std::string& file) {
  gdcm::ImageReader reader;
  reader.SetFileName(file.c_str());
  if (!reader.Read()) throw InputError(file, "cannot be read as a DICOM image");
  // Without it the image would say 1 mm.
  if (!reader.GetFile().GetDataSet().FindDataElement(kPixelSpacing))
    throw InputError(file, "has no spacing (PixelSpacing): its millimetres are unknown");
  const gdcm::Image& image = reader.GetImage();
  if (image.GetPixelFormat().GetSamplesPerPixel() != 1) throw InputError(file, "is not a grey image");
  std::vector<char> buffer(image.GetBufferLength());
  if (!image.GetBuffer(buffer.data())) throw InputError(file, "its pixels cannot be decoded");
  Slice slice;
  slice.width = static_cast<int>(image.GetDimension(0));
  slice.height = static_cast<int>(image.GetDimension(1));
  slice.position = Eigen::Vector3d(image.GetOrigin(0), image.GetOrigin(1), image.GetOrigin(2));
  const double* cosines = image.GetDirectionCosines();
  slice.across = {cosines[0], cosines[1], cosines[2]};
  slice.down = {cosines[3], cosines[4], cosines[5]};
  slice.across_step = image.GetSpacing(0);
  slice.down_step = image.GetSpacing(1);
  slice.values.resize(static_cast<size_t>(slice.width) * static_cast<size_t>(slice.height));
  ConvertPixels(image, buffer, file, slice.values);
  return slice;
}

// In order along the normal of the slices.
std::vector<Slice> LoadStack(const Series& series, const fs::path& folder) {
  std::vector<Slice> slices;
  for (const std::string& file : series.files) {
    slices.push_back(LoadSlice(file));
    const Slice& first = slices.front();
    const Slice& slice = slices.back();
    if (slice.width != first.width || slice.height != first.height)
      throw InputError(file, "is of another size than the series' other slices");
    if (!slice.across.isApprox(first.across, 1e-3) || !slice.down.isApprox(first.down, 1e-3))
      throw InputError(file, "lies across the series' other slices");
  }
  if (slices.size() < 2) throw InputError(folder, "holds a single slice: no volume");
  const Eigen::Vector3d normal = slices.front().across.cross(slices.front().down);
  std::stable_sort(slices.begin(), slices.end(), [&](const Slice& a, const Slice& b) {
    return normal.dot(a.position) < normal.dot(b.position);
  });
  return slices;
}

// The step from slice to slice, which must be the same all along.
Eigen::Vector3d SliceStep(const std::vector<Slice>& slices, const fs::path& folder) {
  const Eigen::Vector3d step =
      (slices.back().position - slices.front().position) / static_cast<double>(slices.size() - 1);
  for (size_t i = 0; i < slices.size(); ++i) {
    const Eigen::Vector3d expected = slices.front().position + static_cast<double>(i) * step;
    if ((slices[i].position - expected).norm() > 0.25 * step.norm())
      throw InputError(folder,
                       StrCat("slice ", i + 1, " of ", slices.size(),
                              " is not where the others' spacing puts it: some are missing or doubled"));
  }
  return step;
}

Volume LoadSeries(const Series& series, const fs::path& folder) {
  const std::vector<Slice> slices = LoadStack(series, folder);
  const Slice& first = slices.front();
  Volume volume;
  volume.size = {first.width, first.height, static_cast<int>(slices.size())};
  volume.values.reserve(first.values.size() * slices.size());
  for (const Slice& slice : slices)
    volume.values.insert(volume.values.end(), slice.values.begin(), slice.values.end());
  volume.lps_from_index.col(0).head<3>() = first.across * first.across_step;
  volume.lps_from_index.col(1).head<3>() = first.down * first.down_step;
  volume.lps_from_index.col(2).head<3>() = SliceStep(slices, folder);
  volume.lps_from_index.col(3).head<3>() = first.position;
  return volume;
}

class Module : public DicomModule {
 public:
  Volume Load(const fs::path& path, const VolumeOptions& options) const override {
    gdcm::Trace::WarningOff();
    gdcm::Trace::ErrorOff();
    const fs::path folder = fs::is_directory(path) ? path : path.parent_path();
    const std::vector<Series> all = FindSeries(folder.empty() ? "." : folder);
    return LoadSeries(ChooseSeries(all, options.series, folder), folder);
  }
};

}  // namespace

}  // namespace lumen

extern "C" __attribute__((visibility("default"))) const lumen::DicomModule* LumenDicomModule() {
  static const lumen::Module module;
  return &module;
}
