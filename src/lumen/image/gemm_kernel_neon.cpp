#include "lumen/image/gemm_kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace lumen {

namespace {

// Sixteen accumulators, two registers of input, two of weights: nothing spills, and sixteen
// independent multiply-adds cover the latency of four pipes.
template <typename NextRow>
inline void Run(const float* weights, NextRow next_row, int count, float* out, ptrdiff_t out_stride) {
  float32x4_t s[kKernelChannels][2];
#pragma GCC unroll 8
  for (auto& row : s) row[0] = row[1] = vdupq_n_f32(0);
  for (int k = 0; k < count; ++k) {
    const float* row = next_row();
    const float32x4_t b[2] = {vld1q_f32(row), vld1q_f32(row + 4)};
    const float32x4_t low = vld1q_f32(weights);
    const float32x4_t high = vld1q_f32(weights + 4);
    weights += kKernelChannels;
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      s[0][j] = vfmaq_laneq_f32(s[0][j], b[j], low, 0);
      s[1][j] = vfmaq_laneq_f32(s[1][j], b[j], low, 1);
      s[2][j] = vfmaq_laneq_f32(s[2][j], b[j], low, 2);
      s[3][j] = vfmaq_laneq_f32(s[3][j], b[j], low, 3);
      s[4][j] = vfmaq_laneq_f32(s[4][j], b[j], high, 0);
      s[5][j] = vfmaq_laneq_f32(s[5][j], b[j], high, 1);
      s[6][j] = vfmaq_laneq_f32(s[6][j], b[j], high, 2);
      s[7][j] = vfmaq_laneq_f32(s[7][j], b[j], high, 3);
    }
  }
#pragma GCC unroll 8
  for (int o = 0; o < kKernelChannels; ++o) {
    vst1q_f32(out + o * out_stride, s[o][0]);
    vst1q_f32(out + o * out_stride + 4, s[o][1]);
  }
}

void WithOffsets(const float* weights, const float* base, const int32_t* offsets, int count, float* out,
                 ptrdiff_t out_stride) {
  Run(
      weights, [=]() mutable { return base + *offsets++; }, count, out, out_stride);
}
void WithStride(const float* weights, const float* base, ptrdiff_t stride, int count, float* out,
                ptrdiff_t out_stride) {
  Run(
      weights,
      [=]() mutable {
        const float* row = base;
        base += stride;
        return row;
      },
      count, out, out_stride);
}

}  // namespace

const GemmKernel* NeonGemmKernel() {
  static constexpr GemmKernel kKernel{"neon", 8, WithOffsets, WithStride};
  return &kKernel;
}

}  // namespace lumen

#else

namespace lumen {
const GemmKernel* NeonGemmKernel() { return nullptr; }
}  // namespace lumen

#endif
