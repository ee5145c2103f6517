// How far a system's surface lies from the true one, once its trajectory is aligned.
#pragma once

#include "lumen/apps/grading.h"
#include "lumen/scene/mesh.h"

namespace lumen {

std::vector<double> DistancesTo(const TriangleMesh& model, const std::vector<Eigen::Vector3d>& points,
                                const Sim3& model_from_points, int threads);

// Adds `surface_mean`, `surface_median` and `surface_area`, or why they are absent. Nothing where there is no
// surface at all.
void AddSurfaceGrades(const Estimate& estimate, const Truth& truth, const TrajectoryErrors& errors,
                      int threads, Grades& grades);

}  // namespace lumen
