// The module that links GDCM; see volume_file.h. Medical data is never guessed: what a slice does not say, or
// says in two ways, is refused with the slice's name. What GDCM would fill in by itself (a spacing of 1 mm,
// axes along the body's, a slope of 1) is therefore read from the slice's own fields.
#include <gdcmImageReader.h>
#include <gdcmSequenceOfFragments.h>
#include <gdcmStringFilter.h>
#include <gdcmTrace.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_file.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;

const gdcm::Tag kImageType(0x0008, 0x0008), kClass(0x0008, 0x0016), kDescription(0x0008, 0x103e),
    kSeriesUid(0x0020, 0x000e), kPosition(0x0020, 0x0032), kOrientation(0x0020, 0x0037),
    kSamples(0x0028, 0x0002), kPhotometric(0x0028, 0x0004), kFrames(0x0028, 0x0008), kRows(0x0028, 0x0010),
    kColumns(0x0028, 0x0011), kPixelSpacing(0x0028, 0x0030), kIntercept(0x0028, 0x1052),
    kSlope(0x0028, 0x1053), kPixels(0x7fe0, 0x0010);

constexpr const char* kCtImage = "1.2.840.10008.5.1.4.1.1.2";

// A slice's fields, as it says them.
struct Header {
  std::string file, series, description;
  Eigen::Vector3d position, across, down;
  double across_step = 0, down_step = 0, slope = 1, intercept = 0;
  int width = 0, height = 0;
};

struct Series {
  std::string uid, description;
  std::vector<Header> slices;
};

class Fields {
 public:
  Fields(const gdcm::File& file, std::string name) : file_(file), name_(std::move(name)) {
    filter_.SetFile(file);
  }

  bool Has(const gdcm::Tag& tag) const {
    return file_.GetDataSet().FindDataElement(tag) && !file_.GetDataSet().GetDataElement(tag).IsEmpty();
  }
  std::string Text(const gdcm::Tag& tag) const {
    // What the filter makes of a field ends at the first zero.
    return Has(tag) ? Trim(filter_.ToString(tag).c_str()) : "";
  }
  std::vector<double> Numbers(const gdcm::Tag& tag, size_t count, const char* what) const {
    if (!Has(tag)) throw InputError(name_, StrCat("has no ", what));
    std::vector<double> numbers;
    for (const std::string& part : Split(Text(tag), '\\')) {
      const auto number = ParseDouble(Trim(part));
      if (!number || !std::isfinite(*number))
        throw InputError(name_, StrCat("its ", what, " is \"", Text(tag), "\""));
      numbers.push_back(*number);
    }
    if (numbers.size() != count) throw InputError(name_, StrCat("its ", what, " is \"", Text(tag), "\""));
    return numbers;
  }
  int Count(const gdcm::Tag& tag, const char* what) const {
    const double number = Numbers(tag, 1, what)[0];
    if (number != std::floor(number) || number < 1 || number > 65535)
      throw InputError(name_, StrCat("its ", what, " is \"", Text(tag), "\""));
    return static_cast<int>(number);
  }

 private:
  const gdcm::File& file_;
  std::string name_;
  gdcm::StringFilter filter_;
};

// A folder is full of other things, too: what does not begin as DICOM does is passed over, unless its name
// claims that it is.
bool BeginsAsDicom(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  char start[132] = {};
  stream.read(start, sizeof(start));
  if (stream.gcount() == sizeof(start) && std::string(start + 128, 4) == "DICM") return true;
  if (ToLower(path.extension().string()) == ".dcm") throw InputError(path, "is not a DICOM file");
  return false;
}

void RequireAxes(const Header& header) {
  const bool good = std::abs(header.across.norm() - 1) < 1e-3 && std::abs(header.down.norm() - 1) < 1e-3 &&
                    std::abs(header.across.dot(header.down)) < 1e-3;
  if (!good)
    throw InputError(header.file, "its orientation (ImageOrientationPatient) is not two axes of length 1");
}

