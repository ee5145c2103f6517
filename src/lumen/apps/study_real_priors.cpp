// The part of the study that looks at real frames.
#include <algorithm>
#include <cmath>

#include "lumen/apps/study_priors.h"
#include "lumen/apps/study_subject.h"
#include "lumen/eval/association.h"
#include "lumen/eval/statistics.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/rectifier.h"
#include "lumen/io/sparse_depth.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kEpipolarTolerance = 1.5;  // px at the maps' size
constexpr int kEpipolarGap = 10;            // frames

// Distance of a match from the epipolar curve of the true motion, in the target's pixels, to first order:
// what is off the plane, over how it changes with the pixel.
double EpipolarDistance(const UnifiedCamera& camera, const Rigid3& target_from_source, const Match& match) {
  const Eigen::Vector3d x = camera.RayAtUnitDepth(match.source.x(), match.source.y());
  const Eigen::Vector3d& t = target_from_source.Translation();
  const Eigen::Vector3d normal = t.cross(target_from_source.Rotation() * x);
  Matrix32d direction_by_pixel;
  const auto direction = camera.Unproject(match.target, &direction_by_pixel);
  if (!direction) return 1e9;
  return std::abs(normal.dot(*direction)) / std::max(1e-12, (normal.transpose() * direction_by_pixel).norm());
}

}  // namespace

Json StudyRealPriors(const Model& model, const fs::path& folder) {
  const SparseDepth points = LoadSparseDepth(folder / kSparseDepthFile);
  auto source = OpenInput(folder, {});
  const Camera raw_camera = RequireCamera(*source, folder);
  if (!source->Info().truth) throw InputError(folder, "no poses");
  const Trajectory truth = *source->Info().truth;
  InputStream stream(std::move(source), folder, {model.depth.input_width, model.depth.input_height});
  const auto view = MakeView(stream.GetCamera(), stream.GetMask());
  EnginePriors priors(model, LensView(stream.GetCamera(), stream.GetMask()));
  std::vector<FeaturePyramid> features;
  Trajectory times;  // of the frames; their poses are found by time
  std::vector<double> ards, withins;
  while (const auto frame = stream.Next()) {
    features.push_back(priors.ComputeFeatures(*frame));
    times.push_back({frame->time, Rigid3()});
    const DepthImage depth = ZOfViewDepth(priors.ComputeAverageDepth(*frame), view->camera);
    std::vector<double> ratios, estimates, truths;
    const auto seen = points.find(frame->index);
    for (const SparsePoint& point : seen == points.end() ? std::vector<SparsePoint>() : seen->second) {
      const auto ray = raw_camera.Unproject(point.uv);
      if (!ray) continue;
      const auto uv = view->camera.Project(*ray);
      if (!uv) continue;
      const auto x = static_cast<int>(std::lround(uv->x()));
      const auto y = static_cast<int>(std::lround(uv->y()));
      if (!view->mask.Contains(x, y) || view->mask(x, y) == 0 || !(depth(x, y) > 0)) continue;
      estimates.push_back(depth(x, y));
      truths.push_back(point.depth);
      ratios.push_back(point.depth / depth(x, y));
    }
    if (ratios.size() < 20) continue;
    const double scale = Quantile(ratios, 0.5);
    double ard = 0;
    double within = 0;
    for (size_t i = 0; i < ratios.size(); ++i) {
      ard += std::abs(scale * estimates[i] - truths[i]) / truths[i];
      within += std::max(scale / ratios[i], ratios[i] / scale) < 1.25 ? 1 : 0;
    }
    ards.push_back(ard / static_cast<double>(ratios.size()));
    withins.push_back(within / static_cast<double>(ratios.size()));
  }
  std::map<size_t, Rigid3> poses;
  for (const PosePair& pair : AssociateByTime(times, truth))
    poses[pair.estimate] = truth[pair.truth].world_from_camera;
  int64_t tried = 0;
  int64_t kept = 0;
  int64_t right = 0;
  for (size_t k = 0; k + kEpipolarGap < features.size(); ++k) {
    if (!poses.contains(k) || !poses.contains(k + kEpipolarGap)) continue;
    tried += kStudyKeypoints;
    const Image<float>& a = features[k].descriptors;
    const Image<float>& b = features[k + kEpipolarGap].descriptors;
    const DescriptorIndex index_a(a, view->mask);
    const DescriptorIndex index_b(b, view->mask);
    const Rigid3 motion = poses.at(k + kEpipolarGap).Inverse() * poses.at(k);
    for (const Match& match :
         MatchDescriptors({a, &index_a}, SampleKeypoints(view->eroded_mask, kStudyKeypoints, k),
                          {b, &index_b})
             .matches) {
      ++kept;
      right += EpipolarDistance(view->camera, motion, match) <= kEpipolarTolerance ? 1 : 0;
    }
  }
  Json result;
  result["frames"] = static_cast<int64_t>(features.size());
  if (!ards.empty()) {
    result["real_ard"] = Mean(ards);
    result["real_threshold"] = Mean(withins);
  }
  result["real_epipolar_precision"] = Share(right, kept);
  result["real_matches_kept"] = tried > 0 ? Share(kept, tried) : 0.0;
  return result;
}

}  // namespace lumen
