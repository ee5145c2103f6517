// Sums a dense factor over its samples in chunks of a fixed size, so that the result does not depend on
// the number of threads.
#pragma once

#include "lumen/base/parallel.h"
#include "lumen/factors/fm_kernel.h"

namespace lumen {

inline constexpr int64_t kSampleChunk = 1024;

template <typename Partial>
PairSystem SumOverSamples(int samples, int threads, const PairSystem& zero, const Partial& partial) {
  return OrderedReduce(samples, kSampleChunk, threads, zero, [&](int64_t begin, int64_t end) {
    return partial(SampleRange{static_cast<int>(begin), static_cast<int>(end)});
  });
}

}  // namespace lumen
