// Sums a dense factor over its samples in chunks of a fixed size, so that the result does not depend on
// the number of threads.
#pragma once

#include "lumen/base/parallel.h"
#include "lumen/factors/fm_kernel.h"

namespace lumen {

template <typename Partial>
PairSystem SumOverSamples(int samples, int threads, const PairSystem& zero, const Partial& partial) {
  constexpr int64_t kChunk = 1024;
  return OrderedReduce(samples, kChunk, threads, zero, [&](int64_t begin, int64_t end) {
    return partial(SampleRange{static_cast<int>(begin), static_cast<int>(end)});
  });
}

}  // namespace lumen
