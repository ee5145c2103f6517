#include <gtest/gtest.h>

#include <fstream>

#include "lumen/base/random.h"
#include "lumen/image/image.h"

namespace lumen {
namespace {

Image<float> Noise(uint64_t seed) {
  Random random(seed);
  Image<float> image(80, 64, 3);
  for (size_t i = 0; i < image.Size(); ++i) image.Data()[i] = static_cast<float>(random.Normal(0, 1));
  return image;
}

int64_t ResidentPages() {
  int64_t total = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST(DiskImage, HoldsTheSamePixelsAndItsCopiesLieInMemory) {
  DiskMemory memory(testing::TempDir());
  const Image<float> image = Noise(1);
  {
    const Image<float> on_disk = image.On(memory);
    EXPECT_EQ(on_disk, image);
    EXPECT_GE(memory.BytesOnDisk(), image.Size() * sizeof(float));
    const Image<float> copy = on_disk;
    EXPECT_EQ(copy, image);
    Image<float> moved = image.On(memory);
    const Image<float> taken = std::move(moved);
    EXPECT_EQ(taken, image);
    EXPECT_LT(memory.BytesOnDisk(), 3 * image.Size() * sizeof(float));
  }
  EXPECT_EQ(memory.BytesOnDisk(), 0U);
}

TEST(DiskImage, TakesNoRoomInMemoryUntilItIsRead) {
  DiskMemory memory(testing::TempDir());
  const Image<float> image = Noise(2);
  std::vector<Image<float>> kept;
  kept.reserve(500);
  const int64_t before = ResidentPages();
  for (int i = 0; i < 500; ++i) kept.push_back(image.On(memory));  // 30 MB
  EXPECT_LT(ResidentPages() - before, static_cast<int64_t>(memory.BytesOnDisk()) / 4096 / 4);
  for (const Image<float>& other : kept) ASSERT_EQ(other, image);
}

TEST(DiskImage, WithoutADiskItIsAnOrdinaryOne) {
  DiskMemory nowhere("/no/such/folder");
  const Image<float> image = Noise(3);
  EXPECT_EQ(image.On(nowhere), image);
  EXPECT_EQ(nowhere.BytesOnDisk(), 0U);
}

}  // namespace
}  // namespace lumen
