#include "lumen/io/frame_source.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/test_data.h"
#include "lumen/image/mask.h"
#include "lumen/io/image_file.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/png.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

TEST(ImageFolder, NamesAreReadInNaturalOrderAndMaskIsNoFrame) {
  const TemporaryFolder folder;
  for (const int i : {2, 10, 1})
    SavePng(folder.Path() / ("frame" + std::to_string(i) + ".png"),
            RgbImage(8, 6, 3, static_cast<uint8_t>(i)).View());
  SavePng(folder.Path() / "mask.png", Mask(8, 6, 1, 255).View());
  const auto source = OpenInput(folder.Path(), {});
  std::vector<int> order;
  while (const auto frame = source->Next()) order.push_back(frame->image(0, 0, 0));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 10}));
  EXPECT_TRUE(source->Info().mask);
}

TEST(ImageFolder, EmptyFolderAndTruncatedImageAreNamed) {
  const TemporaryFolder folder;
  EXPECT_THROW(OpenInput(folder.Path(), {}), InputError);
  for (int i = 0; i < 3; ++i) SavePng(folder.Path() / (std::to_string(i) + ".png"), RgbImage(8, 6, 3).View());
  fs::resize_file(folder.Path() / "1.png", 50);
  const auto source = OpenInput(folder.Path(), {});
  EXPECT_TRUE(source->Next());
  EXPECT_THROW(source->Next(), InputError);
  EXPECT_TRUE(source->Next()) << "a caller may go on after a bad frame";
}

TEST(FrameSource, AFrameThatCannotBeReadDoesNotShiftTheOthers) {
  const TemporaryFolder folder;
  for (int i = 0; i < 6; ++i) SavePng(folder.Path() / (std::to_string(i) + ".png"), RgbImage(8, 6, 3).View());
  fs::resize_file(folder.Path() / "1.png", 50);
  InputOptions options;
  options.start = 1;
  options.stride = 2;
  options.end = 4;
  const auto source = OpenInput(folder.Path(), options);
  EXPECT_THROW(source->Next(), InputError);
  const auto frame = source->Next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->index, 3);
  EXPECT_FALSE(source->Next());
}

TEST(FrameSource, MissingCalibrationSaysWhatToDo) {
  const TemporaryFolder folder;
  SavePng(folder.Path() / "0.png", RgbImage(8, 6, 3).View());
  const auto source = OpenInput(folder.Path(), {});
  try {
    RequireCamera(*source, folder.Path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--calibration FILE"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--fov"), std::string::npos);
  }
  InputOptions options;
  options.fov_degrees = 90;
  EXPECT_EQ(RequireCamera(*OpenInput(folder.Path(), options), folder.Path()).Width(), 8);
}

TEST(FrameSource, AFieldOfViewBeyondAPinholeIsAFisheyeAndBeyondAllIsRefused) {
  EXPECT_EQ(GuessCamera(77, 320, 256).ModelName(), "pinhole");
  EXPECT_EQ(GuessCamera(100, 320, 256).ModelName(), "pinhole");
  const Camera fisheye = GuessCamera(140, 320, 256);
  EXPECT_EQ(fisheye.ModelName(), "kannala_brandt");
  const Eigen::Vector3d left = *fisheye.Unproject({-0.5, 127.5});
  const Eigen::Vector3d right = *fisheye.Unproject({319.5, 127.5});
  EXPECT_NEAR(std::acos(left.dot(right)) * 180 / M_PI, 140, 1e-6);
  EXPECT_THROW(GuessCamera(171, 320, 256), InputError);
  EXPECT_THROW(GuessCamera(179, 320, 256), InputError);
}

TEST(FrameSource, CalibrationOfAnotherSizeIsRefused) {
  const TemporaryFolder folder;
  SavePng(folder.Path() / "0.png", RgbImage(8, 6, 3).View());
  WriteFileAtomically(
      folder.Path() / "c.toml",
      "[camera]\nmodel = \"pinhole\"\nwidth = 64\nheight = 48\nfx = 1\nfy = 1\ncx = 1\ncy = 2\n");
  InputOptions options;
  options.calibration = folder.Path() / "c.toml";
  EXPECT_THROW(OpenInput(folder.Path(), options), InputError);
}

TEST(FrameSource, FpsAndChannelOrderCanBeOverridden) {
  const TemporaryFolder folder;
  RgbImage image(8, 6, 3);
  image(0, 0, 0) = 200;
  for (int i = 0; i < 2; ++i) SavePng(folder.Path() / (std::to_string(i) + ".png"), image.View());
  InputOptions options;
  options.fps = 10;
  options.swap_red_and_blue = true;
  const auto source = OpenInput(folder.Path(), options);
  source->Next();
  const auto second = source->Next();
  EXPECT_DOUBLE_EQ(second->time, 0.1);
  EXPECT_EQ(second->image(0, 0, 2), 200);
}

TEST(FrameSource, JpegThatWasCutShortIsRefused) {
  const auto data = FindTestData("nasal-real");
  if (!data) GTEST_SKIP() << "no nasal-real here";
  const std::string whole = ReadFile(*data / "rgb/000003.jpg");
  EXPECT_NO_THROW(DecodeRgb(whole, "x.jpg"));
  EXPECT_THROW(DecodeRgb(whole.substr(0, whole.size() / 2), "x.jpg"), InputError);
}

TEST(InputStreamThread, RealFramesComeOutAtNetworkSizeWithTheirMask) {
  const auto data = FindTestData("nasal-real");
  if (!data) GTEST_SKIP() << "no nasal-real here";
  InputOptions options;
  options.end = 6;
  InputStream stream(OpenInput(*data, options), *data);
  int frames = 0;
  while (const auto frame = stream.Next()) {
    EXPECT_EQ(frame->index, frames++);
    EXPECT_EQ(frame->image.Width(), 160);
    EXPECT_EQ(frame->image.Height(), 128);
  }
  EXPECT_EQ(frames, 6);
  const double share = static_cast<double>(CountMask(stream.GetMask())) / (160 * 128);
  EXPECT_GT(share, 0.6);
  EXPECT_LT(share, 0.9);
}

TEST(InputStreamThread, MaskIsFoundWhereNoneIsGiven) {
  const auto data = FindTestData("nasal-real");
  if (!data) GTEST_SKIP() << "no nasal-real here";
  InputOptions options;
  options.end = 6;
  const auto source = OpenInput(*data / "rgb", options);
  std::vector<RawFrame> peeked;
  const Mask found = FindMask(*source, peeked);
  const Mask given = LoadMask(*data / "mask.png");
  int64_t agree = 0;
  for (size_t i = 0; i < found.Size(); ++i) agree += (found.Data()[i] != 0) == (given.Data()[i] != 0);
  EXPECT_GT(static_cast<double>(agree) / static_cast<double>(found.Size()), 0.97);
  EXPECT_FALSE(peeked.empty());
}

}  // namespace
}  // namespace lumen
