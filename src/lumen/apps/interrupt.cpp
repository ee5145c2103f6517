#include "lumen/apps/interrupt.h"

#include <csignal>
#include <ctime>

#include "lumen/apps/app.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/signals.h"

namespace lumen {

namespace {

std::atomic<bool> stop_requested = false;
std::atomic<time_t> stop_second = 0;

extern "C" void EndTidily(int signal) {
  RemoveTemporaries();
  DieOf(signal);
}

// The second time it is meant. But one key press may arrive twice, from the terminal and from a program that
// passes it on: what follows within two seconds is the same request.
extern "C" void RequestStop(int signal) {
  constexpr time_t kSameRequest = 2;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!stop_requested) {
    stop_second = now.tv_sec;
    stop_requested = true;
  } else if (now.tv_sec - stop_second >= kSameRequest) {
    EndTidily(signal);
  }
}

}  // namespace

void EndTidilyOnSignals() {
  GuardSignals();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (HandleSignal(signal, EndTidily) == SIG_IGN) HandleSignal(signal, SIG_IGN);
}

const std::atomic<bool>& CatchInterrupts() {
  HandleSignal(SIGINT, RequestStop);
  HandleSignal(SIGTERM, RequestStop);
  return stop_requested;
}

bool IsInterrupted() { return stop_requested; }

void EndIfInterrupted(const char* outcome) {
  if (!stop_requested) return;
  LogWarning("interrupted: ", outcome);
  throw ExitRequest{kInterrupted};
}

}  // namespace lumen
