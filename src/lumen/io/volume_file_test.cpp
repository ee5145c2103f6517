#include "lumen/io/volume_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <Eigen/Geometry>
#include <cmath>
#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/volume_formats.h"

namespace lumen {
namespace {

Volume MakeVolume() {
  Volume volume;
  volume.size = {4, 3, 2};
  for (int i = 0; i < 24; ++i) volume.values.push_back(static_cast<float>(i * 100 - 1000));
  const Eigen::Matrix3d turn =
      Eigen::AngleAxisd(0.4, Eigen::Vector3d(1, 2, 3).normalized()).toRotationMatrix();
  volume.lps_from_index.topLeftCorner<3, 3>() = turn * Eigen::Vector3d(0.5, 0.75, 2).asDiagonal();
  volume.lps_from_index.topRightCorner<3, 1>() = Eigen::Vector3d(-10, 20, 30);
  return volume;
}

std::string VolumeFault(const std::string& name, const std::string& content) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / name, content);
  try {
    LoadVolume(folder.Path() / name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void ExpectSame(const Volume& a, const Volume& b) {
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.values, b.values);
  EXPECT_TRUE(a.lps_from_index.isApprox(b.lps_from_index, 1e-6)) << a.lps_from_index << "\n"
                                                                 << b.lps_from_index;
}

TEST(VolumeFile, EveryFormatReadsBack) {
  const TemporaryFolder folder;
  for (const char* name : {"a.nii", "a.nrrd", "a.mha"}) {
    SCOPED_TRACE(name);
    SaveVolume(folder.Path() / name, MakeVolume());
    ExpectSame(LoadVolume(folder.Path() / name), MakeVolume());
  }
}

std::string Gzip(const std::string& bytes) {
  std::string out(bytes.size() + 1000, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(VolumeFile, PackedFilesAreUnpacked) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "a.nii.gz", Gzip(volume_formats::FormatNifti(MakeVolume())));
  ExpectSame(LoadVolume(folder.Path() / "a.nii.gz"), MakeVolume());
  const std::string nrrd = volume_formats::FormatNrrd(MakeVolume());
  const size_t body = nrrd.find("\n\n") + 2;
  std::string header = nrrd.substr(0, body);
  header.replace(header.find("encoding: raw"), 13, "encoding: gzip");
  WriteFileAtomically(folder.Path() / "a.nrrd", header + Gzip(nrrd.substr(body)));
  ExpectSame(LoadVolume(folder.Path() / "a.nrrd"), MakeVolume());
}

TEST(VolumeFile, VoxelsMayLieInAnotherFileAndInAnotherOrder) {
  const TemporaryFolder folder;
  std::string voxels = volume_formats::FormatVoxels(MakeVolume());
  for (size_t i = 0; i < voxels.size(); i += 2) std::swap(voxels[i], voxels[i + 1]);
  WriteFileAtomically(folder.Path() / "a.raw", voxels);
  WriteFileAtomically(folder.Path() / "a.mhd",
                      "NDims = 3\nDimSize = 4 3 2\nElementSpacing = 1 2 3\nElementType = MET_SHORT\n"
                      "ElementByteOrderMSB = True\nElementDataFile = a.raw\n");
  const Volume volume = LoadVolume(folder.Path() / "a.mhd");
  EXPECT_EQ(volume.values, MakeVolume().values);
  EXPECT_EQ(volume.lps_from_index(2, 2), 3);
}

TEST(VolumeFile, RasBecomesLps) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "a.nrrd",
                      "NRRD0004\ntype: short\ndimension: 3\nspace: right-anterior-superior\nsizes: 4 3 2\n"
                      "space directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (5,6,7)\nendian: little\n"
                      "encoding: raw\n\n" +
                          volume_formats::FormatVoxels(MakeVolume()));
  const Volume volume = LoadVolume(folder.Path() / "a.nrrd");
  EXPECT_EQ(volume.lps_from_index.col(3).head<3>(), Eigen::Vector3d(-5, -6, 7));
  EXPECT_EQ(volume.lps_from_index(0, 0), -1);
}

