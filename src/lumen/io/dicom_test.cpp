// DICOM folders, written here with GDCM itself.
#include <gdcmAttribute.h>
#include <gdcmImageWriter.h>
#include <gdcmReader.h>
#include <gdcmUIDGenerator.h>
#include <gdcmWriter.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_file.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 4, kHeight = 3, kSlices = 5;

// Slices along −z, written in an order that is not the spatial one, with Hounsfield offset −1024.
void WriteSeries(const fs::path& folder, const std::string& description, double slice_step) {
  MakeDirectories(folder);
  gdcm::UIDGenerator uids;
  const std::string series = uids.Generate();
  for (int k = 0; k < kSlices; ++k) {
    gdcm::ImageWriter writer;
    gdcm::Image& image = writer.GetImage();
    image.SetNumberOfDimensions(2);
    const unsigned dimensions[2] = {kWidth, kHeight};
    image.SetDimensions(dimensions);
    image.SetPixelFormat(gdcm::PixelFormat::INT16);
    image.SetPhotometricInterpretation(gdcm::PhotometricInterpretation::MONOCHROME2);
    image.SetTransferSyntax(gdcm::TransferSyntax::ExplicitVRLittleEndian);
    const double cosines[6] = {0, 1, 0, 1, 0, 0};  // across is +y, down is +x
    image.SetDirectionCosines(cosines);
    image.SetSpacing(0, 0.5);
    image.SetSpacing(1, 0.7);
    const double origin[3] = {1, 2, 3 - slice_step * k};
    for (unsigned axis = 0; axis < 3; ++axis) image.SetOrigin(axis, origin[axis]);
    image.SetSlope(1);
    image.SetIntercept(-1024);
    std::vector<int16_t> pixels(kWidth * kHeight);
    for (size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<int16_t>(100 * k + static_cast<int>(i));
    gdcm::DataElement element(gdcm::Tag(0x7fe0, 0x0010));
    element.SetByteValue(reinterpret_cast<const char*>(pixels.data()),
                         static_cast<uint32_t>(pixels.size() * sizeof(int16_t)));
    image.SetDataElement(element);
    gdcm::DataSet& data = writer.GetFile().GetDataSet();
    const auto text = [&](uint16_t group, uint16_t tag, gdcm::VR vr, std::string value) {
      if (value.size() % 2 != 0) value += vr == gdcm::VR::UI ? '\0' : ' ';
      gdcm::DataElement field(gdcm::Tag(group, tag), 0, vr);
      field.SetByteValue(value.data(), static_cast<uint32_t>(value.size()));
      data.Replace(field);
    };
    text(0x0008, 0x0016, gdcm::VR::UI, "1.2.840.10008.5.1.4.1.1.2");  // CT image storage
    text(0x0008, 0x0018, gdcm::VR::UI, uids.Generate());
    text(0x0020, 0x000e, gdcm::VR::UI, series);
    text(0x0008, 0x103e, gdcm::VR::LO, description);
    writer.SetFileName((folder / (description + std::to_string((k * 3) % kSlices) + ".dcm")).c_str());
    ASSERT_TRUE(writer.Write());
  }
}

// What loading says is wrong, or nothing.
std::string DicomFault(const fs::path& folder) {
  try {
    LoadVolume(folder);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Dicom, ASeriesKeepsItsOrientationAndValues) {
  if (!HaveDicom()) GTEST_SKIP() << "the module is not beside the tests";
  const TemporaryFolder folder;
  WriteSeries(folder.Path() / "ct", "thorax", 1.5);
  const Volume volume = LoadVolume(folder.Path() / "ct");
  EXPECT_EQ(volume.size, Eigen::Vector3i(kWidth, kHeight, kSlices));
  const auto lps = [&](double x, double y, double z) {
    return Eigen::Vector3d((volume.lps_from_index * Eigen::Vector4d(x, y, z, 1)).head<3>());
  };
  // Whichever way the stack is sorted, a voxel's value says where it was written.
  for (const int z : {0, 3}) {
    const int k = static_cast<int>((volume.At(0, 0, z) + 1024) / 100);
    EXPECT_EQ(volume.At(2, 1, z), static_cast<float>(100 * k + kWidth + 2 - 1024));
    EXPECT_TRUE(lps(2, 1, z).isApprox(Eigen::Vector3d(1 + 0.7, 2 + 2 * 0.5, 3 - 1.5 * k), 1e-6))
        << lps(2, 1, z);
  }
}

TEST(Dicom, TwoSeriesAreListedAndOneIsChosen) {
  if (!HaveDicom()) GTEST_SKIP() << "the module is not beside the tests";
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "lung", 1);
  WriteSeries(folder.Path(), "soft", 2);
  const std::string fault = DicomFault(folder.Path());
  EXPECT_NE(fault.find("2 series"), std::string::npos) << fault;
  EXPECT_NE(fault.find("\"lung\", 5 slices"), std::string::npos) << fault;
  EXPECT_NE(fault.find("\"soft\""), std::string::npos) << fault;
  const double a = std::abs(LoadVolume(folder.Path(), {"1"}).lps_from_index(2, 2));
  const double b = std::abs(LoadVolume(folder.Path(), {"2"}).lps_from_index(2, 2));
  EXPECT_NEAR(a + b, 3, 1e-9);
}

// Rewrites one slice, or all, by a change of its fields.
using Change = std::function<void(gdcm::DataSet&)>;
void ChangeSlice(const fs::path& file, const Change& change) {
  gdcm::Reader reader;
  reader.SetFileName(file.c_str());
  ASSERT_TRUE(reader.Read());
  change(reader.GetFile().GetDataSet());
  gdcm::Writer writer;
  writer.SetFile(reader.GetFile());
  writer.SetFileName(file.c_str());
  ASSERT_TRUE(writer.Write());
}
void ChangeSlices(const fs::path& folder, const Change& change) {
  for (const fs::path& file : ListFiles(folder)) ChangeSlice(file, change);
}

const gdcm::Tag kSpacing(0x0028, 0x0030), kOrientation(0x0020, 0x0037), kPosition(0x0020, 0x0032),
    kSlope(0x0028, 0x1053), kIntercept(0x0028, 0x1052), kFrames(0x0028, 0x0008), kImageType(0x0008, 0x0008),
    kPhotometric(0x0028, 0x0004), kRows(0x0028, 0x0010), kPixels(0x7fe0, 0x0010);

Change Set(const gdcm::Tag& tag, gdcm::VR vr, std::string value) {
  if (value.size() % 2 != 0) value += ' ';
  return [=](gdcm::DataSet& data) {
    gdcm::DataElement field(tag, 0, vr);
    field.SetByteValue(value.data(), static_cast<uint32_t>(value.size()));
    data.Replace(field);
  };
}
Change Remove(const gdcm::Tag& tag) {
  return [=](gdcm::DataSet& data) { data.Remove(tag); };
}

class DicomFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (!HaveDicom()) GTEST_SKIP() << "the module is not beside the tests";
  }
  // What is said of a series whose slices were all changed so.
  static std::string AfterAll(const Change& change) {
    const TemporaryFolder folder;
    WriteSeries(folder.Path(), "ct", 1);
    ChangeSlices(folder.Path(), change);
    return DicomFault(folder.Path());
  }
  static std::string AfterOne(const Change& change) {
    const TemporaryFolder folder;
    WriteSeries(folder.Path(), "ct", 1);
    ChangeSlice(folder.Path() / "ct3.dcm", change);
    return DicomFault(folder.Path());
  }
  static void ExpectSaid(const std::string& fault, const char* what) {
    EXPECT_NE(fault.find(what), std::string::npos) << "\"" << fault << "\" does not say " << what;
    EXPECT_NE(fault.find(".dcm: "), std::string::npos) << "names no file: " << fault;
  }
};

