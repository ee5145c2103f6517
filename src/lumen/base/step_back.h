// Lets the other threads of this process go first where there are fewer cores than threads.
#pragma once

namespace lumen {

// The calling thread, and those it starts from now on. Nothing happens where the system does not allow it.
void StepBack();
bool HasSteppedBack();

}  // namespace lumen
