// Grades at one scale a sequence, as the SimCol3D challenge gives them.
#pragma once

#include "lumen/apps/grading.h"

namespace lumen {

void AddOneScaleGrades(const Estimate& estimate, const Truth& truth, const GradingOptions& options,
                       Grades& grades);

}  // namespace lumen
