#include "lumen/network/engine_priors.h"

#include "lumen/base/log.h"
#include "lumen/scene/frame.h"

namespace lumen {

void PriorsOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field(
      "precision", precision,
      {.help = "what the networks compute in; auto: half precision where the processor, or the GPU, "
               "has it",
       .choices = {"auto", "float", "half"}});
}

EnginePriors::EnginePriors(const Model& model, const LensView& view, const PriorsOptions& options)
    : options_(options),
      feature_mask_(FeatureMask(view.mask)),
      half_(options.precision != "float" && HalfArithmetic() != nullptr),
      feature_(MakeEngine(model.feature, model, view)),
      depth_(MakeEngine(model.depth, model, view)) {
  if (options.precision == "half" && !half_)
    throw InputError("engine.precision=half: this processor has no half-precision arithmetic");
}

EnginePriors::SafeEngine EnginePriors::MakeEngine(const NetworkSpec& spec, const Model& model,
                                                  const LensView& view) const {
  const auto make = [spec, view, threads = options_.threads](const std::map<std::string, Tensor>& tensors,
                                                             const Arithmetic<Half>* half) {
    return std::make_unique<NetworkEngine>(spec, tensors, view, EngineOptions{threads, half});
  };
  if (!half_) return {make(model.tensors, nullptr), nullptr};
  std::map<std::string, Tensor> tensors;  // this network's own
  for (const auto& [name, tensor] : model.tensors) {
    if (StartsWith(name, spec.name + ".")) tensors.emplace(name, tensor);
  }
  return {make(tensors, HalfArithmetic()), [make, tensors] { return make(tensors, nullptr); }};
}

Image<float> EnginePriors::SafeEngine::RunHead(int head, const RgbImage& image) {
  Image<float> map = engine->RunHead(head);
  if (make_float == nullptr || engine->IsFinite()) return map;
  LogWarning("the model's numbers do not fit half precision: the ", engine->Spec().name,
             " network goes on in single precision");
  engine = make_float();
  make_float = nullptr;
  engine->RunTrunk(image);
  return engine->RunHead(head);
}

FeaturePyramid EnginePriors::ComputeFeatures(const InputFrame& frame) {
  feature_.RunTrunk(frame.image);
  Image<float> features = feature_.RunHead(0, frame.image);
  return MakeFeaturePyramid(std::move(features), feature_.RunHead(1, frame.image), feature_mask_,
                            options_.pyramid_levels);
}

void EnginePriors::RunDepthTrunk(const InputFrame& frame) {
  if (last_frame_ == &frame && last_index_ == frame.index && last_time_ == frame.time) return;
  depth_.RunTrunk(frame.image);
  last_average_ = depth_.RunHead(0, frame.image);
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
  return MakeDepthBasis(last_average_, depth_.RunHead(1, frame.image), feature_mask_);
}

}  // namespace lumen
