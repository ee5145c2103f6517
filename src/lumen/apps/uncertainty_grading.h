// Whether what a run says of its own errors is true, component by component.
#pragma once

#include "lumen/apps/grading.h"

namespace lumen {

// What a run may say it is sure of, in the order of reports: six components of poses, six of steps, "scale",
// "depth", "surface".
std::vector<std::string> UncertainQuantities();

// Scores of "position_x", … "turn_z", "step_position_x", … "scale", "depth", "surface", as far as the run
// says how sure it is. Errors are in the truth's unit and in degrees, of depth in its logarithm. Adds to the
// grades how far the surface's better half is off, and its worse.
std::map<std::string, CalibrationScore> GradeUncertainty(const Estimate& estimate, const Truth& truth,
                                                         const TrajectoryErrors& errors,
                                                         const std::vector<DepthMapGrade>& maps, int threads,
                                                         Grades& grades);

}  // namespace lumen
