#include "lumen/base/step_back.h"

#include <sys/resource.h>
#include <unistd.h>

namespace lumen {

namespace {
thread_local bool has_stepped_back = false;
}  // namespace

bool HasSteppedBack() { return has_stepped_back; }

void StepBack() {
  has_stepped_back = true;
  constexpr int kSteps = 10;  // a tenth of the time where another thread wants it too
  const auto thread = static_cast<id_t>(::gettid());
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + kSteps);
}

}  // namespace lumen
