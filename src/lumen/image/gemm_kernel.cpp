#include "lumen/image/gemm_kernel.h"

namespace lumen {

namespace {

constexpr int kPlainColumns = 8;

template <typename RowOf>
void RunPlain(const float* weights, const RowOf& row_of, int count, float* out, ptrdiff_t out_stride) {
  for (int o = 0; o < kKernelChannels; ++o) {
    for (int j = 0; j < kPlainColumns; ++j) {
      float sum = 0;
      for (int k = 0; k < count; ++k) sum += weights[k * kKernelChannels + o] * row_of(k)[j];
      out[o * out_stride + j] = sum;
    }
  }
}

void PlainWithOffsets(const float* weights, const float* base, const int32_t* offsets, int count, float* out,
                      ptrdiff_t out_stride) {
  RunPlain(
      weights, [=](int k) { return base + offsets[k]; }, count, out, out_stride);
}
void PlainWithStride(const float* weights, const float* base, ptrdiff_t stride, int count, float* out,
                     ptrdiff_t out_stride) {
  RunPlain(
      weights, [=](int k) { return base + k * stride; }, count, out, out_stride);
}

}  // namespace

const GemmKernel& PlainGemmKernel() {
  static constexpr GemmKernel kKernel{"plain", kPlainColumns, PlainWithOffsets, PlainWithStride};
  return kKernel;
}

std::vector<const GemmKernel*> AvailableGemmKernels() {
  std::vector<const GemmKernel*> kernels = {&PlainGemmKernel()};
  for (const GemmKernel* kernel : {NeonGemmKernel(), Avx2GemmKernel(), Avx512GemmKernel()}) {
    if (kernel != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

const GemmKernel& BestGemmKernel() {
  static const GemmKernel* const best = AvailableGemmKernels().back();
  return *best;
}

}  // namespace lumen
