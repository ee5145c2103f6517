#include "lumen/base/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>

namespace lumen {

namespace {

constexpr std::array kEnds = {SIGINT, SIGTERM, SIGHUP};
constexpr size_t kSignals = 32;
std::atomic<bool> guarded = false;
std::array<std::atomic<SignalHandler>, kSignals> handlers = {};  // null: SIG_DFL

sigset_t Ends() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kEnds) sigaddset(&set, signal);
  return set;
}

void Unblock() {
  const sigset_t ends = Ends();
  ::pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
}

SignalHandler HandlerNow(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

void Act(int signal) {
  const SignalHandler handler = handlers[static_cast<size_t>(signal)];
  if (handler == SIG_DFL) DieOf(signal);
  if (handler != SIG_IGN) handler(signal);
}

// One that no library asks for brings the number of the one it stands for.
int CourierSignal() { return SIGRTMIN + 5; }

extern "C" void Deliver(int /*courier*/, siginfo_t* info, void* /*context*/) {
  const int signal = info->si_value.sival_int;
  const sigset_t ends = Ends();
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid() && sigismember(&ends, signal) == 1) Act(signal);
}

// Sent on rather than done here: an action holds up the thread that works, and does not run beside it.
void* HandOn(void* /*nothing*/) {
  const sigset_t ends = Ends();
  while (true) {
    int signal = 0;
    if (::sigwait(&ends, &signal) != 0) continue;
    sigval number{};
    number.sival_int = signal;
    if (::sigqueue(::getpid(), CourierSignal(), number) != 0) Act(signal);
  }
  return nullptr;
}

bool StartWatcher() {
  struct sigaction deliver {};
  deliver.sa_sigaction = Deliver;
  deliver.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&deliver.sa_mask);
  if (::sigaction(CourierSignal(), &deliver, nullptr) != 0) return false;
  sigset_t all, before;  // the watcher is nobody's to interrupt
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t watcher{};
  const bool started = ::pthread_create(&watcher, nullptr, HandOn, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started && ::pthread_detach(watcher) == 0;
}

}  // namespace

void GuardSignals() {
  if (guarded) return;
  for (const int signal : kEnds) handlers[static_cast<size_t>(signal)] = HandlerNow(signal);
  if (!StartWatcher()) return;
  const sigset_t ends = Ends();
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  guarded = true;
}

SignalHandler HandleSignal(int signal, SignalHandler handler) {
  const SignalHandler before = std::signal(signal, handler);  // also for threads that were there already
  return guarded ? handlers[static_cast<size_t>(signal)].exchange(handler) : before;
}

void DieOf(int signal) {
  std::signal(signal, SIG_DFL);
  Unblock();
  std::raise(signal);
  constexpr int kBySignal = 128;  // as shells say it
  ::_exit(kBySignal + signal);
}

void TakeRaisedSignals() {
  const sigset_t ends = Ends();
  const timespec now{};
  for (int signal = 0; guarded && (signal = ::sigtimedwait(&ends, nullptr, &now)) > 0;) Act(signal);
}

void UnguardSignals() {
  for (const int signal : kEnds)
    if (HandlerNow(signal) != SIG_IGN) ::signal(signal, SIG_DFL);
  Unblock();
}

}  // namespace lumen
