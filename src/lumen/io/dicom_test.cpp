// DICOM folders, written here with GDCM itself.
#include <gdcmAttribute.h>
#include <gdcmImageWriter.h>
#include <gdcmReader.h>
#include <gdcmUIDGenerator.h>
#include <gdcmWriter.h>
#include <gtest/gtest.h>

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
std::string FaultOf(const fs::path& folder) {
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
  const std::string fault = FaultOf(folder.Path());
  EXPECT_NE(fault.find("2 series"), std::string::npos) << fault;
  EXPECT_NE(fault.find("\"lung\", 5 slices"), std::string::npos) << fault;
  EXPECT_NE(fault.find("\"soft\""), std::string::npos) << fault;
  const double a = std::abs(LoadVolume(folder.Path(), {"1"}).lps_from_index(2, 2));
  const double b = std::abs(LoadVolume(folder.Path(), {"2"}).lps_from_index(2, 2));
  EXPECT_NEAR(a + b, 3, 1e-9);
}

TEST(Dicom, SlicesWithoutSpacingSaySo) {
  if (!HaveDicom()) GTEST_SKIP() << "the module is not beside the tests";
  const TemporaryFolder folder;
  WriteSeries(folder.Path(), "bare", 1);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.Path())) {
    gdcm::Reader reader;
    reader.SetFileName(entry.path().c_str());
    ASSERT_TRUE(reader.Read());
    ASSERT_GT(reader.GetFile().GetDataSet().Remove(gdcm::Tag(0x0028, 0x0030)), 0U);
    gdcm::Writer writer;
    writer.SetFile(reader.GetFile());
    writer.SetFileName(entry.path().c_str());
    ASSERT_TRUE(writer.Write());
  }
  const std::string fault = FaultOf(folder.Path());
  EXPECT_NE(fault.find("no spacing"), std::string::npos) << fault;
}

TEST(Dicom, AFolderWithoutSlicesSaysSo) {
  if (!HaveDicom()) GTEST_SKIP() << "the module is not beside the tests";
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "readme.txt", "nothing");
  EXPECT_THROW(LoadVolume(folder.Path()), InputError);
}

}  // namespace
}  // namespace lumen
