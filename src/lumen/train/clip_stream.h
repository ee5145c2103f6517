// Clips made ahead of their use on many threads, handed out in order of their number: what is handed out
// does not depend on how fast which thread was.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "lumen/train/clip.h"

namespace lumen {

class ClipStream {
 public:
  // Starts at `first_scene`; at most `ahead` scenes wait to be taken.
  ClipStream(std::shared_ptr<const ClipSource> source, int64_t first_scene, int threads, int ahead);
  ~ClipStream();
  ClipStream(const ClipStream&) = delete;
  ClipStream& operator=(const ClipStream&) = delete;

  // The clips of the next scene; waits for them. An exception of the source comes out here.
  std::vector<Clip> NextScene();
  bool IsReady();  // whether NextScene would not wait
  // Seconds spent waiting in NextScene.
  double WaitedSeconds() const { return waited_; }

 private:
  void Run();

  std::shared_ptr<const ClipSource> source_;
  int64_t next_to_make_, next_to_take_;
  int64_t ahead_;
  bool stopping_ = false;
  std::map<int64_t, std::vector<Clip>> ready_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable made_, taken_;
  double waited_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace lumen
