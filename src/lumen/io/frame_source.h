// Where frames come from: one after the other, with what is known about them. `OpenInput` makes a
// source of anything Lumen can read; the options of every INPUT on the command line live here.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"
#include "lumen/io/sparse_depth.h"
#include "lumen/scene/trajectory.h"

namespace lumen {

struct RawFrame {
  int64_t index = 0;  // in the input's own numbering
  double time = 0;    // seconds
  RgbImage image;
};

// How a data set's own grading differs from ours (docs/evaluation.md).
enum class GradingProtocol {
  kOurs,       // the keyframes, after the similarity that fits best
  kAllFrames,  // the same of every placed frame: C3VD
  kOneScale,   // besides, paths chained from their steps and depth, each at one scale a sequence: SimCol3D
};

struct SourceInfo {
  std::string name;
  int width = 0, height = 0;
  double fps = 30;
  std::string units = "arbitrary";  // of depth and ground truth: "mm" or "arbitrary"
  int64_t frame_count = -1;         // -1: unknown
  bool live = false;                // a camera: cannot be read twice
  std::optional<Camera> camera;
  std::optional<Mask> mask;
  std::optional<Trajectory> truth;  // by time; frames may be missing
  std::filesystem::path model;      // the true surface, a mesh in the truth's world; empty: there is none
  GradingProtocol protocol = GradingProtocol::kOurs;
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  const SourceInfo& Info() const { return info_; }
  virtual std::optional<RawFrame> Next() = 0;
  // From another thread: a Next that waits for a camera returns nothing soon, and so do all after it. Other
  // sources have nothing to wait for.
  virtual void Stop() {}
  // Passes over one frame without decoding it, where that is cheaper. False at the end.
  virtual bool Skip() { return Next().has_value(); }
  // True depth of a frame, where the input has it.
  virtual std::optional<DepthImage> LoadDepth(int64_t /*index*/) const { return std::nullopt; }
  // The same at single places, in the frame's pixels.
  virtual std::vector<SparsePoint> LoadPoints(int64_t /*index*/) const { return {}; }
  // The picture's own file, where each frame is one.
  virtual std::filesystem::path FrameFile(int64_t /*index*/) const { return {}; }

 protected:
  SourceInfo info_;
};

struct InputOptions {
  std::string sequence;               // of a data set's folder that holds several
  std::filesystem::path calibration;  // sequence.toml, OpenCV YAML, COLMAP cameras.txt
  std::optional<Camera> camera;       // known otherwise: instead of a calibration
  double fov_degrees = 0;             // horizontal field of view, instead of a calibration; 0 = not given
  std::filesystem::path mask;
  bool mask_text = false;  // what never changes over the video is left out of the mask
  double fps = 0;          // overrides the input's own; 0 = not given
  int64_t start = 0;
  int64_t end = -1;  // first frame not read; -1 = to the end
  int64_t stride = 1;
  bool flip_z = false;             // true poses of EndoSLAM's UnityCam: mirrored along z instead of y
  bool swap_red_and_blue = false;  // for files whose channel order is not what it should be
};

bool IsCamera(const std::filesystem::path& input);  // by its name

// A sequence folder, a sequence of a data set (dataset.h), a folder of images, a SAGE HDF5 file, a video
// file, or a camera (/dev/video0). Throws InputError with what is wrong. A source without any calibration is
// fine here; see RequireCamera.
std::unique_ptr<FrameSource> OpenInput(const std::filesystem::path& input, const InputOptions& options);

// A guess from the horizontal field of view: a pinhole up to 100°, an equidistant fisheye up to 170°, which
// is said. Throws InputError beyond that.
Camera GuessCamera(double fov_degrees, int width, int height);

// The source's camera, or an InputError that says what the user can do.
Camera RequireCamera(const FrameSource& source, const std::filesystem::path& input);

}  // namespace lumen
