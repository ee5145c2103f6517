#include "lumen/image/gemm_kernel.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"

namespace lumen {
namespace {

TEST(GemmKernel, EveryOneOfThisMachineAgreesWithThePlainOne) {
  Random random(1);
  for (const GemmKernel* kernel : AvailableGemmKernels()) {
    constexpr int kCount = 37;
    std::vector<float> weights(8 * kCount), rows(64 * kCount + 64);
    for (float& value : weights) value = static_cast<float>(random.Normal());
    for (float& value : rows) value = static_cast<float>(random.Normal());
    std::vector<int32_t> offsets;
    for (int k = 0; k < kCount; ++k)
      offsets.push_back(static_cast<int32_t>(random.UniformInt(0, 63 * kCount)));
    for (const bool strided : {false, true}) {
      std::vector<float> fast(8 * 16), plain(8 * 16);
      for (int j = 0; j < kernel->columns; j += 8) {
        if (strided)
          PlainGemmKernel().with_stride(weights.data(), rows.data() + j, 64, kCount, plain.data() + j, 16);
        else
          PlainGemmKernel().with_offsets(weights.data(), rows.data() + j, offsets.data(), kCount,
                                         plain.data() + j, 16);
      }
      if (strided)
        kernel->with_stride(weights.data(), rows.data(), 64, kCount, fast.data(), 16);
      else
        kernel->with_offsets(weights.data(), rows.data(), offsets.data(), kCount, fast.data(), 16);
      for (int o = 0; o < 8; ++o) {
        for (int j = 0; j < kernel->columns; ++j)
          EXPECT_NEAR(fast[16 * o + j], plain[16 * o + j], 1e-4) << kernel->name;
      }
    }
  }
}

}  // namespace
}  // namespace lumen