TEST_F(DicomFaults, SpacingIsNeverGuessed) {
  ExpectSaid(AfterAll(Remove(kSpacing)), "no spacing");
  for (const char* text : {"0\\0", "-1\\1", "0.5\\", "a\\b", "0.5", "nan\\1", "0.5\\0.5\\0.5"})
    ExpectSaid(AfterAll(Set(kSpacing, gdcm::VR::DS, text)), "spacing");
  ExpectSaid(AfterOne(Set(kSpacing, gdcm::VR::DS, "0.6\\0.6")), "another spacing");
}

TEST_F(DicomFaults, OrientationAndPositionAreNeverGuessed) {
  ExpectSaid(AfterAll(Remove(kOrientation)), "no orientation");
  for (const char* text :
       {"0\\0\\0\\0\\0\\0", "nan\\1\\0\\1\\0\\0", "1\\0\\0\\1\\0\\0", "2\\0\\0\\0\\1\\0", "1\\0\\0"})
    ExpectSaid(AfterAll(Set(kOrientation, gdcm::VR::DS, text)), "orientation");
  ExpectSaid(AfterOne(Set(kOrientation, gdcm::VR::DS, "1\\0\\0\\0\\1\\0")), "across");
  ExpectSaid(AfterOne(Remove(kPosition)), "no position");
  ExpectSaid(AfterOne(Set(kPosition, gdcm::VR::DS, "1\\2\\inf")), "position");
}

