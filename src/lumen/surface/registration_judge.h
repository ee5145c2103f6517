// Whether a registration's answer is to be believed: what of the surface lies on the model, how exactly, and
// what speaks against it.
#pragma once

#include <vector>

#include "lumen/surface/surface_registration.h"

namespace lumen {

// Of the points that lie within the match distance of a wall that faces the same way.
struct Residuals {
  double mean = 0, median = 0, p95 = 0, matched_share = 0;
};

// Mean distance of all points to the model, wherever it is nearest and whichever way it faces.
double MeanDistance(const SurfacePoints& surface, const TriangleTree& model, const Sim3& model_from_surface);

Residuals MeasureResiduals(const SurfacePoints& surface, const TriangleTree& model,
                           const DriftingSimilarity& model_from_surface, double match_distance);
// 68 % of the points, whose weights are 1 / sigma across the wall, lie within so many of their sigmas.
double MeasureMisfit(const SurfacePoints& measured, const TriangleTree& model,
                     const DriftingSimilarity& model_from_surface);
// On their own models points lie within half of what is expected of them; on another's, however well a
// surface fits, beyond that.
bool Misfits(const SurfaceRegistration& result);
// Distance of every vertex of a surface that has been placed from the model.
std::vector<double> ComputeResiduals(const TriangleMesh& placed, const TriangleTree& model, int threads);

// `similar_share`: what of the surface the similarity alone laid onto the model.
bool IsMatched(const SurfaceRegistrationOptions& options, double similar_share,
               const SurfaceRegistration& result);
// An answer that is hardly better than another is none: how much better it seems hangs on which others were
// tried. A guess decides between such as a motion that the shape leaves free leads to, and where what matches
// lies too exactly for an accident.
void Judge(const SurfaceRegistrationOptions& options, bool guessed, double match_distance,
           double similar_share, SurfaceRegistration& result);

}  // namespace lumen
