// For threads that show what others do: they take the processor when nobody else wants it.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lumen {

// Linux gives each thread a priority of its own; one that cannot be had changes nothing.
inline void StepBack() {
  constexpr int polite = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), polite);
}

}  // namespace lumen