TEST_F(DicomFaults, HounsfieldUnitsAreNeverGuessed) {
  ExpectSaid(AfterAll(Remove(kSlope)), "Hounsfield");
  ExpectSaid(AfterAll(Remove(kIntercept)), "Hounsfield");
  ExpectSaid(AfterAll(Set(kSlope, gdcm::VR::DS, "0")), "RescaleSlope");
  ExpectSaid(AfterAll(Set(kSlope, gdcm::VR::DS, "x")), "RescaleSlope");
}

// A slope of its own on each slice is right, not an accident.
TEST_F(DicomFaults, EachSliceHasItsOwnScale) {
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "ct", 1);
  const Volume before = LoadVolume(folder.Path());
  ChangeSlice(folder.Path() / "ct3.dcm", Set(kIntercept, gdcm::VR::DS, "-1000"));
  const Volume after = LoadVolume(folder.Path());
  int changed = 0;
  for (int z = 0; z < kSlices; ++z) {
    const float step = after.At(1, 1, z) - before.At(1, 1, z);
    EXPECT_TRUE(step == 0 || step == 24) << step;
    changed += step == 24 ? 1 : 0;
  }
  EXPECT_EQ(changed, 1);
}

TEST_F(DicomFaults, SlicesMissingDoubledOrUnevenAreRefused) {
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "ct", 1);
  // Slice k is file (3 k) mod 5: file 1 is slice 2, in the middle.
  fs::rename(folder.Path() / "ct1.dcm", folder.Path() / "away");
  fs::remove(folder.Path() / "away");
  ExpectSaid(DicomFault(folder.Path()), "missing or doubled");
  ExpectSaid(AfterOne(Set(kPosition, gdcm::VR::DS, "1\\2\\1")), "missing or doubled");
  ExpectSaid(AfterOne(Set(kPosition, gdcm::VR::DS, "1\\2\\1.8")), "missing or doubled");
}

// The gantry's tilt shears the volume: every voxel still lies where its slice says.
TEST_F(DicomFaults, ATiltedGantryIsUnderstood) {
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "ct", 1);
  for (int k = 0; k < kSlices; ++k)
    ChangeSlice(folder.Path() / StrCat("ct", (k * 3) % kSlices, ".dcm"),
                Set(kPosition, gdcm::VR::DS, StrCat(1 + 0.3 * k, "\\2\\", 3 - k)));
  const Volume volume = LoadVolume(folder.Path());
  for (int z = 0; z < kSlices; ++z) {
    const int k = static_cast<int>((volume.At(0, 0, z) + 1024) / 100);
    EXPECT_TRUE((volume.lps_from_index * Eigen::Vector4d(0, 0, z, 1))
                    .head<3>()
                    .isApprox(Eigen::Vector3d(1 + 0.3 * k, 2, 3 - k), 1e-6));
  }
}

