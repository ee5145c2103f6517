#include "lumen/image/gemm_kernel_impl.h"

namespace lumen {

#if defined(__x86_64__)

const GemmKernel* Avx512GemmKernel() {
  typedef float Vector __attribute__((vector_size(16 * sizeof(float))));
  using Kernel = BroadcastKernel<Vector>;
  static constexpr GemmKernel kKernel{"avx512", Kernel::kColumns, Kernel::WithOffsets, Kernel::WithStride};
  return __builtin_cpu_supports("avx512f") ? &kKernel : nullptr;
}

#else

const GemmKernel* Avx512GemmKernel() { return nullptr; }

#endif

}  // namespace lumen
