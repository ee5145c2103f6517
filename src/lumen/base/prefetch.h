// Runs a producer ahead of its consumer: `produce()` is called on a thread of its own until it returns
// nothing, at most `capacity` items ahead. An exception of the producer comes out of Next(), after the
// items made before it.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "lumen/base/queue.h"

namespace lumen {

template <typename T>
class Prefetcher {
 public:
  using Producer = std::function<std::optional<T>()>;

  Prefetcher(size_t capacity, Producer produce)
      : queue_(capacity), produce_(std::move(produce)), thread_([this] { Run(); }) {}
  ~Prefetcher() {
    queue_.Close();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  std::optional<T> Next() {
    std::optional<T> item = queue_.Pop();
    // Once the queue has ended the producer has set its last word before closing it.
    if (!item && error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return item;
  }

 private:
  void Run() {
    try {
      while (std::optional<T> item = produce_()) {
        if (!queue_.Push(std::move(*item))) return;
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    queue_.Close();
  }

  BoundedQueue<T> queue_;
  Producer produce_;
  std::exception_ptr error_;
  std::thread thread_;  // last: it starts when everything else stands
};

}  // namespace lumen