Header ReadHeader(const Fields& fields, const std::string& file) {
  Header header;
  header.file = file;
  header.series = fields.Text(kSeriesUid);
  header.description = fields.Text(kDescription);
  if (header.series.empty()) throw InputError(file, "does not say which series it is of");
  const std::vector<double> p = fields.Numbers(kPosition, 3, "position (ImagePositionPatient)");
  header.position = {p[0], p[1], p[2]};
  const std::vector<double> axes = fields.Numbers(kOrientation, 6, "orientation (ImageOrientationPatient)");
  header.across = {axes[0], axes[1], axes[2]};
  header.down = {axes[3], axes[4], axes[5]};
  RequireAxes(header);
  const std::vector<double> spacing = fields.Numbers(kPixelSpacing, 2, "spacing (PixelSpacing)");
  header.down_step = spacing[0];
  header.across_step = spacing[1];
  if (!(spacing[0] > 0) || !(spacing[1] > 0))
    throw InputError(file, StrCat("its spacing (PixelSpacing) is \"", fields.Text(kPixelSpacing), "\""));
  header.slope = fields.Numbers(kSlope, 1, "RescaleSlope: its Hounsfield units are unknown")[0];
  header.intercept = fields.Numbers(kIntercept, 1, "RescaleIntercept: its Hounsfield units are unknown")[0];
  if (header.slope == 0) throw InputError(file, "its RescaleSlope is 0");
  header.width = fields.Count(kColumns, "number of columns");
  header.height = fields.Count(kRows, "number of rows");
  if (fields.Has(kFrames) && fields.Count(kFrames, "number of frames") > 1)
    throw InputError(file, "is a multi-frame image, which is not read: slices in files of their own are");
  if (fields.Has(kSamples) && fields.Text(kSamples) != "1") throw InputError(file, "is not a grey image");
  if (fields.Text(kPhotometric) != "MONOCHROME2")
    throw InputError(
        file, StrCat("its grey values are of the kind \"", fields.Text(kPhotometric), "\", not MONOCHROME2"));
  return header;
}

// Slices by series. Scouts lie across the body and are no part of a volume; pictures without a place in space
// (reports, dose sheets) are none either.
std::vector<Series> FindSeries(const fs::path& folder, VolumeSink& sink) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::map<std::string, Series> by_uid;
  size_t scouts = 0;
  for (const fs::path& path : files) {
    if (!BeginsAsDicom(path)) continue;
    const std::string file = path.string();
    sink.Reading(file);
    gdcm::Reader reader;
    reader.SetFileName(file.c_str());
    if (!reader.ReadUpToTag(kPixels))
      throw InputError(file, "cannot be read as DICOM: it is cut short or damaged");
    const Fields fields(reader.GetFile(), file);
    if (fields.Text(kClass).empty())
      throw InputError(file, "does not say what it is: it is cut short or damaged");
    const bool ct = fields.Text(kClass) == kCtImage;
    if (!ct && (!fields.Has(kRows) || (!fields.Has(kPosition) && !fields.Has(kOrientation)))) continue;
    if (fields.Text(kImageType).find("LOCALIZER") != std::string::npos) {
      ++scouts;
      continue;
    }
    const Header header = ReadHeader(fields, file);
    Series& series = by_uid[header.series];
    series.uid = header.series;
    series.description = header.description;
    series.slices.push_back(header);
  }
  if (by_uid.empty())
    throw InputError(
        folder, scouts > 0 ? "holds scout images alone: no volume" : "holds no DICOM slices with a position");
  std::vector<Series> all;
  for (auto& [uid, series] : by_uid) all.push_back(std::move(series));
  return all;
}

const Series& ChooseSeries(const std::vector<Series>& all, const std::string& wanted,
                           const fs::path& folder) {
  if (all.size() == 1 && wanted.empty()) return all.front();
  const auto number = ParseInteger(wanted);
  if (number && *number >= 1 && *number <= static_cast<long long>(all.size()))
    return all[static_cast<size_t>(*number - 1)];
  std::string list;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].uid == wanted) return all[i];
    list += StrCat(i == 0 ? "" : "; ", i + 1, ": \"", all[i].description, "\", ", all[i].slices.size(),
                   " slices");
  }
  throw InputError(folder, StrCat("holds ", all.size(), " series, choose with --series NUMBER (", list, ")"));
}

