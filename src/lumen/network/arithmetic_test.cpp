#include "lumen/network/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/half.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

// Rows of `width` numbers with zeros around them, as planes have.
std::vector<float> RandomPlane(int width, int height, uint64_t seed) {
  Random random(seed);
  std::vector<float> plane(static_cast<size_t>(width + 16) * (height + 2) + 128, 0.0F);
  for (int y = 1; y <= height; ++y) {
    for (int x = 8; x < width + 8; ++x)
      plane[static_cast<size_t>(y) * (width + 16) + x] =
          static_cast<float>(std::max(0.0, random.Normal(0.3, 1)));
  }
  return plane;
}

template <typename T>
std::vector<T> Narrowed(const Arithmetic<T>& arithmetic, const std::vector<float>& values) {
  std::vector<T> narrow(values.size() + 8);
  arithmetic.narrow(values.data(), static_cast<int>(values.size() / 8 * 8), narrow.data());
  return narrow;
}
template <typename T>
std::vector<float> Widened(const Arithmetic<T>& arithmetic, const std::vector<T>& values) {
  std::vector<float> wide(values.size() + 8);
  arithmetic.widen(values.data(), static_cast<int>(values.size() / 8 * 8), wide.data());
  return wide;
}

struct Agreement {
  double largest_error, largest_value;
};

// Winograd's way through the whole of it, one input channel and one output channel a product has, against
// the nine multiplications.
template <typename T>
Agreement ConvolveByWinograd(const Arithmetic<T>& arithmetic, int tiles) {
  const int width = 4 * tiles, stride = width + 16;
  const std::vector<float> image = RandomPlane(width, 4, 1);
  Random random(2);
  float filter[9], u[kWinogradPositions];
  for (float& value : filter) value = static_cast<float>(random.Normal(0, 0.3));
  TransformFilter(filter, u);

  const auto plane = Narrowed(arithmetic, image);
  const int columns =
      (tiles + arithmetic.product.columns - 1) / arithmetic.product.columns * arithmetic.product.columns;
  const int channels = arithmetic.product.channels;
  const ptrdiff_t room = columns + 16;
  std::vector<T> v(static_cast<size_t>(kWinogradPositions * room));
  std::vector<T> m(static_cast<size_t>(kWinogradPositions * room * channels));
  arithmetic.transform_input(plane.data() + 7, stride, tiles, v.data(), room);
  for (int p = 0; p < kWinogradPositions; ++p) {
    std::vector<float> weights(static_cast<size_t>(channels), u[p]);
    arithmetic.multiply(Narrowed(arithmetic, weights).data(), v.data() + p * room, room, 1, columns,
                        m.data() + p * room * channels, room);
  }
  std::vector<float> ones(plane.size(), 0.0F);
  for (int y = 1; y <= 4; ++y) std::fill_n(ones.begin() + y * stride + 8, width, 1.0F);
  const auto valid = Narrowed(arithmetic, ones);
  std::vector<T> out(plane.size());
  ChannelSums sums;
  const int origin = stride + 8;
  arithmetic.transform_output(
      m.data() + room * (channels - 1), room * channels, tiles,
      {valid.data() + origin, valid.data() + origin, out.data() + origin, stride, 0.5F, 0, &sums});

  const std::vector<float> got = Widened(arithmetic, out);
  Agreement agreement{0, 0};
  double sum = 0;
  double squares = 0;
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < stride; ++x) {
      const size_t place = static_cast<size_t>(y) * stride + x;
      double expected = 0.5;
      if (ones[place] == 0) {
        EXPECT_EQ(got[place], 0) << x << " " << y;
        continue;
      }
      for (int k = 0; k < 9; ++k)
        expected += static_cast<double>(filter[k]) *
                    image[place + static_cast<size_t>((k / 3 - 1) * stride + k % 3 - 1)];
      sum += expected;
      squares += expected * expected;
      agreement.largest_error = std::max(agreement.largest_error, std::abs(expected - got[place]));
      agreement.largest_value = std::max(agreement.largest_value, std::abs(expected));
    }
  }
  EXPECT_NEAR(sums.sum, sum, 1e-2 * std::sqrt(squares));
  EXPECT_NEAR(sums.squares, squares, 1e-2 * squares);
  return agreement;
}

