// Four floats at a time, in the compiler's own vector type: every target has registers of that width.
#pragma once

namespace lumen {

typedef float Float4 __attribute__((vector_size(16)));

inline Float4 LoadFloat4(const float* p) {
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
  return *reinterpret_cast<const Unaligned*>(p);
}

inline void StoreFloat4(float* p, Float4 v) {
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
  *reinterpret_cast<Unaligned*>(p) = v;
}

}  // namespace lumen
