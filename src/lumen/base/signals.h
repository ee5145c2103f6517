// What asks this program to end: SIGINT, SIGTERM, SIGHUP. Libraries put handlers of their own in the place of
// ours (a GPU's compiler ends the program at Ctrl-C while it works), so no thread takes these signals but one
// of ours, which hands them on.
#pragma once

namespace lumen {

using SignalHandler = void (*)(int);

// From here on whoever takes a handler's place is not heard. To be called before any other thread is started;
// what is ignored by then stays so until somebody handles it. Where no thread can be had, all stays as it
// was.
void GuardSignals();

// As std::signal, for these three: an action, SIG_DFL or SIG_IGN; returns what stood there before. An action
// runs as signal handlers do: whatever this thread is at stands still.
SignalHandler HandleSignal(int signal, SignalHandler handler);

// Ends this program by the signal's own doing.
[[noreturn]] void DieOf(int signal);

// Does what was asked by a signal that a library raised in this very thread, as BLAS does where it gets no
// threads: nobody else sees it.
void TakeRaisedSignals();

// In a child, before it becomes another program or does without ours: they do what they do to any program,
// unless they are ignored. Takes neither memory nor a lock.
void UnguardSignals();

}  // namespace lumen
