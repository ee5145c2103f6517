#include "lumen/image/gemm_kernel_impl.h"

namespace lumen {

#if defined(__x86_64__)

const GemmKernel* Avx2GemmKernel() {
  typedef float Vector __attribute__((vector_size(8 * sizeof(float))));
  using Kernel = BroadcastKernel<Vector>;
  static constexpr GemmKernel kKernel{"avx2", Kernel::kColumns, Kernel::WithOffsets, Kernel::WithStride};
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kKernel : nullptr;
}

#else

const GemmKernel* Avx2GemmKernel() { return nullptr; }

#endif

}  // namespace lumen
