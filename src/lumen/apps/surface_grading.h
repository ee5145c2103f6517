// How far a system's surface lies from the true one, once its trajectory is aligned.
#pragma once

#include "lumen/apps/grading.h"

namespace lumen {

// Adds `surface_mean`, `surface_median` and `surface_area`, or why they are absent. Nothing where there is no
// surface at all.
void AddSurfaceGrades(const Estimate& estimate, const Truth& truth, const TrajectoryErrors& errors,
                      int threads, Grades& grades);

}  // namespace lumen
