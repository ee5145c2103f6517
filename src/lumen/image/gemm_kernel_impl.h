// The kernel over a vector type of the compiler's own, for the instruction sets whose multiply-add can
// take a broadcast operand. Included by one file per instruction set, each with its own flags; nothing
// here may be shared between them, hence the anonymous namespace.
#pragma once

#include "lumen/image/gemm_kernel.h"

namespace lumen {
namespace {

template <typename Vector>
struct BroadcastKernel {
  static constexpr int kColumns = sizeof(Vector) / sizeof(float);

  template <typename RowOf>
  static void Run(const float* weights, const RowOf& row_of, int count, float* out, ptrdiff_t out_stride) {
    typedef Vector Unaligned __attribute__((aligned(4), may_alias));
    Vector sum[kKernelChannels] = {};
    for (int k = 0; k < count; ++k) {
      const Vector row = *reinterpret_cast<const Unaligned*>(row_of(k));
      const float* w = weights + static_cast<ptrdiff_t>(k) * kKernelChannels;
#pragma GCC unroll 8
      for (int o = 0; o < kKernelChannels; ++o) sum[o] += w[o] * row;
    }
#pragma GCC unroll 8
    for (int o = 0; o < kKernelChannels; ++o) *reinterpret_cast<Unaligned*>(out + o * out_stride) = sum[o];
  }

  static void WithOffsets(const float* weights, const float* base, const int32_t* offsets, int count,
                          float* out, ptrdiff_t out_stride) {
    Run(
        weights, [=](int k) { return base + offsets[k]; }, count, out, out_stride);
  }
  static void WithStride(const float* weights, const float* base, ptrdiff_t stride, int count, float* out,
                         ptrdiff_t out_stride) {
    Run(
        weights, [=](int k) { return base + k * stride; }, count, out, out_stride);
  }
};

}  // namespace
}  // namespace lumen
