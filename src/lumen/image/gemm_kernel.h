// The inner kernel of every convolution: eight output channels by a run of neighbouring columns.
//   out[o][j] = Σ_k weights[k][o] · base[offset(k) + j],  o < 8, j < columns
// Rows of the input are found through a table of offsets (direct convolution) or at a fixed stride
// (Winograd). One implementation per instruction set, chosen at run time; the plain one is the witness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lumen {

constexpr int kKernelChannels = 8;

struct GemmKernel {
  const char* name;
  int columns;  // written per call: 8 or 16
  void (*with_offsets)(const float* weights, const float* base, const int32_t* offsets, int count, float* out,
                       ptrdiff_t out_stride);
  void (*with_stride)(const float* weights, const float* base, ptrdiff_t stride, int count, float* out,
                      ptrdiff_t out_stride);
};

const GemmKernel& PlainGemmKernel();
// The fastest this CPU can run.
const GemmKernel& BestGemmKernel();
// All this CPU can run, the plain one first.
std::vector<const GemmKernel*> AvailableGemmKernels();

// Of the single files; null where built for another processor.
const GemmKernel* NeonGemmKernel();
const GemmKernel* Avx2GemmKernel();
const GemmKernel* Avx512GemmKernel();

}  // namespace lumen
