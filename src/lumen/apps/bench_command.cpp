#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/model_path.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"
#include "lumen/base/parallel.h"
#include "lumen/base/random.h"
#include "lumen/base/timer.h"
#include "lumen/base/version.h"
#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/network/torch_backend.h"
#include "lumen/scene/matching.h"

namespace lumen {

namespace {

constexpr double kSecondsPerNumber = 1.0;

// Best of many: what the machine can do when nothing disturbs it.
template <typename Work>
double BestMs(const Work& work) {
  work();  // warms caches and buffers
  double best = 1e30;
  const Stopwatch total;
  for (int runs = 0; runs < 3 || total.ElapsedMs() < 1000 * kSecondsPerNumber; ++runs) {
    const Stopwatch watch;
    work();
    best = std::min(best, watch.ElapsedMs());
  }
  return best;
}

InputFrame TestFrame(const NetworkSpec& spec) {
  Random random(1);
  InputFrame frame{0, 0.0, RgbImage(spec.input_width, spec.input_height, 3)};
  for (size_t i = 0; i < frame.image.Size(); ++i)
    frame.image.Data()[i] = static_cast<uint8_t>(random.NextBits());
  return frame;
}

struct NetworkTimes {
  double feature_ms = 0, depth_ms = 0, average_depth_ms = 0;
};

NetworkTimes TimePriors(Priors& priors, const InputFrame& frame) {
  NetworkTimes times;
  times.feature_ms = BestMs([&] { priors.ComputeFeatures(frame); });
  times.average_depth_ms = BestMs([&] { priors.ComputeAverageDepth(frame); });
  // The whole depth network: a fresh trunk each time.
  times.depth_ms = BestMs([&] {
    priors.ComputeAverageDepth(frame);
    priors.ComputeDepthBasis(frame);
  });
  return times;
}

double TimeMatching(Priors& priors, const InputFrame& frame) {
  const FeaturePyramid features = priors.ComputeFeatures(frame);
  const Mask mask(features.descriptors.Width(), features.descriptors.Height(), 1, 255);
  const auto keypoints = SampleKeypoints(mask, 256, 1);
  const DescriptorIndex index(features.descriptors, mask);
  return BestMs([&] {
    MatchDescriptors({features.descriptors, &index}, keypoints, {features.descriptors, &index});
  });
}

// Two views of the networks' own maps: what a linearisation costs does not depend on what they show.
struct LinearisationTimes {
  double tracking_ms = 0, mapping_feature_ms = 0, mapping_geometry_ms = 0;
};

LinearisationTimes TimeLinearisation(Priors& priors, const InputFrame& input, const Mask& mask) {
  const auto view = MakeView(Camera::FromFieldOfView(77, mask.Width(), mask.Height()), mask);
  auto frame = std::make_shared<Frame>();
  frame->features = priors.ComputeFeatures(input);
  frame->view = view;
  DepthBasis basis = priors.ComputeDepthBasis(input);
  for (size_t i = 0; i < basis.average.Size(); ++i)
    basis.average.Data()[i] += 1;  // random weights may give no depth at all
  const auto keyframe = std::make_shared<const Keyframe>(
      Keyframe{frame, MakeDepthBasis(basis.average, basis.bases, view->mask)});
  const auto samples = MakeKeyframeSamples(keyframe);
  Values values;
  const Eigen::VectorXd code = Eigen::VectorXd::Zero(basis.NumBases());
  for (const int64_t id : {0, 1}) {
    const Rigid3 pose(Eigen::Quaterniond::Identity(), {0.02 * static_cast<double>(id), 0, 0});
    values.Insert(KeyframeKey(id), MakeKeyframeValue(pose, 0, code));
  }
  values.Insert(PoseKey(2), Rigid3());
  const FeatureMetricFactor tracking(PairVariables::Relative(PoseKey(2), DepthVariables::Fixed(0, code)),
                                     samples, frame);
  const FeatureMetricFactor mapping(PairVariables::World(0, 1), samples, frame);
  const GeometricConsistencyFactor geometry(PairVariables::World(0, 1), samples, keyframe);
  return {BestMs([&] { tracking.Linearize(values); }), BestMs([&] { mapping.Linearize(values); }),
          BestMs([&] { geometry.Linearize(values); })};
}

void PrintRow(const std::string& name, double value, const char* unit) {
  std::printf("%-34s %8.2f %s\n", name.c_str(), value, unit);
}

Json RunBenchmarks(const std::string& given_model) {
  const auto path = FindModel(given_model);
  const Model model = path ? LoadModel(*path) : MakeRandomModel(1);
  const Mask mask(model.depth.input_width, model.depth.input_height, 1, 255);
  const InputFrame frame = TestFrame(model.depth);
  const int cores = AvailableCores();
  Json result;
  result["version"] = Version();
  result["kernel"] = HalfArithmetic() != nullptr ? HalfArithmetic()->name : FloatArithmetic().name;
  result["cores"] = cores;

  EnginePriors one(model, mask, {.threads = 1});
  const NetworkTimes single = TimePriors(one, frame);
  result["feature_network_ms"] = single.feature_ms;
  result["depth_network_ms"] = single.depth_ms;
  result["average_depth_ms"] = single.average_depth_ms;
  result["precision"] = one.IsHalf() ? "half" : "float";
  if (one.IsHalf()) {
    EnginePriors wide(model, mask, {.threads = 1, .precision = "float"});
    const NetworkTimes times = TimePriors(wide, frame);
    result["float_feature_network_ms"] = times.feature_ms;
    result["float_depth_network_ms"] = times.depth_ms;
    result["float_average_depth_ms"] = times.average_depth_ms;
  }
  if (cores > 1) {
    EnginePriors two(model, mask, {.threads = 2});
    const NetworkTimes pair = TimePriors(two, frame);
    result["feature_network_2_threads_ms"] = pair.feature_ms;
    result["depth_network_2_threads_ms"] = pair.depth_ms;
  }
  result["matching_ms"] = TimeMatching(one, frame);
  const LinearisationTimes linearisation = TimeLinearisation(one, frame, mask);
  result["tracking_linearisation_ms"] = linearisation.tracking_ms;
  result["mapping_feature_factor_ms"] = linearisation.mapping_feature_ms;
  result["mapping_geometry_factor_ms"] = linearisation.mapping_geometry_ms;
  // One core against one core: OpenBLAS has threads of its own, which Torch does not govern.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  if (const TorchBackend* torch = FindTorchBackend()) {
    const NetworkTimes times = TimePriors(*torch->MakePriors(model, mask, {.threads = 1}, "cpu"), frame);
    // Torch has no cheaper way to the bases than the whole network: its time is that of one call.
    const double torch_depth = times.average_depth_ms;
    result["torch_version"] = torch->Version();
    result["torch_feature_network_ms"] = times.feature_ms;
    result["torch_depth_network_ms"] = torch_depth;
    result["speedup_over_torch"] = (times.feature_ms + torch_depth) / (single.feature_ms + single.depth_ms);
    if (torch->HaveCuda()) {
      const NetworkTimes gpu = TimePriors(*torch->MakePriors(model, mask, {.threads = 1}, "cuda"), frame);
      result["cuda_feature_network_ms"] = gpu.feature_ms;
      result["cuda_depth_network_ms"] = gpu.average_depth_ms;
      const auto live = torch->MakePriors(model, mask, {.threads = 1}, "cuda");
      result["cuda_live_ms"] = BestMs([&] { live->ComputeLive(frame); });
      result["cuda_feature_forward_ms"] = torch->TimeForward(model.feature, model, mask, "cuda");
      result["cuda_depth_forward_ms"] = torch->TimeForward(model.depth, model, mask, "cuda");
    }
  }
  // An ordinary frame needs features, an average depth, matches and some ten linearisations; another core
  // maps.
  const double frame_ms = single.feature_ms + single.average_depth_ms + result["matching_ms"].AsDouble() +
                          10 * linearisation.tracking_ms;
  result["expected_fps"] = 1000.0 / frame_ms;
  return result;
}

void RunBench(const std::string& model, const std::filesystem::path& json) {
  if (!json.empty()) RequireWritable(json);
  const Json result = RunBenchmarks(model);
  for (const auto& [name, value] : result.AsObject()) {
    if (name == "expected_fps")
      PrintRow("expected frame rate", value.AsDouble(), "frames/s (tracking, one core)");
    else if (value.IsNumber() && !value.IsInteger())
      PrintRow(name, value.AsDouble(), EndsWith(name, "_ms") ? "ms" : "x");
    else
      std::printf("%-34s %8s\n", name.c_str(),
                  value.IsString() ? value.AsString().c_str() : value.Dump().c_str());
  }
  if (!json.empty()) WriteFileAtomically(json, result.Dump(2) + "\n");
}

}  // namespace

void AddBenchCommand(Command& app) {
  Command& command = app.AddCommand("bench", "how fast this machine runs the networks and the rest");
  auto model = std::make_shared<std::string>();
  auto json = std::make_shared<std::filesystem::path>();
  command.Add("--model", *model, "weights; random ones where there are none");
  command.Add("--json", *json, "also write the numbers to this file");
  command.Do([model, json] { RunBench(*model, *json); });
}

}  // namespace lumen
