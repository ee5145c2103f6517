#include "lumen/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "lumen/base/error.h"

namespace lumen {

void ParallelChunks(int64_t count, int64_t chunk, int threads,
                    const std::function<void(int64_t, int64_t)>& body) {
  LUMEN_CHECK(count >= 0 && chunk > 0 && threads >= 1);
  const int64_t chunks = (count + chunk - 1) / chunk;
  const auto run_chunk = [&](int64_t c) { body(c * chunk, std::min(count, (c + 1) * chunk)); };
  const int64_t workers = std::min<int64_t>(threads, chunks);
  if (workers <= 1) {
    for (int64_t c = 0; c < chunks; ++c) run_chunk(c);
    return;
  }
  std::atomic<int64_t> next{0};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(chunks));
  const auto work = [&] {
    for (int64_t c = next++; c < chunks; c = next++) {
      try {
        run_chunk(c);
      } catch (...) {
        errors[static_cast<size_t>(c)] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> pool;
  for (int64_t i = 1; i < workers; ++i) pool.emplace_back(work);
  work();
  pool.clear();  // joins
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

int AvailableCores() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace lumen
