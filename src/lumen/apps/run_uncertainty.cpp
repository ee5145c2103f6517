#include "lumen/apps/run_uncertainty.h"

#include <algorithm>

#include "lumen/eval/statistics.h"
#include "lumen/io/pose_uncertainty.h"
#include "lumen/io/run_folder.h"

namespace lumen {

namespace {

double TimeOf(const MapSnapshot& map, KeyframeId id) { return map.keyframes.at(id).keyframe->frame->time; }

Json Describe(const std::vector<PoseSigma>& frames, const std::vector<StepSigma>& steps) {
  Json summary = Json::MakeObject();
  const auto add = [&](const std::string& name, const auto& rows, const auto& measure) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(measure(row));
    if (!values.empty()) summary[name] = Quantile(std::move(values), 0.5);
  };
  add("position", frames, [](const PoseSigma& sigma) { return sigma.position.norm(); });
  add("degrees", frames, [](const PoseSigma& sigma) { return sigma.turn_degrees.norm(); });
  add("scale", frames, [](const PoseSigma& sigma) { return sigma.scale; });
  add("step_position", steps, [](const StepSigma& step) { return step.sigma.position.norm(); });
  add("step_degrees", steps, [](const StepSigma& step) { return step.sigma.turn_degrees.norm(); });
  const auto weak = std::count_if(frames.begin(), frames.end(),
                                  [](const PoseSigma& sigma) { return sigma.off_probability >= kWeakFrom; });
  summary["weak_frames"] = static_cast<int64_t>(weak);
  return summary;
}

}  // namespace

Json SaveUncertainty(const std::filesystem::path& folder, const SlamPipeline& slam, const MapSnapshot& map) {
  const MapCertainty certainty = slam.Certainty(LargestSubmap(map));
  std::vector<PoseSigma> keyframes, frames;
  for (const auto& [id, covariance] : certainty.keyframes)
    keyframes.push_back(MakePoseSigma(TimeOf(map, id), covariance));
  const std::vector<double> doubts = slam.Doubts(certainty);
  for (size_t i = 0; i < doubts.size(); ++i) {
    const PlacedFrame& frame = slam.Frames()[i];
    const auto covariance = FrameCovariance(frame, map, certainty, slam.CertaintyModel());
    if (!covariance) continue;
    frames.push_back(MakePoseSigma(frame.time, *covariance));
    frames.back().off_probability = doubts[i];
  }
  std::vector<StepSigma> steps;
  for (const MapCertainty::Step& step : certainty.steps)
    steps.push_back({TimeOf(map, step.from), MakePoseSigma(TimeOf(map, step.to), step.covariance)});
  SavePoseSigmas(folder / run_file::kKeyframesUncertainty, keyframes);
  SavePoseSigmas(folder / run_file::kFramesUncertainty, frames);
  SaveStepSigmas(folder / run_file::kStepsUncertainty, steps);
  return Describe(frames, steps);
}

}  // namespace lumen