// A header whose qform, not sform, is set: a quarter turn about z.
TEST(VolumeFile, NiftiQuaternionIsUnderstood) {
  std::string bytes = volume_formats::FormatNifti(MakeVolume());
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof(value)); };
  put(254, int16_t{0});
  put(252, int16_t{1});
  put(76, 1.0F);
  put(264, std::sqrt(0.5F));
  put(268, 9.0F);
  const Volume volume = volume_formats::ParseNifti(bytes, "test");
  // In RAS the first axis points to +y; LPS turns that round.
  EXPECT_TRUE(volume.lps_from_index.col(0).head<3>().isApprox(Eigen::Vector3d(0, -0.5, 0), 1e-5));
  EXPECT_NEAR(volume.lps_from_index(0, 3), -9, 1e-6);
}

TEST(VolumeFile, FaultsAreNamed) {
  const std::string nifti = volume_formats::FormatNifti(MakeVolume());
  EXPECT_NE(VolumeFault("a.nii", nifti.substr(0, 300)).find("cut short"), std::string::npos);
  EXPECT_NE(VolumeFault("a.nii", nifti.substr(0, 380)).find("cut short"), std::string::npos);
  EXPECT_NE(VolumeFault("a.nii", std::string(400, 'x')).find("not a NIfTI"), std::string::npos);
  EXPECT_NE(VolumeFault("a.nrrd", "NRRD0004\ntype: short\ndimension: 3\nsizes: 4 3 2\nencoding: raw\n\n")
                .find("spacing"),
            std::string::npos);
  EXPECT_NE(
      VolumeFault("a.mha", "NDims = 3\nDimSize = 4 3 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n")
          .find("spacing"),
      std::string::npos);
  EXPECT_NE(VolumeFault("a.mha", "NDims = 3\n").find("elementdatafile"), std::string::npos);
  EXPECT_NE(VolumeFault("a.xyz", "").find("no model Lumen knows"), std::string::npos);
  std::string flat = nifti;
  for (size_t at = 280; at < 328; ++at) flat[at] = 0;
  EXPECT_NE(VolumeFault("a.nii", flat).find("spacing"), std::string::npos);
}

TEST(VolumeFile, NiftiIsNeverGuessed) {
  const auto fault = [](size_t at, auto value) {
    std::string bytes = volume_formats::FormatNifti(MakeVolume());
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    return VolumeFault("a.nii", bytes);
  };
  for (const float offset : {0.0F, -1.0F, 100.0F, 352.5F, 1e30F, std::nanf(""), HUGE_VALF})
    EXPECT_NE(fault(108, offset).find("vox_offset"), std::string::npos) << offset;
  EXPECT_NE(fault(254, int16_t{0}).find("how it lies in space"), std::string::npos);
  for (const float spacing : {0.0F, 5.0F, -0.5F, std::nanf("")})
    EXPECT_NE(fault(80, spacing).find("spacing"), std::string::npos) << spacing;
  EXPECT_NE(fault(112, HUGE_VALF).find("scale"), std::string::npos);
  EXPECT_EQ(fault(112, std::nanf("")), "") << "some writers say so that there is no scale";
  EXPECT_NE(fault(40, int16_t{4000}).find("three dimensions"), std::string::npos);
  EXPECT_NE(fault(42, int16_t{-4}).find("nothing to work with"), std::string::npos);
}

