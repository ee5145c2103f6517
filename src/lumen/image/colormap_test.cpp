#include "lumen/image/colormap.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

TEST(ColorMap, LightnessNeverFalls) {
  double previous = -1;
  for (double t = 0; t <= 1; t += 0.01) {
    const auto color = MapColor(t);
    const double luma = 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2];
    EXPECT_GE(luma, previous - 0.6) << t;
    previous = luma;
  }
}

TEST(ColorMap, BoundsClampAndMaskIsBlack) {
  EXPECT_EQ(MapColor(-1), MapColor(0));
  EXPECT_EQ(MapColor(2), MapColor(1));
  EXPECT_EQ(MapColor(std::nan("")), MapColor(0));
  Mask mask(2, 1, 1, 255);
  mask(1, 0) = 0;
  const RgbImage picture = ColorMap(Image<float>(2, 1, 1, 5.0F), 0, 5, mask);
  EXPECT_EQ(picture(0, 0, 0), MapColor(1)[0]);
  EXPECT_EQ(picture(1, 0, 0), 0);
}

}  // namespace
}  // namespace lumen
