#include "lumen/train/clip_stream.h"

#include "lumen/base/error.h"
#include "lumen/base/timer.h"

namespace lumen {

ClipStream::ClipStream(std::shared_ptr<const ClipSource> source, int64_t first_scene, int threads, int ahead)
    : source_(std::move(source)), next_to_make_(first_scene), next_to_take_(first_scene), ahead_(ahead) {
  LUMEN_CHECK(source_ != nullptr && threads >= 1 && ahead >= 1);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

ClipStream::~ClipStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  taken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ClipStream::Run() {
  while (true) {
    int64_t scene = 0;
    {
      std::unique_lock lock(mutex_);
      taken_.wait(lock, [&] { return stopping_ || next_to_make_ < next_to_take_ + ahead_; });
      if (stopping_) return;
      scene = next_to_make_++;
    }
    std::vector<Clip> clips;
    std::exception_ptr error;
    try {
      clips = source_->MakeScene(scene);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (error) {
      error_ = error;
      stopping_ = true;
      taken_.notify_all();
    }
    ready_[scene] = std::move(clips);
    made_.notify_all();
  }
}

bool ClipStream::IsReady() {
  const std::lock_guard lock(mutex_);
  return error_ || ready_.count(next_to_take_) > 0;
}

std::vector<Clip> ClipStream::NextScene() {
  const Stopwatch watch;
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return error_ || ready_.count(next_to_take_) > 0; });
  waited_ += watch.ElapsedMs() / 1000;
  if (error_) std::rethrow_exception(error_);
  std::vector<Clip> clips = std::move(ready_[next_to_take_]);
  ready_.erase(next_to_take_++);
  taken_.notify_all();
  return clips;
}

}  // namespace lumen
