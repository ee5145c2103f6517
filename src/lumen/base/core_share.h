// For a process that is one of several side by side: each takes its share of the cores, since all that reach
// for every core stand in each other's way.
#pragma once

namespace lumen {

// From now on AvailableCores (parallel.h) is no more than this. Said at a process's beginning.
void LimitCores(int most);

}  // namespace lumen
