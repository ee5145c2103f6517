#include "lumen/io/sage_hdf5.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <functional>

#include "lumen/base/error.h"
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

// Replaces a dataset of the example by one of another shape or kind, and says what is wrong with that.
std::string FaultWith(const char* key, const std::function<void(hid_t)>& write) {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteExample(folder.Path());
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, key, H5P_DEFAULT);
  write(file);
  H5Fclose(file);
  try {
    const auto source = OpenSageHdf5(path);
    while (source->Next()) continue;
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(SageHdf5, OtherShapesAndKindsAreRefused) {
  const auto set = [](const char* key, const std::vector<hsize_t>& shape) {
    hsize_t size = 1;
    for (const hsize_t extent : shape) size *= extent;
    return [=](hid_t file) { WriteSet(file, key, shape, std::vector<float>(size, 1.0F), H5T_NATIVE_FLOAT); };
  };
  const auto scalar = [](const char* key) {
    return [=](hid_t file) {
      const hid_t space = H5Screate(H5S_SCALAR);
      H5Dclose(H5Dcreate2(file, key, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Sclose(space);
    };
  };
  for (const char* key : {"color", "mask", "intrinsics", "extrinsics", "render_depth"}) {
    EXPECT_NE(FaultWith(key, scalar(key)).find("a single value"), std::string::npos) << key;
    EXPECT_NE(FaultWith(key, set(key, {2})), "") << key;
    EXPECT_NE(FaultWith(key, set(key, {1, 1, 1, 1, 1, 1})), "") << key;
  }
  EXPECT_NE(FaultWith("extrinsics", set("extrinsics", {3, 2, 2})).find("matrices"), std::string::npos);
  EXPECT_NE(FaultWith("extrinsics", set("extrinsics", {3, 4, 4})).find("rigid"), std::string::npos);
  EXPECT_NE(
      FaultWith("mask",
                [](hid_t file) {
                  const hid_t space = H5Screate_simple(1, std::vector<hsize_t>{1}.data(), nullptr);
                  const hid_t text = H5Tcopy(H5T_C_S1);
                  H5Tset_size(text, H5T_VARIABLE);
                  H5Dclose(H5Dcreate2(file, "mask", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
                  H5Tclose(text);
                  H5Sclose(space);
                })
          .find("does not hold numbers"),
      std::string::npos);
}

// Bytes of other files must not come in as pictures.
TEST(SageHdf5, OtherFilesAreNotRead) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "secret", std::string(1000, 's'));
  EXPECT_NE(FaultWith("color",
                      [&](hid_t file) {
                        const std::vector<hsize_t> shape = {3, 4, 5, 3};
                        const hid_t space = H5Screate_simple(4, shape.data(), nullptr);
                        const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
                        H5Pset_external(made, (folder.Path() / "secret").c_str(), 0, 180);
                        H5Dclose(H5Dcreate2(file, "color", H5T_NATIVE_UINT8, space, H5P_DEFAULT, made,
                                            H5P_DEFAULT));
                        H5Pclose(made);
                        H5Sclose(space);
                      })
                .find("lies in another file"),
            std::string::npos);
  EXPECT_NE(FaultWith("color",
                      [&](hid_t file) {
                        H5Lcreate_external("other.h5", "/color", file, "color", H5P_DEFAULT, H5P_DEFAULT);
                      })
                .find("is a link"),
            std::string::npos);
}

// Every byte of the structure set to something else, one at a time: an error or a picture, never a crash.
TEST(SageHdf5, DamageIsNeverACrash) {
  const TemporaryFolder folder;
  const std::string whole = ReadFile(WriteExample(folder.Path()));
  const std::filesystem::path path = folder.Path() / "damaged.h5";
  for (size_t at = 0; at < whole.size(); at += 61) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    WriteFileAtomically(path, bytes, Flush::kLater);
    try {
      const auto source = OpenSageHdf5(path);
      while (source->Next()) continue;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("damaged.h5"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace lumen
