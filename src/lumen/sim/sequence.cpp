#include "lumen/sim/sequence.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr int kMinSize = 16;
constexpr int kMaxSize = 8192;

// Refuses what cannot work before anything slow is done.
const SequenceOptions& Checked(const SequenceOptions& options) {
  const int width = options.camera ? options.camera->Width() : options.width;
  const int height = options.camera ? options.camera->Height() : options.height;
  if (width < kMinSize || height < kMinSize || width > kMaxSize || height > kMaxSize) {
    throw InputError(StrCat("image size ", width, "x", height, " is not between ", kMinSize, "x", kMinSize,
                            " and ", kMaxSize, "x", kMaxSize));
  }
  if (!(options.field_of_view >= 10 && options.field_of_view <= 170)) {
    throw InputError(StrCat("field of view must be 10 to 170 degrees, not ", options.field_of_view));
  }
  if (options.path.frames < 1) {
    throw InputError(StrCat("a sequence needs at least one frame, not ", options.path.frames));
  }
  if (options.threads < 1) throw InputError(StrCat("at least one thread is needed, not ", options.threads));
  return options;
}

Camera CameraOf(const SequenceOptions& options) {
  return options.camera ? *options.camera
                        : Camera::FromFieldOfView(options.field_of_view, options.width, options.height);
}

Appearance AppearanceOf(const SequenceOptions& options) {
  if (options.appearance) return *options.appearance;
  Appearance look = MakeAppearance(options.anatomy, options.seed);
  FitLightToLens(CameraOf(options), look);
  if (options.fine_vessels) look.tissue.fine_vessels = 0.9F;
  return look;
}

std::vector<float> MeterPath(const Renderer& renderer, const std::vector<Rigid3>& path, double fps,
                             int threads) {
  std::vector<float> wanted(path.size());
  ParallelFor(static_cast<int64_t>(path.size()), threads, [&](int64_t k) {
    wanted[static_cast<size_t>(k)] = renderer.MeterGain(path[static_cast<size_t>(k)]);
  });
  const float lag = renderer.Look().sensor.exposure_lag;
  ExposureState state;
  for (float& gain : wanted) {
    state = UpdateExposure(state, gain, static_cast<float>(1 / fps), lag);
    gain = std::exp(state.log_gain);
  }
  return wanted;
}

// What tissue that moves makes of a frame whose picture nobody asks for.
TissueMotion::Moved MoveDepth(const TissueMotion& motion, DepthImage depth, const SimulatedSequence& sequence,
                              int index) {
  const RenderedFrame rest{RgbImage(depth.Width(), depth.Height(), 3), std::move(depth)};
  return motion.Move(rest, sequence.View(), sequence.ContentMask(), sequence.Pose(index),
                     sequence.Time(index));
}

}  // namespace

SimulatedSequence::SimulatedSequence(const SequenceOptions& options)
    : SimulatedSequence(MakeAnatomy(Checked(options).anatomy, options.seed, options.threads), options) {}

SimulatedSequence::SimulatedSequence(std::shared_ptr<const Anatomy> anatomy, const SequenceOptions& options)
    : options_(Checked(options)),
      anatomy_(std::move(anatomy)),
      renderer_(anatomy_, CameraOf(options), AppearanceOf(options), options.threads),
      degrader_(options.degradations, options.seed),
      timeline_(degrader_.MakeTimeline(options.path.frames)) {
  LUMEN_CHECK(anatomy_->Kind() == options.anatomy && anatomy_->Seed() == options.seed);
  // One frame more than is shown, so that the last one moves as well; as many more as are dropped.
  PathOptions path = options.path;
  path.frames = timeline_.back() + 2;
  path_ = MakePath(*anatomy_, path);
  gains_ = MeterPath(renderer_, path_, path.fps, options.threads);
  if (degrader_.TissueMillimetres() > 0) motion_.emplace(degrader_.TissueMillimetres(), options.seed);
}

SimulatedFrame SimulatedSequence::Render(int index) const {
  const size_t source = SourceFrame(index);
  RenderedFrame rendered = renderer_.Render({path_[source], source, gains_[source], path_[source + 1]});
  if (motion_) rendered = motion_->Move(rendered, View(), ContentMask(), path_[source], Time(index)).frame;
  return {index, Time(index), degrader_.Apply(rendered.image, ContentMask(), index),
          std::move(rendered.depth), path_[source]};
}

DepthImage SimulatedSequence::RenderDepth(int index) const {
  DepthImage depth = renderer_.RenderDepth(Pose(index));
  return motion_ ? MoveDepth(*motion_, std::move(depth), *this, index).frame.depth : depth;
}

Image<float> SimulatedSequence::TissueFlow(int index) const {
  return motion_ ? MoveDepth(*motion_, renderer_.RenderDepth(Pose(index)), *this, index).flow
                 : Image<float>();
}

Trajectory SimulatedSequence::GroundTruth() const {
  Trajectory trajectory;
  for (int k = 0; k < Size(); ++k) trajectory.push_back({Time(k), Pose(k)});
  return trajectory;
}

}  // namespace lumen
