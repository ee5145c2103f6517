// Dresses a synchronous stage in a thread: items go in through a bounded queue and are handed, one by
// one and in order, to the stage. The stage itself knows nothing of threads.
//   Worker<Item> worker(8, [&](Item item) { stage.Process(std::move(item)); });
//   worker.Submit(item); …  worker.Finish();   // drains, joins, rethrows the stage's exception if any
// A stage that throws takes nothing more; `on_failure`, called on its thread, lets the stages before it stop
// too (Abandon) instead of working for nobody.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "lumen/base/queue.h"

namespace lumen {

template <typename Item>
class Worker {
 public:
  using Stage = std::function<void(Item)>;

  Worker(size_t capacity, Stage stage, std::function<void()> on_failure = nullptr)
      : queue_(capacity),
        stage_(std::move(stage)),
        on_failure_(std::move(on_failure)),
        thread_([this] { Run(); }) {}
  ~Worker() {
    queue_.Close();
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits while the queue is full. False once the stage has failed or the worker was finished.
  bool Submit(Item item) { return queue_.Push(std::move(item)); }
  // Drops the item (false) instead of waiting.
  bool TrySubmit(Item item) { return queue_.TryPush(std::move(item)); }
  size_t Pending() const { return queue_.Size(); }
  // Whether Submit would not wait. It holds for one who alone submits: others can only make more room.
  bool HasRoom() const { return queue_.Size() < queue_.Capacity(); }
  bool Failed() const { return failed_; }
  // Takes nothing more and drops what waits; what the stage has in hand it still does.
  void Abandon() { queue_.Abandon(); }

  void Finish() {
    queue_.Close();
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void Run() {
    try {
      while (std::optional<Item> item = queue_.Pop()) stage_(std::move(*item));
    } catch (...) {
      error_ = std::current_exception();  // read only after the join
      failed_ = true;                     // before the queue closes: who is refused can see why
      queue_.Abandon();
      if (on_failure_) on_failure_();
    }
  }

  BoundedQueue<Item> queue_;
  Stage stage_;
  std::function<void()> on_failure_;
  std::exception_ptr error_;
  std::atomic<bool> failed_ = false;
  std::thread thread_;  // last: it starts when everything else stands
};

}  // namespace lumen
