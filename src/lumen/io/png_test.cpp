#include "lumen/io/png.h"

#include <gtest/gtest.h>

#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/io/image_file.h"

namespace lumen {
namespace {

template <typename T>
Image<T> RandomImage(int width, int height, int channels) {
  Random random(1);
  Image<T> image(width, height, channels);
  for (size_t i = 0; i < image.Size(); ++i) image.Data()[i] = static_cast<T>(random.NextBits());
  return image;
}

TEST(Png, EightAndSixteenBitsReadBackExactly) {
  const TemporaryFolder folder;
  const auto rgb = RandomImage<uint8_t>(31, 17, 3);
  SavePng(folder.Path() / "a.png", rgb.View());
  EXPECT_EQ(LoadPng8(folder.Path() / "a.png"), rgb);
  const auto depth = RandomImage<uint16_t>(13, 9, 1);
  SavePng(folder.Path() / "b.png", depth.View());
  EXPECT_EQ(LoadPng16(folder.Path() / "b.png"), depth);
}

TEST(Png, GreyIsSpreadToRgb) {
  const TemporaryFolder folder;
  SavePng(folder.Path() / "g.png", Image<uint8_t>(3, 2, 1, 77).View());
  const RgbImage rgb = LoadRgb(folder.Path() / "g.png");
  EXPECT_EQ(rgb.Channels(), 3);
  EXPECT_EQ(rgb(2, 1, 2), 77);
}

TEST(Png, EveryTruncationIsAnInputErrorThatNamesTheFile) {
  const std::string whole = EncodePng(RandomImage<uint8_t>(40, 30, 3).View());
  for (size_t size = 0; size < whole.size(); size += whole.size() / 37 + 1) {
    try {
      DecodePng8(whole.substr(0, size), "x.png");
      FAIL() << size;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("x.png: "), std::string::npos);
    }
  }
}

TEST(Png, FlippedBytesNeverCrash) {
  const std::string whole = EncodePng(RandomImage<uint8_t>(20, 20, 3).View());
  Random random(2);
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = whole;
    const auto flips = static_cast<char>(random.UniformInt(1, 255));
    damaged[static_cast<size_t>(random.UniformInt(8, static_cast<int64_t>(damaged.size()) - 1))] ^= flips;
    try {
      DecodePng8(damaged, "x.png");
    } catch (const InputError&) {
    }
  }
}

TEST(Png, DepthOfEightBitsIsRefused) {
  const TemporaryFolder folder;
  SavePng(folder.Path() / "a.png", Image<uint8_t>(3, 3, 1).View());
  EXPECT_THROW(LoadPng16(folder.Path() / "a.png"), InputError);
}

}  // namespace
}  // namespace lumen
