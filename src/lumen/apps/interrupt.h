// Ctrl-C and its like. A program that is asked to end leaves nothing half-written behind: by default it
// removes what it is writing aside and dies of the signal; a command that has more to put away, or to
// complete, catches the signal, ends its work at the next good moment, and has exit code 130.
#pragma once

#include <atomic>

namespace lumen {

inline constexpr int kInterrupted = 130;  // the exit code

// The default, for SIGINT, SIGTERM and SIGHUP, unless whoever started us had them ignored. To be called first
// of all (base/signals.h).
void EndTidilyOnSignals();

// From now on SIGINT and SIGTERM set what is returned, no more. Asked again two seconds later or more, the
// program ends at once, tidily.
const std::atomic<bool>& CatchInterrupts();

bool IsInterrupted();
// If the signal was caught, says so and throws ExitRequest{kInterrupted}.
void EndIfInterrupted(const char* outcome = "what was begun is cleared away");

}  // namespace lumen
