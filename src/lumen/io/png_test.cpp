#include "lumen/io/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

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

// Room is made for what a header says only where the file can hold it.
TEST(Png, ASmallFileThatSaysItIsLargeIsCutShort) {
  std::string bytes = EncodePng(Image<uint8_t>(1, 1, 1).View());
  // IHDR: its name at 12, big-endian width and height, five bytes, the checksum of all these.
  bytes.replace(16, 8, std::string("\0\0\x40\0\0\0\x08\0", 8));
  const auto sum = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 12), 17));
  for (size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  try {
    DecodePng8(bytes, "x.png");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "x.png: the file is cut short");
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
