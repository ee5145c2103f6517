// What the study of the priors looks at: frames of a simulated subject with everything the networks say about
// them, and the truth.
#pragma once

#include <memory>

#include "lumen/factors/pair_alignment.h"
#include "lumen/io/rectifier.h"
#include "lumen/network/engine_priors.h"
#include "lumen/sim/flow.h"
#include "lumen/sim/suite.h"

namespace lumen {

inline constexpr int kStudyKeypoints = 256;

inline double Share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// One frame of a subject with everything the networks say about it and the truth at the maps' size.
struct StudyFrame {
  std::shared_ptr<const Keyframe> keyframe;
  DepthImage truth, z;  // depth as the view measures it, and along z
  Rigid3 world_from_camera;
};

// A subject of the suite as SLAM would see it: pictures of twice the networks' size, rectified.
class Subject {
 public:
  Subject(const SuiteSubject& subject, SuiteLens lens, const Model& model)
      : sequence_(MakeSuiteOptions(subject, lens)),
        rectifier_(sequence_.View(), sequence_.ContentMask(),
                   {.width = model.depth.input_width, .height = model.depth.input_height}),
        view_(MakeView(rectifier_.TargetCamera(), rectifier_.TargetMask())),
        priors_(model, LensView(rectifier_.TargetCamera(), rectifier_.TargetMask())),
        small_(sequence_.SharedScene(), Camera(view_->camera, view_->mask.Width(), view_->mask.Height()),
               sequence_.FrameRenderer().Look()) {}

  int Size() const { return sequence_.Size(); }
  const View& GetView() const { return *view_; }
  const SimulatedSequence& Sequence() const { return sequence_; }
  const Renderer& SmallRenderer() const { return small_; }
  Rigid3 Pose(int index) const { return sequence_.Pose(index); }
  DepthImage TrueZ(const Rigid3& pose) const { return small_.RenderDepth(pose); }

  StudyFrame Look(int index) { return Look(index, sequence_.Render(index).image, sequence_.Pose(index)); }
  // The same place with the camera turned about its axis.
  StudyFrame LookRolled(int index, double roll) {
    const Rigid3 pose =
        sequence_.Pose(index) * Rigid3(Eigen::Quaterniond(Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitZ())),
                                       Eigen::Vector3d::Zero());
    return Look(index + 100000, sequence_.FrameRenderer().Render({pose, static_cast<uint64_t>(index)}).image,
                pose);
  }

 private:
  StudyFrame Look(int64_t index, const RgbImage& picture, const Rigid3& pose) {
    auto frame = std::make_shared<Frame>();
    frame->index = index;
    frame->time = static_cast<double>(index);
    frame->image = rectifier_.Apply(picture);
    const InputFrame input{frame->index, frame->time, frame->image};
    frame->features = priors_.ComputeFeatures(input);
    frame->view = view_;
    const DepthBasis basis = priors_.ComputeDepthBasis(input);
    StudyFrame result;
    result.keyframe = std::make_shared<const Keyframe>(
        Keyframe{frame, MakeDepthBasis(basis.average, basis.bases, view_->mask)});
    result.z = small_.RenderDepth(pose);
    for (size_t i = 0; i < result.z.Size(); ++i) {
      if (view_->mask.Data()[i] == 0) result.z.Data()[i] = 0;
    }
    result.truth = ViewDepthOfZ(result.z, view_->camera);
    result.world_from_camera = pose;
    return result;
  }

  SimulatedSequence sequence_;
  Rectifier rectifier_;
  std::shared_ptr<const View> view_;
  EnginePriors priors_;
  Renderer small_;
};

}  // namespace lumen
