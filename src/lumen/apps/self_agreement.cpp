#include "lumen/apps/self_agreement.h"

#include <algorithm>
#include <cmath>

#include "lumen/apps/study_subject.h"
#include "lumen/base/error.h"
#include "lumen/eval/association.h"
#include "lumen/eval/statistics.h"
#include "lumen/io/input_stream.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kEpipolarTolerance = 1.5;  // px at the maps' size

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

EpipolarCount CountOnEpipolar(const std::vector<FeaturePyramid>& features,
                              const std::map<size_t, Rigid3>& poses, const View& view, size_t gap) {
  EpipolarCount count;
  for (size_t k = 0; k + gap < features.size(); ++k) {
    if (!poses.contains(k) || !poses.contains(k + gap)) continue;
    count.tried += kStudyKeypoints;
    const Image<float>& a = features[k].descriptors;
    const Image<float>& b = features[k + gap].descriptors;
    const DescriptorIndex index_a(a, view.mask);
    const DescriptorIndex index_b(b, view.mask);
    const Rigid3 motion = poses.at(k + gap).Inverse() * poses.at(k);
    for (const Match& match :
         MatchDescriptors({a, &index_a}, SampleKeypoints(view.eroded_mask, kStudyKeypoints, k), {b, &index_b})
             .matches) {
      ++count.kept;
      count.right += EpipolarDistance(view.camera, motion, match) <= kEpipolarTolerance ? 1 : 0;
    }
  }
  return count;
}

namespace {

struct SeenFrame {
  Rigid3 world_from_camera;
  DepthImage agreed, average;  // the average in the agreed depth's scale
};

// The average depth scaled onto the agreed one; false where too little of that is known.
bool SetScale(SeenFrame& frame) {
  constexpr size_t kLeastPixels = 200;
  std::vector<double> ratios;
  for (size_t i = 0; i < frame.agreed.Size(); ++i) {
    if (frame.agreed.Data()[i] > 0 && frame.average.Data()[i] > 0)
      ratios.push_back(static_cast<double>(frame.agreed.Data()[i] / frame.average.Data()[i]));
  }
  if (ratios.size() < kLeastPixels) return false;
  const auto scale = static_cast<float>(Quantile(ratios, 0.5));
  for (size_t i = 0; i < frame.average.Size(); ++i) frame.average.Data()[i] *= scale;
  return true;
}

// |log ratio| of what two frames' averages say of the places that both see by the agreed depth; nothing
// where those are few.
std::optional<double> Disagreement(const SeenFrame& from, const SeenFrame& to, const UnifiedCamera& camera) {
  constexpr double kSame = 0.1;
  constexpr int kLeastPixels = 500;
  const Rigid3 motion = to.world_from_camera.Inverse() * from.world_from_camera;
  double sum = 0;
  int count = 0;
  for (int y = 0; y < from.agreed.Height(); ++y) {
    for (int x = 0; x < from.agreed.Width(); ++x) {
      if (!(from.agreed(x, y) > 0) || !(from.average(x, y) > 0)) continue;
      const Eigen::Vector3d ray = camera.RayAtUnitDepth(x, y);
      const auto pixel = [&](float depth) { return motion * (static_cast<double>(depth) * ray); };
      const Eigen::Vector3d seen = pixel(from.agreed(x, y));
      const auto uv = camera.IsBefore(seen, 1e-6) ? camera.Project(seen) : std::nullopt;
      if (!uv || !(uv->cwiseAbs().maxCoeff() < 1e6)) continue;
      const int u = static_cast<int>(std::lround(uv->x())), v = static_cast<int>(std::lround(uv->y()));
      if (!to.agreed.Contains(u, v) || !(to.agreed(u, v) > 0) || !(to.average(u, v) > 0)) continue;
      const double there = camera.Depth(seen);
      if (std::abs(static_cast<double>(to.agreed(u, v)) - there) > kSame * there) continue;  // hidden
      const double said = camera.Depth(pixel(from.average(x, y)));
      if (!(said > 0)) continue;
      sum += std::min(1.0, std::abs(std::log(said / static_cast<double>(to.average(u, v)))));
      ++count;
    }
  }
  if (count < kLeastPixels) return std::nullopt;
  return sum / count;
}

}  // namespace