TEST(VolumeFile, VoxelsThatAreNoNumbersAreRefused) {
  const std::string head = "NDims = 3\nDimSize = 2 2 2\nElementSpacing = 1 1 1\nElementType = MET_FLOAT\n";
  std::vector<float> values(8, 1);
  const auto bytes = [&] { return std::string(reinterpret_cast<const char*>(values.data()), 32); };
  EXPECT_EQ(VolumeFault("a.mha", head + "ElementDataFile = LOCAL\n" + bytes()), "");
  values[3] = std::nanf("");
  EXPECT_NE(VolumeFault("a.mha", head + "ElementDataFile = LOCAL\n" + bytes()).find("no numbers"),
            std::string::npos);
  std::string scaled = volume_formats::FormatNifti(MakeVolume());
  const float slope = 3e38F;
  std::memcpy(scaled.data() + 112, &slope, sizeof(slope));
  EXPECT_NE(VolumeFault("a.nii", scaled).find("no numbers"), std::string::npos)
      << "nor what a scale makes of them";
}

// A small file that unpacks to very much, and a header that asks for it.
TEST(VolumeFile, PackedDataIsNeverMoreThanItsHeaderSays) {
  std::string bytes = volume_formats::FormatNifti(MakeVolume());
  const std::string zeros(size_t{100} << 20, '\0');
  EXPECT_NE(VolumeFault("a.nii.gz", Gzip(bytes + zeros)).find("far more"), std::string::npos);
  for (size_t at = 42; at < 48; at += 2) {
    const int16_t side = 600;
    std::memcpy(bytes.data() + at, &side, 2);
  }
  EXPECT_NE(VolumeFault("a.nii.gz", Gzip(bytes)).find("cut short"), std::string::npos);
  for (size_t at = 42; at < 48; at += 2) {
    const int16_t side = 4000;
    std::memcpy(bytes.data() + at, &side, 2);
  }
  EXPECT_NE(VolumeFault("a.nii.gz", Gzip(bytes)).find("too many"), std::string::npos);
}

TEST(VolumeFile, HeadersNameNoFilesElsewhere) {
  for (const char* file : {"/dev/zero", "/etc/passwd", "../a.raw", "x/../../a.raw"}) {
    EXPECT_NE(VolumeFault("a.mhd", StrCat("NDims = 3\nDimSize = 4 3 2\nElementSpacing = 1 2 3\nElementType = "
                                          "MET_SHORT\nElementDataFile = ",
                                          file, "\n"))
                  .find("not beside it"),
              std::string::npos)
        << file;
  }
}

TEST(VolumeFile, TextHeadersAreNeverGuessed) {
  const std::string nrrd = volume_formats::FormatNrrd(MakeVolume());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = nrrd;
    text.replace(text.find(from), from.size(), to);
    return VolumeFault("a.nrrd", text);
  };
  EXPECT_EQ(changed("endian: little", "endian: little"), "");
  EXPECT_NE(changed("endian: little\n", "").find("endian"), std::string::npos);
  EXPECT_NE(changed("space: left-posterior-superior\n", "").find("how it lies"), std::string::npos);
  EXPECT_NE(changed("left-posterior-superior", "scanner-xyz").find("how it lies"), std::string::npos);
  EXPECT_NE(changed("endian: little", "byte skip: 2\nendian: little").find("byte skip"), std::string::npos);
  EXPECT_NE(changed("endian: little", "space units: \"m\" \"m\" \"m\"\nendian: little").find("mm"),
            std::string::npos);
  EXPECT_NE(changed("sizes: 4 3 2", "sizes: 4.5 3 2").find("makes no sense"), std::string::npos);
  EXPECT_NE(changed("sizes: 4 3 2", "sizes: nan 3 2").find("makes no sense"), std::string::npos);
  const std::string meta = volume_formats::FormatMetaImage(MakeVolume());
  const auto with = [&](const std::string& line) {
    std::string text = meta;
    return VolumeFault("a.mha", text.insert(text.find("NDims"), line + "\n"));
  };
  EXPECT_EQ(with("HeaderSize = 0"), "");
  EXPECT_NE(with("HeaderSize = 100").find("headersize"), std::string::npos);
  EXPECT_NE(with("ElementNumberOfChannels = 3").find("elementnumberofchannels"), std::string::npos);
}

}  // namespace
}  // namespace lumen
