#include "lumen/sim/sensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

constexpr int kWidth = 40;
constexpr int kHeight = 32;

Mask FullMask() { return Mask(kWidth, kHeight, 1, 255); }
Image<float> Flat(float value) { return Image<float>(kWidth, kHeight, 3, value); }

SensorOptions QuietSensor() {
  SensorOptions options;
  options.vignette = 0;
  options.read_noise = 0;
  options.shot_noise = 0;
  return options;
}

double Mean(const RgbImage& image) {
  double sum = 0;
  for (size_t i = 0; i < image.Size(); ++i) sum += image.Data()[i];
  return sum / static_cast<double>(image.Size());
}

TEST(Exposure, BringsTheMeanToItsTarget) {
  EXPECT_NEAR(ComputeWantedGain(Flat(0.01F), FullMask(), 0.2F), 20, 1e-3);
  EXPECT_NEAR(ComputeWantedGain(Flat(4.0F), FullMask(), 0.2F), 0.05, 1e-4);
  EXPECT_TRUE(std::isfinite(ComputeWantedGain(Flat(0), FullMask(), 0.2F)));
}

TEST(Exposure, LagsBehindTheLight) {
  ExposureState state = UpdateExposure({}, 8.0F, 1 / 30.0F, 0.5F);
  EXPECT_NEAR(state.log_gain, std::log(8.0F), 1e-6) << "the first frame is exposed at once";
  state = UpdateExposure(state, 1.0F, 1 / 30.0F, 0.5F);
  EXPECT_GT(state.log_gain, 0.8 * std::log(8.0F));
  for (int i = 0; i < 150; ++i) state = UpdateExposure(state, 1.0F, 1 / 30.0F, 0.5F);
  EXPECT_NEAR(state.log_gain, 0, 1e-3);
}

TEST(Sensor, ClipsAndKeepsOrder) {
  const Sensor sensor(QuietSensor(), FullMask(), 1);
  EXPECT_EQ(Mean(sensor.Develop(Flat(100), 1, 0)), 255);
  EXPECT_EQ(Mean(sensor.Develop(Flat(0), 1, 0)), 0);
  double last = -1;
  for (const float light : {0.01F, 0.05F, 0.2F, 0.4F, 0.8F, 1.2F}) {
    const double mean = Mean(sensor.Develop(Flat(light), 1, 0));
    EXPECT_GT(mean, last);
    last = mean;
  }
}

TEST(Sensor, IsBlackOutsideTheMaskEvenInBrightLight) {
  Mask mask = FullMask();
  for (int y = 0; y < kHeight; ++y) mask(3, y) = 0;
  SensorOptions options;
  for (const int quality : {0, 70}) {
    options.jpeg_quality = quality;
    const RgbImage image = Sensor(options, mask, 1).Develop(Flat(0.7F), 1, 0);
    for (int y = 0; y < kHeight; ++y)
      EXPECT_EQ(image(3, y, 0) + image(3, y, 1) + image(3, y, 2), 0) << quality;
  }
}

TEST(Sensor, VignetteDarkensTheEdge) {
  SensorOptions options = QuietSensor();
  options.vignette = 0.4F;
  const RgbImage image = Sensor(options, FullMask(), 1).Develop(Flat(0.2F), 1, 0);
  EXPECT_GT(image(kWidth / 2, kHeight / 2, 0), image(kWidth / 2, 0, 0) + 10);
}

TEST(Sensor, NoiseIsReproducibleAndChangesWithTheFrame) {
  SensorOptions options = QuietSensor();
  options.shot_noise = 0.02F;
  const Sensor sensor(options, FullMask(), 1);
  EXPECT_EQ(sensor.Develop(Flat(0.2F), 1, 5), sensor.Develop(Flat(0.2F), 1, 5));
  EXPECT_NE(sensor.Develop(Flat(0.2F), 1, 5), sensor.Develop(Flat(0.2F), 1, 6));
  EXPECT_NE(sensor.Develop(Flat(0.2F), 1, 5), Sensor(options, FullMask(), 2).Develop(Flat(0.2F), 1, 5));
}

TEST(MotionBlur, SmearsAlongTheMotionOnly) {
  Image<float> light(kWidth, kHeight, 3);
  for (int c = 0; c < 3; ++c) light(20, 16, c) = 1;
  Image<float> motion(kWidth, kHeight, 2);
  for (int i = 0; i < kWidth * kHeight; ++i) motion.Data()[2 * i] = 6;
  const Image<float> blurred = BlurAlongMotion(light, motion, FullMask());
  EXPECT_LT(blurred(20, 16, 0), 0.5F);
  EXPECT_GT(blurred(22, 16, 0), 0.05F);
  EXPECT_EQ(blurred(20, 18, 0), 0);
  const Image<float> still = BlurAlongMotion(light, Image<float>(kWidth, kHeight, 2), FullMask());
  EXPECT_EQ(still, light);
}

TEST(Soften, KeepsAFlatPictureFlatUpToTheMask) {
  Mask mask = FullMask();
  for (int y = 0; y < kHeight; ++y) mask(0, y) = 0;
  Image<float> light = Flat(0.3F);
  for (int y = 0; y < kHeight; ++y) light(0, y, 0) = 9;
  const Image<float> soft = SoftenImage(light, mask, 0.6F);
  EXPECT_NEAR(soft(1, 5, 0), 0.3F, 1e-6);
  EXPECT_EQ(soft(0, 5, 0), 0);
}

TEST(JpegLoss, GrowsAsQualityFallsAndSparesFlatPictures) {
  RgbImage texture(kWidth, kHeight, 3);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      texture(x, y, 0) = static_cast<uint8_t>((37 * x + 11 * y * y) % 256);
      texture(x, y, 1) = static_cast<uint8_t>((5 * x * y) % 256);
      texture(x, y, 2) = static_cast<uint8_t>((91 * y) % 256);
    }
  }
  const auto loss = [&](int quality) {
    RgbImage image = texture;
    ApplyJpegLoss(image, quality);
    double sum = 0;
    for (size_t i = 0; i < image.Size(); ++i) sum += std::abs(image.Data()[i] - texture.Data()[i]);
    return sum / static_cast<double>(image.Size());
  };
  EXPECT_LT(loss(100), 2);
  EXPECT_GT(loss(50), loss(90));
  EXPECT_GT(loss(10), loss(50));
  RgbImage flat(kWidth, kHeight, 3, 100);
  ApplyJpegLoss(flat, 50);
  for (size_t i = 0; i < flat.Size(); ++i) EXPECT_NEAR(flat.Data()[i], 100, 3);
}

}  // namespace
}  // namespace lumen
