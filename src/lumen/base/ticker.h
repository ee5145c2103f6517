// Calls a function again and again on a thread of its own, at a steady pace, until it is stopped or the
// function throws.
//   Ticker ticker(400ms, [&] { WriteWhatIsNew(); });
//   ticker.Check();  // throws what the function threw
//   ticker.Stop();   // joins
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace lumen {

class Ticker {
 public:
  Ticker(std::chrono::milliseconds pace, std::function<void()> work)
      : pace_(pace), work_(std::move(work)), thread_([this] { Run(); }) {}
  ~Ticker() { Stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // From any thread, also after Stop.
  void Check() const {
    if (failed_) std::rethrow_exception(error_);
  }
  // Waits for the call that is under way, if any; there is no last one.
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    try {
      auto due = std::chrono::steady_clock::now() + pace_;
      std::unique_lock lock(mutex_);
      while (!wake_.wait_until(lock, due, [&] { return stopped_; })) {
        lock.unlock();
        work_();
        lock.lock();
        // Work that takes longer than the pace is not made up for.
        due = std::max(due + pace_, std::chrono::steady_clock::now());
      }
    } catch (...) {
      error_ = std::current_exception();
      failed_ = true;
    }
  }

  const std::chrono::milliseconds pace_;
  const std::function<void()> work_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::exception_ptr error_;
  std::atomic<bool> failed_ = false;
  std::thread thread_;  // last: it starts when everything else stands
};

}  // namespace lumen
