#include "lumen/network/engine_priors.h"

#include "lumen/scene/frame.h"

namespace lumen {

void PriorsOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads per network"});
  visitor.Field("pyramid_levels", pyramid_levels,
                {.min = 1, .max = 6, .help = "levels of the feature pyramid"});
}

EnginePriors::EnginePriors(const Model& model, const LensView& view, const PriorsOptions& options)
    : options_(options),
      feature_mask_(FeatureMask(view.mask)),
      feature_(model.feature, model.tensors, view, {.threads = options.threads}),
      depth_(model.depth, model.tensors, view, {.threads = options.threads}) {}

FeaturePyramid EnginePriors::ComputeFeatures(const InputFrame& frame) {
  feature_.RunTrunk(frame.image);
  Image<float> features = feature_.RunHead(0);
  return MakeFeaturePyramid(std::move(features), feature_.RunHead(1), feature_mask_, options_.pyramid_levels);
}

void EnginePriors::RunDepthTrunk(const InputFrame& frame) {
  if (last_frame_ == &frame && last_index_ == frame.index && last_time_ == frame.time) return;
  depth_.RunTrunk(frame.image);
  last_average_ = depth_.RunHead(0);
  last_frame_ = &frame;
  last_index_ = frame.index;
  last_time_ = frame.time;
}

Image<float> EnginePriors::ComputeAverageDepth(const InputFrame& frame) {
  last_frame_ = nullptr;  // a caller may have changed the picture behind the same address
  RunDepthTrunk(frame);
  return last_average_;
}

DepthBasis EnginePriors::ComputeDepthBasis(const InputFrame& frame) {
  RunDepthTrunk(frame);
  return MakeDepthBasis(last_average_, depth_.RunHead(1), feature_mask_);
}

}  // namespace lumen
