// What asks this program to end: SIGINT, SIGTERM, SIGHUP. Libraries put handlers of their own in the place of
// ours (a GPU's compiler ends the program at Ctrl-C while it works), so no thread takes these signals but one
// of ours, which hands them on.
#pragma once

namespace lumen {

using SignalHandler = void (*)(int);

// From here on whoever takes a handler's place is not heard. To be called before any other thread is started;
// signals that are ignored by then are left alone. Where no thread can be had, all stays as it was.
void GuardSignals();

// As std::signal, for these three: an action, SIG_DFL or SIG_IGN; returns what stood there before. An action
// runs as signal handlers do: whatever this thread is at stands still.
SignalHandler HandleSignal(int signal, SignalHandler handler);

// Ends this program by the signal's own doing.
[[noreturn]] void DieOf(int signal);

// In a child, before it becomes another program or does without ours: it takes its signals itself. Takes
// neither memory nor a lock.
void UnguardSignals();

}  // namespace lumen
