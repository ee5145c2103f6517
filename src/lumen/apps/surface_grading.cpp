#include "lumen/apps/surface_grading.h"

#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/statistics.h"
#include "lumen/io/mesh_file.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

std::vector<double> DistancesTo(const TriangleMesh& model, const std::vector<Eigen::Vector3d>& points,
                                const Sim3& model_from_points, int threads) {
  constexpr int64_t kChunk = 1000;
  const TriangleTree tree(model);
  std::vector<double> distances(points.size(), 0.0);
  ParallelChunks(static_cast<int64_t>(points.size()), kChunk, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Eigen::Vector3d at = model_from_points * points[static_cast<size_t>(i)];
      const auto hit = tree.FindNearest(at, std::numeric_limits<double>::max());
      if (hit) distances[static_cast<size_t>(i)] = (hit->point - at).norm();
    }
  });
  return distances;
}

void AddSurfaceGrades(const Estimate& estimate, const Truth& truth, const TrajectoryErrors& errors,
                      int threads, Grades& grades) {
  constexpr int kSamples = 50000;
  if (estimate.surface.empty()) return;
  const auto absent = [&](const std::string& reason) {
    for (const char* key : {"surface_mean", "surface_median", "surface_area"}) grades.SetAbsent(key, reason);
  };
  if (truth.model.empty()) return absent("the truth has no model.ply");
  if (errors.status != TrajectoryStatus::kGood) return absent(errors.reason);
  const TriangleMesh surface = LoadMesh(estimate.surface), model = LoadMesh(truth.model);
  if (!HasArea(surface)) return absent("the surface is empty");
  if (!HasArea(model)) throw InputError(truth.model, "has no triangles");
  const std::vector<double> distances =
      DistancesTo(model, SampleSurface(surface, kSamples).points, errors.truth_from_estimate, threads);
  grades.Set("surface_mean", Mean(distances));
  grades.Set("surface_median", Quantile(distances, 0.5));
  const double scale = errors.truth_from_estimate.Scale();
  grades.Set("surface_area", scale * scale * ComputeArea(surface));
}

}  // namespace lumen
