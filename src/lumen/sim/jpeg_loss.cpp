// JPEG's loss without its file: colour transform, 8×8 cosine transform, quantisation, and back.
#include <algorithm>
#include <array>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/sim/sensor.h"

namespace lumen {

namespace {

constexpr int kSide = 8;
using Block = std::array<float, kSide * kSide>;

size_t At(int row, int column) { return static_cast<size_t>(row) * kSide + static_cast<size_t>(column); }

// Row u of the orthonormal cosine transform.
const Block& CosineRows() {
  static const Block rows = [] {
    Block table{};
    for (int u = 0; u < kSide; ++u) {
      const double scale = std::sqrt((u == 0 ? 1.0 : 2.0) / kSide);
      for (int x = 0; x < kSide; ++x) {
        table[At(u, x)] = static_cast<float>(scale * std::cos((2 * x + 1) * u * M_PI / (2 * kSide)));
      }
    }
    return table;
  }();
  return rows;
}

// a bᵀ-like products of 8×8 blocks: out(i, j) = Σ_k a(i, k) b(k, j), either one transposed on demand.
Block Multiply(const Block& a, bool a_transposed, const Block& b, bool b_transposed) {
  Block out{};
  for (size_t i = 0; i < kSide; ++i) {
    for (size_t k = 0; k < kSide; ++k) {
      const float left = a_transposed ? a[k * kSide + i] : a[i * kSide + k];
      for (size_t j = 0; j < kSide; ++j)
        out[i * kSide + j] += left * (b_transposed ? b[j * kSide + k] : b[k * kSide + j]);
    }
  }
  return out;
}

// Steps grow with frequency, as the eye's tolerance does; colour is treated more roughly than brightness.
Block QuantiserSteps(int quality, bool is_color) {
  const float factor =
      quality < 50 ? 50.0F / static_cast<float>(quality) : 2.0F - 0.02F * static_cast<float>(quality);
  Block steps;
  for (size_t v = 0; v < kSide; ++v) {
    for (size_t u = 0; u < kSide; ++u) {
      const auto frequency = static_cast<float>(u + v);
      const float base =
          is_color ? 17.0F + 9.0F * frequency : 10.0F + 2.2F * frequency + 0.45F * frequency * frequency;
      steps[v * kSide + u] = std::max(1.0F, base * factor);
    }
  }
  return steps;
}

void QuantiseBlock(Block& block, const Block& steps) {
  const Block& rows = CosineRows();
  Block spectrum = Multiply(Multiply(rows, false, block, false), false, rows, true);
  for (size_t i = 0; i < spectrum.size(); ++i) spectrum[i] = steps[i] * std::round(spectrum[i] / steps[i]);
  block = Multiply(Multiply(rows, true, spectrum, false), false, rows, false);
}

using YccBlock = std::array<Block, 3>;

YccBlock ReadBlock(const RgbImage& image, int x0, int y0) {
  YccBlock block;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const uint8_t* rgb =
          image.Pixel(std::min(x0 + x, image.Width() - 1), std::min(y0 + y, image.Height() - 1));
      const float r = rgb[0];
      const float g = rgb[1];
      const float b = rgb[2];
      const auto i = At(y, x);
      block[0][i] = 0.299F * r + 0.587F * g + 0.114F * b - 128;
      block[1][i] = -0.168736F * r - 0.331264F * g + 0.5F * b;
      block[2][i] = 0.5F * r - 0.418688F * g - 0.081312F * b;
    }
  }
  return block;
}

void WriteBlock(const YccBlock& block, int x0, int y0, RgbImage& image) {
  const auto byte = [](float value) { return static_cast<uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F)); };
  for (int y = 0; y < kSide && y0 + y < image.Height(); ++y) {
    for (int x = 0; x < kSide && x0 + x < image.Width(); ++x) {
      const auto i = At(y, x);
      const float luma = block[0][i] + 128;
      uint8_t* rgb = image.Pixel(x0 + x, y0 + y);
      rgb[0] = byte(luma + 1.402F * block[2][i]);
      rgb[1] = byte(luma - 0.344136F * block[1][i] - 0.714136F * block[2][i]);
      rgb[2] = byte(luma + 1.772F * block[1][i]);
    }
  }
}

}  // namespace

void ApplyJpegLoss(RgbImage& image, int quality) {
  LUMEN_CHECK(quality >= 1 && quality <= 100 && image.Channels() == 3);
  const Block luma_steps = QuantiserSteps(quality, false);
  const Block color_steps = QuantiserSteps(quality, true);
  for (int y = 0; y < image.Height(); y += kSide) {
    for (int x = 0; x < image.Width(); x += kSide) {
      YccBlock block = ReadBlock(image, x, y);
      QuantiseBlock(block[0], luma_steps);
      QuantiseBlock(block[1], color_steps);
      QuantiseBlock(block[2], color_steps);
      WriteBlock(block, x, y, image);
    }
  }
}

}  // namespace lumen