TEST(Arithmetic, WinogradIsAConvolution) {
  for (const int tiles : {1, 2, 5, 8, 20}) {
    const Agreement single = ConvolveByWinograd(FloatArithmetic(), tiles);
    EXPECT_LT(single.largest_error, 2e-6 * single.largest_value) << tiles;
    const Agreement plain = ConvolveByWinograd(PlainHalfArithmetic(), tiles);
    EXPECT_LT(plain.largest_error, 1.5e-2 * plain.largest_value) << tiles;
    if (HalfArithmetic() == nullptr) continue;
    const Agreement half = ConvolveByWinograd(*HalfArithmetic(), tiles);
    EXPECT_LT(half.largest_error, 1.5e-2 * half.largest_value) << tiles;
  }
}

TEST(Arithmetic, HalfPrecisionConvertsLikeTheDefinition) {
  if (HalfArithmetic() == nullptr) GTEST_SKIP() << "this processor has no half-precision arithmetic";
  Random random(3);
  std::vector<float> values(512);
  for (float& value : values) {
    const double size = std::exp(random.Uniform(-14, 9));
    value = static_cast<float>(size * random.Normal());
  }
  const std::vector<Half> narrow = Narrowed(*HalfArithmetic(), values);
  const std::vector<float> wide = Widened(*HalfArithmetic(), narrow);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(narrow[i].bits, ToHalf(values[i])) << values[i];
    EXPECT_EQ(wide[i], FromHalf(narrow[i].bits));
  }
}

// The processor's products against those rounded by hand.
TEST(Arithmetic, ProductsInHalfPrecisionAgreeWithThePlainOnes) {
  if (HalfArithmetic() == nullptr) GTEST_SKIP() << "this processor has no half-precision arithmetic";
  const Arithmetic<Half>& fast = *HalfArithmetic();
  const Arithmetic<Half>& plain = PlainHalfArithmetic();
  constexpr int kCount = 75, kColumns = 72, kStride = 96;
  Random random(4);
  std::vector<float> rows(kCount * kStride + 64);
  for (float& value : rows) value = static_cast<float>(random.Normal());
  const std::vector<Half> narrow_rows = Narrowed(fast, rows);
  std::vector<float> filters(kCount * 16);  // [k][o]
  for (float& value : filters) value = static_cast<float>(random.Normal(0, 0.1));
  std::vector<int32_t> offsets;
  for (int k = 0; k < kCount; ++k) offsets.push_back(k * kStride + k % 5);

  const auto run = [&](const Arithmetic<Half>& arithmetic, bool direct) {
    const auto shape = direct ? arithmetic.direct : arithmetic.product;
    std::vector<Half> out(16 * kStride);
    for (int first = 0; first < 8; first += shape.channels) {
      std::vector<float> packed;
      for (int k = 0; k < kCount; ++k) {
        for (int o = 0; o < shape.channels; ++o) packed.push_back(filters[16 * k + first + o]);
      }
      const std::vector<Half> weights = Narrowed(arithmetic, packed);
      Half* target = out.data() + first * kStride;
      if (!direct)
        arithmetic.multiply(weights.data(), narrow_rows.data(), kStride, kCount, kColumns, target, kStride);
      for (int x = 0; direct && x < 64; x += shape.columns)
        arithmetic.convolve(weights.data(), narrow_rows.data() + x, offsets.data(), kCount, target + x,
                            kStride);
    }
    return Widened(arithmetic, out);
  };
  for (const bool direct : {false, true}) {
    const std::vector<float> a = run(fast, direct), b = run(plain, direct);
    for (int o = 0; o < 8; ++o) {
      for (int x = 0; x < (direct ? 64 : kColumns); ++x)
        EXPECT_NEAR(a[o * kStride + x], b[o * kStride + x], 8e-3) << direct << " " << o << " " << x;
    }
  }
}

}  // namespace
}  // namespace lumen
