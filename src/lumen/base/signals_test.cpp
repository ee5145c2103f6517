#include "lumen/base/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

namespace lumen {
namespace {

// Signals are a whole process's, so that each of these has one of its own. What it exits with, or 128 and the
// signal that ended it.
int InChild(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::atomic<int> heard = 0;
std::atomic<bool> heard_by_worker = true;
pthread_t worker;
void Hear(int signal) {
  heard = signal;
  heard_by_worker = ::pthread_equal(::pthread_self(), worker) != 0;
}
void Stranger(int) { ::_exit(4); }

// What was heard within ten seconds.
int WaitForIt() {
  for (int k = 0; k < 1000 && heard == 0; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return heard;
}

// Of a Ctrl-C after a library has put its own handler in the place of ours.
int HearPastAStranger() {
  GuardSignals();
  HandleSignal(SIGINT, Hear);
  std::signal(SIGINT, Stranger);
  ::kill(::getpid(), SIGINT);
  return WaitForIt();
}

TEST(Signals, NobodyTakesTheirPlace) { EXPECT_EQ(InChild(HearPastAStranger), SIGINT); }

TEST(Signals, HoldUpTheThreadThatWorks) {
  EXPECT_EQ(InChild([] {
              GuardSignals();
              worker = ::pthread_self();
              HandleSignal(SIGTERM, Hear);
              ::kill(::getpid(), SIGTERM);
              return WaitForIt() == SIGTERM && heard_by_worker ? 0 : 1;
            }),
            0);
}

TEST(Signals, WhatIsIgnoredStaysSoUntilSomebodyHandlesIt) {
  EXPECT_EQ(InChild([] {
              std::signal(SIGHUP, SIG_IGN);
              GuardSignals();
              if (HandleSignal(SIGHUP, Hear) != SIG_IGN) return 1;
              HandleSignal(SIGHUP, SIG_IGN);
              HandleSignal(SIGINT, SIG_IGN);
              HandleSignal(SIGTERM, Hear);
              for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::kill(::getpid(), signal);
              return WaitForIt();
            }),
            SIGTERM);
}

TEST(Signals, AreHandledThoughWhoeverStartedUsIgnoredThem) {
  EXPECT_EQ(InChild([] {
              std::signal(SIGINT, SIG_IGN);
              return HearPastAStranger();
            }),
            SIGINT);
}

TEST(Signals, RaisedByALibraryAreNotKeptForEver) {
  EXPECT_EQ(InChild([] {
              GuardSignals();
              HandleSignal(SIGINT, Hear);
              std::raise(SIGINT);
              TakeRaisedSignals();
              return heard.load();
            }),
            SIGINT);
}

TEST(Signals, EndTheProgramByTheirOwnDoing) {
  const auto wait_for_the_end = [] {
    GuardSignals();
    ::kill(::getpid(), SIGTERM);
    return WaitForIt();
  };
  EXPECT_EQ(InChild(wait_for_the_end), 128 + SIGTERM);  // nobody handles it
  EXPECT_EQ(InChild([&] {
              GuardSignals();
              HandleSignal(SIGTERM, [](int signal) { DieOf(signal); });
              return wait_for_the_end();
            }),
            128 + SIGTERM);
}

TEST(Signals, AChildTakesThemItself) {
  EXPECT_EQ(InChild([] {
              GuardSignals();
              HandleSignal(SIGTERM, Hear);
              return InChild([] {
                UnguardSignals();
                std::raise(SIGTERM);
                return 1;
              });
            }),
            128 + SIGTERM);
}

}  // namespace
}  // namespace lumen