namespace {

// How far an average depth is off a frame's points at the scale that fits them best; nothing where they are
// few.
std::optional<double> ErrorAtPoints(const DepthImage& depth, const UnifiedCamera& camera, const Camera& raw,
                                    const std::vector<SparsePoint>& points) {
  constexpr size_t kLeastPoints = 20;
  std::vector<double> ratios;
  for (const SparsePoint& point : points) {
    const auto ray = raw.Unproject(point.uv);
    if (!ray || !(ray->z() > 1e-3)) continue;
    const Eigen::Vector3d place = *ray * (point.depth / ray->z());
    const auto uv = camera.Project(place);
    if (!uv) continue;
    const int x = static_cast<int>(std::lround(uv->x())), y = static_cast<int>(std::lround(uv->y()));
    if (depth.Contains(x, y) && depth(x, y) > 0)
      ratios.push_back(static_cast<double>(depth(x, y)) / camera.Depth(place));
  }
  if (ratios.size() < kLeastPoints) return std::nullopt;
  const double scale = Quantile(ratios, 0.5);
  double sum = 0;
  for (const double ratio : ratios) sum += std::abs(ratio / scale - 1);
  return sum / static_cast<double>(ratios.size());
}

}  // namespace

SelfAgreement MeasureSelfAgreement(const Model& model, const fs::path& folder) {
  constexpr size_t kGap = 10;  // frames
  const std::unique_ptr<FrameSource> depths = OpenInput(folder, {});
  if (!depths->Info().truth) throw InputError(folder, "no poses");
  const Trajectory truth = *depths->Info().truth;
  InputStream stream(OpenInput(folder, {}), folder, {model.depth.input_width, model.depth.input_height});
  const auto view = MakeView(stream.GetCamera(), stream.GetMask());
  const Camera small(view->camera, view->mask.Width(), view->mask.Height());
  const Camera raw = RequireCamera(*depths, folder);
  EnginePriors priors(model, LensView(stream.GetCamera(), stream.GetMask()));
  std::vector<FeaturePyramid> features;
  std::map<size_t, Rigid3> poses;
  std::vector<SeenFrame> seen;
  std::vector<double> at_points;
  while (const auto frame = stream.Next()) {
    features.push_back(priors.ComputeFeatures(*frame));
    const TimedPose* pose = FindPose(truth, frame->time, kMaxTimeGap);
    if (pose == nullptr) continue;
    poses[features.size() - 1] = pose->world_from_camera;
    const auto depth = depths->LoadDepth(frame->index);
    const std::vector<SparsePoint> points = depths->LoadPoints(frame->index);
    if (!depth && points.empty()) continue;
    const DepthImage average = priors.ComputeAverageDepth(*frame);
    if (const auto error = ErrorAtPoints(average, view->camera, raw, points)) at_points.push_back(*error);
    if (!depth) continue;
    SeenFrame one{pose->world_from_camera,
                  ViewDepthOfZ(ResampleDepth(*depth, raw.Resized(depth->Width(), depth->Height()), small),
                               view->camera),
                  average};
    if (SetScale(one)) seen.push_back(std::move(one));
  }
  SelfAgreement result;
  double sum = 0;
  for (const size_t gap : {kGap / 2, kGap, 2 * kGap}) {
    for (size_t i = 0; i + gap < seen.size(); ++i) {
      const auto difference = Disagreement(seen[i], seen[i + gap], view->camera);
      if (!difference) continue;
      sum += *difference;
      ++result.pairs;
    }
  }
  const EpipolarCount matches = CountOnEpipolar(features, poses, *view, kGap);
  if (result.pairs == 0 || matches.kept == 0)
    throw InputError(folder, "no two of its frames see enough of the same to compare");
  result.depth = sum / static_cast<double>(result.pairs);
  if (!at_points.empty()) result.points = Mean(at_points);
  result.epipolar = Share(matches.right, matches.kept);
  return result;
}

}  // namespace lumen
