#include "lumen/image/component_painter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace lumen {
namespace {

TEST(ComponentPainter, WhatVariesMostIsSeenAndWhatIsMaskedStaysBlack) {
  Image<float> map(16, 8, 5);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 16; ++x) map(x, y, 3) = static_cast<float>(x);  // one channel of five says something
  Mask mask(16, 8, 1, 255);
  mask(0, 0) = 0;
  ComponentPainter painter;
  const RgbImage picture = painter.Paint(map, mask);
  EXPECT_GT(std::abs(picture(15, 4, 0) - picture(1, 4, 0)), 100);
  EXPECT_EQ(picture(8, 1, 0), picture(8, 7, 0));
  EXPECT_EQ(picture(0, 0, 0) + picture(0, 0, 1) + picture(0, 0, 2), 0);
}

TEST(ComponentPainter, ColoursStayTheSameAlongASequence) {
  Image<float> map(16, 8, 2), shifted(16, 8, 2);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 16; ++x) {
      map(x, y, 0) = static_cast<float>(x);
      shifted(x, y, 0) = static_cast<float>(std::min(15, x + 3));
    }
  }
  const Mask mask(16, 8, 1, 255);
  ComponentPainter painter;
  const RgbImage first = painter.Paint(map, mask), second = painter.Paint(shifted, mask);
  EXPECT_EQ(first(10, 4, 0), second(7, 4, 0));
}

}  // namespace
}  // namespace lumen
