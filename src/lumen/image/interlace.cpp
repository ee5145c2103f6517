#include "lumen/image/interlace.h"

#include <algorithm>
#include <cstdlib>

namespace lumen {

namespace {

constexpr int kTooth = 12;  // grey levels

// Four rows that go up and down and up again, or the other way round, each pair of one parity alike.
bool IsTooth(int a, int b, int c, int d) {
  const int first = b - a, second = b - c, third = d - c;
  const int least = std::min({std::abs(first), std::abs(second), std::abs(third)});
  const bool alternate = (first > 0) == (second > 0) && (second > 0) == (third > 0);
  return alternate && least > kTooth && 2 * std::abs(a - c) < least && 2 * std::abs(b - d) < least;
}

}  // namespace

double ShareOfTeeth(ImageView<const uint8_t> rgb) {
  LUMEN_CHECK(rgb.Channels() == 3);
  constexpr int kRows = 3;
  constexpr int kAcross = 4;  // pixels side by side, averaged: teeth are as wide, noise is not
  int64_t teeth = 0, all = 0;
  for (int y = 0; y + 3 < rgb.Height(); y += kRows) {
    const uint8_t* rows[4] = {rgb.Row(y), rgb.Row(y + 1), rgb.Row(y + 2), rgb.Row(y + 3)};
    for (int x = 0; x + kAcross <= rgb.Width(); x += kAcross) {
      const auto green = [&](int row) {
        const uint8_t* pixels = rows[row] + 3 * x + 1;
        return (pixels[0] + pixels[3] + pixels[6] + pixels[9]) / kAcross;
      };
      teeth += IsTooth(green(0), green(1), green(2), green(3)) ? 1 : 0;
      ++all;
    }
  }
  return all > 0 ? static_cast<double>(teeth) / static_cast<double>(all) : 0;
}

void KeepOneField(RgbImage& image) {
  for (int y = 1; y < image.Height(); y += 2) {
    const uint8_t* above = image.Row(y - 1);
    const uint8_t* below = y + 1 < image.Height() ? image.Row(y + 1) : above;
    uint8_t* row = image.Row(y);
    for (int i = 0; i < 3 * image.Width(); ++i) row[i] = static_cast<uint8_t>((above[i] + below[i] + 1) / 2);
  }
}

}  // namespace lumen
