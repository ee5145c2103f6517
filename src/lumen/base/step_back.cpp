#include "lumen/base/step_back.h"

#include <sys/resource.h>
#include <unistd.h>

namespace lumen {

void StepBack() {
  constexpr int kSteps = 10;  // a tenth of the time where another thread wants it too
  const auto thread = static_cast<id_t>(::gettid());
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + kSteps);
}

}  // namespace lumen
