#include <gtest/gtest.h>

#include <opencv2/videoio.hpp>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/io/opencv_codec.h"

namespace lumen {
namespace {

// Motion JPEG in AVI is what OpenCV writes by itself, whatever else is installed.
std::filesystem::path WriteVideo(const std::filesystem::path& folder, int frames) {
  const std::filesystem::path path = folder / "clip.avi";
  cv::VideoWriter writer(path.string(), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 20, cv::Size(64, 48));
  for (int i = 0; i < frames; ++i) writer.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar(10, 100, 200 - 10 * i)));
  return path;
}

TEST(Video, FramesComeAsRgbWithTheirTimes) {
  const TemporaryFolder folder;
  const auto source = OpenInput(WriteVideo(folder.Path(), 5), {});
  EXPECT_NEAR(source->Info().fps, 20, 1e-6);
  EXPECT_EQ(source->Info().width, 64);
  int frames = 0;
  while (const auto frame = source->Next()) {
    EXPECT_NEAR(frame->image(30, 20, 0), 200 - 10 * frames, 6);
    EXPECT_NEAR(frame->image(30, 20, 2), 10, 6);
    EXPECT_NEAR(frame->time, frames / 20.0, 1e-9);
    ++frames;
  }
  EXPECT_EQ(frames, 5);
}

TEST(Video, StrideSkipsFrames) {
  const TemporaryFolder folder;
  InputOptions options;
  options.start = 1;
  options.stride = 2;
  const auto source = OpenInput(WriteVideo(folder.Path(), 6), options);
  std::vector<int64_t> indices;
  while (const auto frame = source->Next()) indices.push_back(frame->index);
  EXPECT_EQ(indices, (std::vector<int64_t>{1, 3, 5}));
}

// As of a stream whose sender changes its mind: brought to the first frame's size by the library, or refused.
TEST(Video, FramesOfAnotherSizeDoNotComeOut) {
  const TemporaryFolder folder;
  std::string stream;
  for (int i = 0; i < 9; ++i) {
    const bool other = i >= 3 && i < 6;
    stream += EncodeJpeg(RgbImage(other ? 32 : 64, other ? 24 : 48, 3, 100).View(), 90);
  }
  WriteFileAtomically(folder.Path() / "x.mjpeg", stream);
  const auto source = OpenInput(folder.Path() / "x.mjpeg", {});
  int good = 0, bad = 0;
  while (true) {
    try {
      const auto frame = source->Next();
      if (!frame) break;
      EXPECT_EQ(frame->image.Width(), 64);
      EXPECT_EQ(frame->image.Height(), 48);
      ++good;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("is 32x24, not 64x48"), std::string::npos) << error.what();
      ++bad;
    }
  }
  EXPECT_GE(good, 6);
  EXPECT_EQ(good + bad, 9);
}

TEST(Video, UndecodableFileAndAbsentCameraAreNamed) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "x.mp4", "this is no video");
  EXPECT_THROW(OpenInput(folder.Path() / "x.mp4", {}), InputError);
  EXPECT_THROW(OpenInput("/dev/video97", {}), InputError);
}

TEST(Jpeg, EncodedPictureDecodesNearlyTheSame) {
  const RgbImage image(32, 16, 3, 90);
  const RgbImage back = DecodeWithOpenCv(EncodeJpeg(image, 95), "x.jpg");
  EXPECT_NEAR(back(5, 5, 1), 90, 2);
}

}  // namespace
}  // namespace lumen