// In order along the normal of the slices, all of one grid.
std::vector<Header> SortSlices(std::vector<Header> slices, const fs::path& folder) {
  if (slices.size() < 2) throw InputError(folder, "holds a single slice: no volume");
  const Header first = slices.front();
  for (const Header& slice : slices) {
    if (slice.width != first.width || slice.height != first.height)
      throw InputError(slice.file, "is of another size than the series' other slices");
    if (!slice.across.isApprox(first.across, 1e-3) || !slice.down.isApprox(first.down, 1e-3))
      throw InputError(slice.file, "lies across the series' other slices");
    if (std::abs(slice.across_step - first.across_step) > 1e-3 * first.across_step ||
        std::abs(slice.down_step - first.down_step) > 1e-3 * first.down_step)
      throw InputError(slice.file, "has another spacing than the series' other slices");
  }
  const Eigen::Vector3d normal = first.across.cross(first.down);
  std::stable_sort(slices.begin(), slices.end(), [&](const Header& a, const Header& b) {
    return normal.dot(a.position) < normal.dot(b.position);
  });
  return slices;
}

// The step from slice to slice, which must be the same all along; with a tilted gantry it is not their
// normal.
Eigen::Vector3d SliceStep(const std::vector<Header>& slices, const fs::path& folder) {
  const Eigen::Vector3d step =
      (slices.back().position - slices.front().position) / static_cast<double>(slices.size() - 1);
  const Eigen::Vector3d normal = slices.front().across.cross(slices.front().down);
  constexpr double kSteepest = 0.7;  // cosine of the tilt; gantries tilt by 30 degrees
  if (!(step.norm() > 0) || normal.dot(step) < kSteepest * step.norm())
    throw InputError(folder, "its slices do not lie behind one another");
  constexpr double kRounding = 0.06;  // mm: positions are written to a tenth by some
  for (size_t i = 0; i < slices.size(); ++i) {
    const Eigen::Vector3d expected = slices.front().position + static_cast<double>(i) * step;
    if ((slices[i].position - expected).norm() > 0.1 * step.norm() + kRounding) {
      throw InputError(slices[i].file,
                       StrCat("slice ", i + 1, " of ", slices.size(),
                              " is not where the others' spacing puts it: some are missing or "
                              "doubled, or the spacing changes"));
    }
  }
  return step;
}

template <typename T>
void Convert(const std::vector<char>& buffer, const Header& header, std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    T raw;
    std::memcpy(&raw, buffer.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(header.slope * static_cast<double>(raw) + header.intercept);
  }
}

void ConvertPixels(const gdcm::Image& image, const std::vector<char>& buffer, const Header& header,
                   std::vector<float>& values) {
  if (buffer.size() < values.size() * image.GetPixelFormat().GetPixelSize())
    throw InputError(header.file, "its pixel data is cut short");
  switch (image.GetPixelFormat().GetScalarType()) {
    case gdcm::PixelFormat::INT16:
      return Convert<int16_t>(buffer, header, values);
    case gdcm::PixelFormat::UINT16:
      return Convert<uint16_t>(buffer, header, values);
    case gdcm::PixelFormat::INT8:
      return Convert<int8_t>(buffer, header, values);
    case gdcm::PixelFormat::UINT8:
      return Convert<uint8_t>(buffer, header, values);
    case gdcm::PixelFormat::INT32:
      return Convert<int32_t>(buffer, header, values);
    case gdcm::PixelFormat::UINT32:
      return Convert<uint32_t>(buffer, header, values);
    default:
      throw InputError(header.file, "holds pixels of a kind Lumen does not read");
  }
}

// Whether that many bytes of pixels lie in the file. GDCM itself fills up what a cut file lacks.
bool HoldsPixels(const std::string& file, size_t length) {
  const std::string bytes = ReadFile(file);
  const std::string tag("\xe0\x7f\x10\x00", 4);
  for (size_t at = bytes.find(tag); at != std::string::npos; at = bytes.find(tag, at + 1)) {
    // The length stands behind the tag, or behind two letters and two zeros.
    for (const size_t before : {size_t{4}, size_t{8}}) {
      uint32_t said = 0;
      if (at + before + sizeof(said) > bytes.size()) continue;
      std::memcpy(&said, bytes.data() + at + before, sizeof(said));
      if (said == length && bytes.size() - at - before - sizeof(said) >= length) return true;
    }
  }
  return false;
}

