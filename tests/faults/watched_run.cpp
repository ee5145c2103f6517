// watched_run INPUT OUT DIARY: a run at the pace of a camera that keeps a diary (watched_run.h).
#include "tests/faults/watched_run.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "lumen/apps/run_sequence.h"
#include "lumen/base/log.h"
#include "lumen/base/ticker.h"

namespace {

using lumen::RunDiary;

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

class Diarist : public lumen::RunObserver {
 public:
  explicit Diarist(RunDiary& diary) : diary_(diary) {}
  void OnFrame(const lumen::FrameResult& result, const lumen::PlacedFrame&,
               const std::shared_ptr<const lumen::MapSnapshot>&) override {
    const int32_t next = diary_.frames;
    if (next >= RunDiary::kMost) return;
    diary_.number[next] = result.index;
    diary_.at[next] = Now();
    diary_.frames = next + 1;
  }

 private:
  RunDiary& diary_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  lumen::SetLogLevel(lumen::LogLevel::kError);
  const int file = ::open(argv[3], O_RDWR);
  auto* diary =
      static_cast<RunDiary*>(::mmap(nullptr, sizeof(RunDiary), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  if (diary == MAP_FAILED) return 3;
  int64_t last = Now();
  const lumen::Ticker heartbeat(std::chrono::milliseconds(10), [&] {
    const int64_t now = Now();
    diary->longest_pause = std::max<int64_t>(diary->longest_pause, now - last);
    last = now;
  });
  Diarist diarist(*diary);
  lumen::RunOptions options;
  options.input = argv[1];
  options.output = argv[2];
  options.device = "cpu";
  options.realtime = true;
  options.observer = &diarist;
  const std::atomic<bool> never = false;
  lumen::RunSequence(options, never);
  return 0;
}
