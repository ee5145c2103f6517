// A whole simulated video with its truth, frame by frame at random access: nothing is rendered before it
// is asked for, and a frame is the same whatever was asked for before.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lumen/scene/trajectory.h"
#include "lumen/sim/degrade.h"
#include "lumen/sim/path.h"
#include "lumen/sim/renderer.h"
#include "lumen/sim/tissue_motion.h"

namespace lumen {

struct SequenceOptions {
  AnatomyKind anatomy = AnatomyKind::kNasal;
  uint64_t seed = 1;
  int width = 320, height = 256;
  double field_of_view = 77;                    // horizontal, degrees
  std::optional<Camera> camera = std::nullopt;  // instead of size and field of view
  PathOptions path = {};                        // frames, fps, kind, …
  std::vector<Degradation> degradations = {};
  bool fine_vessels = false;                            // a dense net of them all over the wall
  std::optional<Appearance> appearance = std::nullopt;  // instead of the seed's own
  int threads = 1;
};

struct SimulatedFrame {
  int index = 0;
  double time = 0;  // seconds
  RgbImage image;
  DepthImage depth;  // mm along z, 0 = unknown
  Rigid3 world_from_camera;
};

class SimulatedSequence {
 public:
  // Throws InputError for options that make no sense.
  explicit SimulatedSequence(const SequenceOptions& options);
  // The same in an anatomy that exists already (its kind and seed must be the options').
  SimulatedSequence(std::shared_ptr<const Anatomy> anatomy, const SequenceOptions& options);

  int Size() const { return static_cast<int>(timeline_.size()); }
  const SequenceOptions& Options() const { return options_; }
  const Camera& View() const { return renderer_.View(); }
  const Mask& ContentMask() const { return renderer_.ContentMask(); }
  const Anatomy& Scene() const { return renderer_.Scene(); }
  const std::shared_ptr<const Anatomy>& SharedScene() const { return anatomy_; }
  const Renderer& FrameRenderer() const { return renderer_; }

  SimulatedFrame Render(int index) const;
  DepthImage RenderDepth(int index) const;
  // How far the tissue at each pixel has gone from where it rests, in pixels; empty: it rests.
  Image<float> TissueFlow(int index) const;
  const Rigid3& Pose(int index) const { return path_[SourceFrame(index)]; }
  double Time(int index) const { return index / options_.path.fps; }
  Trajectory GroundTruth() const;
  TriangleMesh Surface() const { return ExportSurface(Scene()); }

 private:
  size_t SourceFrame(int index) const {
    return static_cast<size_t>(timeline_.at(static_cast<size_t>(index)));
  }

  SequenceOptions options_;
  std::shared_ptr<const Anatomy> anatomy_;
  Renderer renderer_;
  Degrader degrader_;
  std::vector<int> timeline_;  // frame of the path that each frame shows
  std::vector<Rigid3> path_;
  std::vector<float> gains_;  // auto-exposure along the path
  std::optional<TissueMotion> motion_;
};

}  // namespace lumen
