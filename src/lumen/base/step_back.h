// Lets the other threads of this process go first where there are fewer cores than threads.
#pragma once

namespace lumen {

// The calling thread, and those it starts from now on. Nothing happens where the system does not allow it.
// Ten steps leave a tenth of the time where another thread wants it too, five a third.
void StepBack(int steps = 10);
bool HasSteppedBack();

}  // namespace lumen
