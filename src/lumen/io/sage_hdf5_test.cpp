#include "lumen/io/sage_hdf5.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include "lumen/base/file.h"

namespace lumen {
namespace {

template <typename T>
void WriteSet(hid_t file, const char* key, const std::vector<hsize_t>& shape, const std::vector<T>& values,
              hid_t type) {
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t set = H5Dcreate2(file, key, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(set);
  H5Sclose(space);
}

std::filesystem::path WriteExample(const std::filesystem::path& folder, const std::string& without = "") {
  const std::filesystem::path path = folder / "fusion_data.hdf5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  constexpr hsize_t kFrames = 3, kHeight = 4, kWidth = 5;
  std::vector<uint8_t> color(kFrames * kHeight * kWidth * 3);
  for (size_t i = 0; i < color.size(); ++i) color[i] = static_cast<uint8_t>(i);
  if (without != "color") WriteSet(file, "color", {kFrames, kHeight, kWidth, 3}, color, H5T_NATIVE_UINT8);
  if (without != "mask")
    WriteSet(file, "mask", {1, kHeight, kWidth, 1}, std::vector<uint8_t>(kHeight * kWidth, 1),
             H5T_NATIVE_UINT8);
  if (without != "intrinsics")
    WriteSet(file, "intrinsics", {1, 3, 3}, std::vector<float>{50, 0, 2, 0, 51, 1.5F, 0, 0, 1},
             H5T_NATIVE_FLOAT);
  std::vector<float> poses(kFrames * 16, 0.0F);
  for (size_t k = 0; k < kFrames; ++k) {
    for (size_t d = 0; d < 4; ++d) poses[16 * k + 5 * d] = 1;
    poses[16 * k + 3] = static_cast<float>(k);
  }
  WriteSet(file, "extrinsics", {kFrames, 4, 4}, poses, H5T_NATIVE_FLOAT);
  WriteSet(file, "render_depth", {kFrames, kHeight, kWidth, 1},
           std::vector<float>(kFrames * kHeight * kWidth, 2.5F), H5T_NATIVE_FLOAT);
  H5Fclose(file);
  return path;
}

TEST(SageHdf5, FramesPosesAndDepthAreReadAsRgb) {
  const TemporaryFolder folder;
  const auto source = OpenInput(WriteExample(folder.Path()), {});
  EXPECT_EQ(source->Info().frame_count, 3);
  EXPECT_EQ(source->Info().camera->AsPinhole()->fy, 51);
  EXPECT_EQ(source->Info().truth->at(2).world_from_camera.Translation().x(), 2);
  const auto frame = source->Next();
  EXPECT_EQ(frame->image(0, 0, 0), 2);  // stored as B, G, R = 0, 1, 2
  EXPECT_EQ(frame->image(0, 0, 2), 0);
  EXPECT_EQ(frame->time, 0.0) << "the first image has the first time";
  EXPECT_FLOAT_EQ((*source->LoadDepth(1))(3, 3), 2.5F);
}

TEST(SageHdf5, MissingKeyAndForeignFileAreNamed) {
  for (const char* key : {"color", "mask", "intrinsics"}) {
    const TemporaryFolder folder;
    try {
      OpenSageHdf5(WriteExample(folder.Path(), key));
      FAIL() << key;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("has no dataset \"") + key), std::string::npos)
          << error.what();
    }
  }
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "x.h5", "not hdf5");
  EXPECT_THROW(OpenSageHdf5(folder.Path() / "x.h5"), InputError);
}

}  // namespace
}  // namespace lumen