TEST_F(DicomFaults, OtherPicturesAreRefused) {
  ExpectSaid(AfterAll(Set(kPhotometric, gdcm::VR::CS, "MONOCHROME1")), "MONOCHROME1");
  ExpectSaid(AfterAll(Set(kPhotometric, gdcm::VR::CS, "RGB")), "RGB");
  ExpectSaid(AfterAll(Set(kFrames, gdcm::VR::IS, "7")), "multi-frame");
  EXPECT_NE(AfterAll(Set(kImageType, gdcm::VR::CS, "ORIGINAL\\PRIMARY\\LOCALIZER")).find("scout"),
            std::string::npos);
}

// Two scouts and a scan: the scan is the volume.
TEST_F(DicomFaults, ScoutsAreNoSeriesToChooseFrom) {
  const TemporaryFolder folder;
  WriteSeries(folder.Path() / "a", "scout", 7);
  ChangeSlices(folder.Path() / "a", Set(kImageType, gdcm::VR::CS, "ORIGINAL\\PRIMARY\\LOCALIZER"));
  WriteSeries(folder.Path() / "b", "ct", 1);
  EXPECT_NEAR(std::abs(LoadVolume(folder.Path()).lps_from_index(2, 2)), 1, 1e-9);
}

TEST_F(DicomFaults, MissingPixelsAreNoticed) {
  ExpectSaid(AfterOne([](gdcm::DataSet& data) {
               gdcm::DataElement pixels(kPixels, 0, gdcm::VR::OW);
               pixels.SetByteValue("abcdefgh", 8);
               data.Replace(pixels);
             }),
             "cut short");
  ExpectSaid(AfterOne(Remove(kPixels)), "cut short");
}

// Wherever a slice is cut off, it is an error that names it, and never a crash or a volume.
TEST_F(DicomFaults, ACutSliceIsRefusedWhereverItIsCut) {
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "ct", 1);
  const std::string whole = ReadFile(folder.Path() / "ct3.dcm");
  for (size_t length = 0; length < whole.size(); length += 37) {
    WriteFileAtomically(folder.Path() / "ct3.dcm", whole.substr(0, length), Flush::kLater);
    EXPECT_NE(DicomFault(folder.Path()).find("ct3.dcm: "), std::string::npos)
        << "cut at " << length << ": " << DicomFault(folder.Path());
  }
}

TEST_F(DicomFaults, WhatElseLiesInAFolderIsPassedOver) {
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "ct", 1);
  WriteFileAtomically(folder.Path() / "readme.txt", std::string(500, 'x'));
  ASSERT_EQ(mkfifo((folder.Path() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(DicomFault(folder.Path()), "");
  WriteFileAtomically(folder.Path() / "junk.dcm", std::string(500, 'x'));
  ExpectSaid(DicomFault(folder.Path()), "not a DICOM file");
}

TEST_F(DicomFaults, AHugeSizeIsNotBelieved) {
  const std::string many("\xff\xff", 2);
  const std::string fault = AfterAll(Set(kRows, gdcm::VR::US, many));
  EXPECT_NE(fault.find(".dcm: "), std::string::npos) << fault;
}

TEST(Dicom, AFolderWithoutSlicesSaysSo) {
  if (!HaveDicom()) GTEST_SKIP() << "the module is not beside the tests";
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "readme.txt", "nothing");
  EXPECT_THROW(LoadVolume(folder.Path()), InputError);
}

}  // namespace
}  // namespace lumen