// The decoders of packed pictures fill up as well, but such pictures have a mark at their end.
bool EndsAsJpeg(const gdcm::SequenceOfFragments& fragments) {
  if (fragments.GetNumberOfFragments() == 0) return false;
  const gdcm::ByteValue* last = fragments.GetFragment(fragments.GetNumberOfFragments() - 1).GetByteValue();
  const size_t length = last != nullptr ? static_cast<uint32_t>(last->GetLength()) : 0;
  constexpr size_t kPadded = 4;
  return length >= kPadded &&
         std::string(last->GetPointer() + length - kPadded, kPadded).find("\xff\xd9") != std::string::npos;
}

void RequireWholePixels(const gdcm::File& file, const gdcm::Image& image, const Header& header) {
  const gdcm::TransferSyntax syntax = file.GetHeader().GetDataSetTransferSyntax();
  if (syntax == gdcm::TransferSyntax::ExplicitVRBigEndian ||
      syntax == gdcm::TransferSyntax::DeflatedExplicitVRLittleEndian)
    throw InputError(header.file, StrCat("is stored in a way that is not read (", syntax.GetString(), ")"));
  const gdcm::DataElement& pixels = file.GetDataSet().GetDataElement(kPixels);
  bool whole = true;
  if (const gdcm::SequenceOfFragments* fragments = pixels.GetSequenceOfFragments()) {
    whole = syntax == gdcm::TransferSyntax::RLELossless || EndsAsJpeg(*fragments);
  } else {
    const gdcm::ByteValue* bytes = pixels.GetByteValue();
    const size_t length = bytes != nullptr ? static_cast<uint32_t>(bytes->GetLength()) : 0;
    whole = length >= image.GetBufferLength() && HoldsPixels(header.file, length);
  }
  if (!whole) throw InputError(header.file, "its pixel data is cut short");
}

std::vector<float> LoadPixels(const Header& header) {
  gdcm::ImageReader reader;
  reader.SetFileName(header.file.c_str());
  if (!reader.Read())
    throw InputError(header.file, "cannot be read as a DICOM image: it is cut short or damaged");
  const gdcm::Image& image = reader.GetImage();
  if (image.GetNumberOfDimensions() != 2 || image.GetDimension(0) != static_cast<unsigned>(header.width) ||
      image.GetDimension(1) != static_cast<unsigned>(header.height))
    throw InputError(header.file, "its picture is of another size than it says");
  if (image.GetPixelFormat().GetSamplesPerPixel() != 1) throw InputError(header.file, "is not a grey image");
  RequireWholePixels(reader.GetFile(), image, header);
  std::vector<char> buffer(image.GetBufferLength());
  if (!image.GetBuffer(buffer.data())) throw InputError(header.file, "its pixels cannot be decoded");
  std::vector<float> values(static_cast<size_t>(header.width) * static_cast<size_t>(header.height));
  ConvertPixels(image, buffer, header, values);
  return values;
}

class Module : public DicomModule {
 public:
  void Load(const fs::path& path, const VolumeOptions& options, VolumeSink& sink) const override {
    gdcm::Trace::WarningOff();
    gdcm::Trace::ErrorOff();
    fs::path folder = fs::is_directory(path) ? path : path.parent_path();
    if (folder.empty()) folder = ".";
    const std::vector<Series> all = FindSeries(folder, sink);
    const std::vector<Header> slices = SortSlices(ChooseSeries(all, options.series, folder).slices, folder);
    const Header& first = slices.front();
    Eigen::Matrix4d lps_from_index = Eigen::Matrix4d::Identity();
    lps_from_index.col(0).head<3>() = first.across * first.across_step;
    lps_from_index.col(1).head<3>() = first.down * first.down_step;
    lps_from_index.col(2).head<3>() = SliceStep(slices, folder);
    lps_from_index.col(3).head<3>() = first.position;
    const auto voxels =
        static_cast<uint64_t>(first.width) * static_cast<uint64_t>(first.height) * slices.size();
    if (voxels > limits::kVoxels)
      throw InputError(folder, StrCat("is a volume of ", voxels, " voxels: too many"));
    sink.Begin({first.width, first.height, static_cast<int>(slices.size())}, lps_from_index);
    for (const Header& slice : slices) {
      sink.Reading(slice.file);
      sink.Add(LoadPixels(slice));
    }
  }
};

}  // namespace

}  // namespace lumen

extern "C" __attribute__((visibility("default"))) const lumen::DicomModule* LumenDicomModule() {
  static const lumen::Module module;
  return &module;
}
