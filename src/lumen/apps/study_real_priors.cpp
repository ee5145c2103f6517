// The part of the study that looks at real frames.
#include <algorithm>
#include <cmath>

#include "lumen/apps/self_agreement.h"
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

constexpr int kEpipolarGap = 10;  // frames

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
      const auto uv = SeenThrough(raw_camera, point.uv, view->camera);
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
  const EpipolarCount matches = CountOnEpipolar(features, poses, *view, kEpipolarGap);
  Json result;
  result["frames"] = static_cast<int64_t>(features.size());
  if (!ards.empty()) {
    result["real_ard"] = Mean(ards);
    result["real_threshold"] = Mean(withins);
  }
  result["real_epipolar_precision"] = Share(matches.right, matches.kept);
  result["real_matches_kept"] = Share(matches.kept, matches.tried);
  return result;
}

}  // namespace lumen
