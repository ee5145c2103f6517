// The one door to data parallelism. Work is cut into chunks that do not depend on the number of
// threads, and reductions add the chunks' results in order: results are the same for any thread count.
// Helpers stand ready between calls, so that handing over costs a microsecond or two and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lumen {

// A reference to any callable (begin, end); lives no longer than the call it is handed to.
class ChunkBody {
 public:
  template <typename Body>
  ChunkBody(const Body& body)
      : body_(&body), call_([](const void* callable, int64_t begin, int64_t end) {
          (*static_cast<const Body*>(callable))(begin, end);
        }) {}

  void operator()(int64_t begin, int64_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void* callable, int64_t begin, int64_t end);
};

// Calls body(begin, end) over chunks of [0, count). With one thread it runs inline.
// An exception in a chunk is rethrown here (the one of the lowest chunk).
void ParallelChunks(int64_t count, int64_t chunk, int threads, ChunkBody body);

template <typename Body>
void ParallelFor(int64_t count, int threads, const Body& body) {
  ParallelChunks(count, 1, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// Sums partial(begin, end) over fixed chunks, in their order.
template <typename T, typename Partial>
T OrderedReduce(int64_t count, int64_t chunk, int threads, T zero, const Partial& partial) {
  const int64_t chunks = (count + chunk - 1) / chunk;
  std::vector<T> parts(static_cast<size_t>(chunks), zero);
  ParallelChunks(count, chunk, threads, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / chunk)] = partial(begin, end);
  });
  T sum = zero;
  for (const T& part : parts) sum += part;
  return sum;
}

// Cores this process may use (at least 1).
int AvailableCores();

}  // namespace lumen
