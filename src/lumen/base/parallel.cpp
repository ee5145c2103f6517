#include "lumen/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "lumen/base/core_share.h"
#include "lumen/base/error.h"
#include "lumen/base/step_back.h"

namespace lumen {

namespace {

// One call of ParallelChunks, on the caller's stack. Whoever is free takes the next chunk.
class Job {
 public:
  Job(int64_t count, int64_t chunk, ChunkBody body)
      : count_(count), chunk_(chunk), chunks_((count + chunk - 1) / chunk), body_(body) {}

  void Work() {
    for (int64_t c = next_++; c < chunks_; c = next_++) {
      try {
        body_(c * chunk_, std::min(count_, (c + 1) * chunk_));
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (error_ == nullptr || c < error_chunk_) error_ = std::current_exception();
        error_chunk_ = std::min(c, error_chunk_);
      }
    }
  }

  void Rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  int64_t count_, chunk_, chunks_;
  ChunkBody body_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;  // guards the two below
  std::exception_ptr error_;
  int64_t error_chunk_ = INT64_MAX;
};

inline void Relax() {
#if defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__x86_64__)
  asm volatile("pause" ::: "memory");
#endif
}

constexpr auto kPatience = std::chrono::microseconds(50);

// Returns once the state is no longer `old`: looks for a while, because the next layer of a network or the
// last chunk is microseconds away, then sleeps.
void Await(const std::atomic<int>& state, int old) {
  static const bool alone = AvailableCores() == 1;
  const auto start = std::chrono::steady_clock::now();
  while (!alone && std::chrono::steady_clock::now() - start < kPatience) {
    for (int i = 0; i < 16; ++i) {
      if (state.load(std::memory_order_acquire) != old) return;
      Relax();
    }
  }
  state.wait(old, std::memory_order_acquire);
}

// A thread that waits for a job, does it and waits again. It belongs to one caller at a time.
class Helper {
 public:
  Helper() {
    std::thread([this, steps_back = HasSteppedBack()] {
      if (steps_back) StepBack();
      Run();
    }).detach();
  }

  void Post(Job& job) {
    job_ = &job;
    state_.store(kPosted, std::memory_order_release);
    state_.notify_one();
  }

  // Takes the job back if it was not begun, and waits for its end if it was.
  void Finish() {
    int expected = kPosted;
    if (state_.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel)) return;
    while (state_.load(std::memory_order_acquire) == kRunning) Await(state_, kRunning);
  }

  Helper* next = nullptr;  // in whatever list it is on

 private:
  enum State : int { kIdle, kPosted, kRunning };

  [[noreturn]] void Run() {
    for (;;) {
      Await(state_, kIdle);
      int expected = kPosted;
      if (!state_.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel)) continue;
      job_->Work();
      state_.store(kIdle, std::memory_order_release);
      state_.notify_one();
    }
  }

  Job* job_ = nullptr;
  std::atomic<int> state_{kIdle};
};

// The helpers nobody uses. There are as many as were ever busy at once, so calls inside calls and calls
// from several threads never wait for each other.
class HelperPool {
 public:
  // They live as long as the process: helpers sleep in them until the end. A helper has its caller's
  // priority, so there is a pool for each.
  static HelperPool& Instance() {
    static HelperPool& pool = *new HelperPool;
    static HelperPool& stepped_back = *new HelperPool;
    return HasSteppedBack() ? stepped_back : pool;
  }

  // A list of helpers, `count` of them unless the system refuses a thread.
  Helper* Take(int64_t count) {
    Helper* taken = nullptr;
    for (; count > 0; --count) {
      Helper* helper = Pop();
      if (helper == nullptr) helper = Make();
      if (helper == nullptr) break;
      helper->next = taken;
      taken = helper;
    }
    return taken;
  }

  void Return(Helper* list) {
    const std::lock_guard lock(mutex_);
    while (list != nullptr) {
      Helper* next = list->next;
      list->next = idle_;
      idle_ = list;
      list = next;
    }
  }

 private:
  Helper* Pop() {
    const std::lock_guard lock(mutex_);
    Helper* helper = idle_;
    if (helper != nullptr) idle_ = helper->next;
    return helper;
  }

  static Helper* Make() {
    try {
      return new Helper;
    } catch (const std::system_error&) {
      return nullptr;  // the caller does the work with fewer
    }
  }

  std::mutex mutex_;
  Helper* idle_ = nullptr;
};

}  // namespace

void ParallelChunks(int64_t count, int64_t chunk, int threads, ChunkBody body) {
  LUMEN_CHECK(count >= 0 && chunk > 0 && threads >= 1);
  const int64_t chunks = (count + chunk - 1) / chunk;
  const int64_t workers = std::min<int64_t>(threads, chunks);
  if (workers <= 1) {
    for (int64_t c = 0; c < chunks; ++c) body(c * chunk, std::min(count, (c + 1) * chunk));
    return;
  }
  Job job(count, chunk, body);
  Helper* const helpers = HelperPool::Instance().Take(workers - 1);
  for (Helper* helper = helpers; helper != nullptr; helper = helper->next) helper->Post(job);
  job.Work();
  for (Helper* helper = helpers; helper != nullptr; helper = helper->next) helper->Finish();
  HelperPool::Instance().Return(helpers);
  job.Rethrow();
}

namespace {
std::atomic<int> most_cores = std::numeric_limits<int>::max();
}  // namespace

int AvailableCores() {
  const int there = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::min(there, most_cores.load(std::memory_order_relaxed));
}

void LimitCores(int most) {
  LUMEN_CHECK(most >= 1, most);
  most_cores = most;
}

}  // namespace lumen
