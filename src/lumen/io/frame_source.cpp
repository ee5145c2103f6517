#include "lumen/io/frame_source.h"

#include <utility>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/io/calibration.h"
#include "lumen/io/camera_source.h"
#include "lumen/io/dataset.h"
#include "lumen/io/dicom_video.h"
#include "lumen/io/image_file.h"
#include "lumen/io/image_folder.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/recording.h"
#include "lumen/io/sage_hdf5.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::unique_ptr<FrameSource> OpenByKind(const fs::path& input, const InputOptions& options) {
  if (IsCamera(input)) return MakeCameraSource(input, OpenCamera(input));
  if (!fs::exists(input)) throw InputError(input, "no such file or folder");
  if (fs::is_directory(input)) {
    if (IsSequenceFolder(input)) return OpenSequenceFolder(input);
    if (const auto sequence = ChooseDatasetSequence(input, options.sequence)) {
      LogInfo(sequence->path.string(), ": a sequence of ", sequence->dataset->Name());
      return sequence->dataset->Open(sequence->path, options);
    }
    // A sequence folder whose description is missing was broken off while it was written.
    if (fs::is_directory(input / "rgb"))
      throw InputError(input, "has rgb/ but no sequence.toml: an incomplete sequence folder");
    return OpenImageFolder(input);
  }
  if (!options.sequence.empty()) throw InputError(input, "is one file: there is no --sequence to choose");
  const std::string ending = ToLower(input.extension().string());
  if (ending == ".h5" || ending == ".hdf5") return OpenSageHdf5(input);
  return KeepFramesWhole(IsDicomFile(input) ? OpenDicomVideo(input) : OpenVideo(input));
}

Mask WithoutText(const fs::path& input, InputOptions options) {
  options.mask_text = false;
  return FindMaskWithoutText(*OpenInput(input, options), input);
}

// Applies the user's options to what a source knows and yields.
class SelectedSource : public FrameSource {
 public:
  SelectedSource(std::unique_ptr<FrameSource> inner, const InputOptions& options)
      : inner_(std::move(inner)), options_(options) {
    info_ = inner_->Info();
    if (options.fps > 0) ChangeRate();
    if (options.camera)
      info_.camera = options.camera;
    else if (!options.calibration.empty())
      info_.camera = LoadCalibration(options.calibration);
    else if (options.fov_degrees > 0)
      info_.camera = GuessCamera(options.fov_degrees, info_.width, info_.height);
    if (info_.camera && (info_.camera->Width() != info_.width || info_.camera->Height() != info_.height)) {
      throw InputError(options.camera ? fs::path(info_.name) : options.calibration,
                       StrCat(options.camera ? "the camera is for " : "is for ", info_.camera->Width(), "x",
                              info_.camera->Height(), " images, these are ", info_.width, "x", info_.height));
    }
    if (!options.mask.empty()) info_.mask = LoadMask(options.mask);
    if (info_.mask && (info_.mask->Width() != info_.width || info_.mask->Height() != info_.height)) {
      const fs::path where = options.mask.empty() ? fs::path(info_.name) / "mask.png" : options.mask;
      throw InputError(where, StrCat("the mask is ", info_.mask->Width(), "x", info_.mask->Height(),
                                     ", the images are ", info_.width, "x", info_.height));
    }
    if (info_.frame_count >= 0) CountFrames();
  }

  void SetMask(Mask mask) { info_.mask = std::move(mask); }

  std::optional<RawFrame> Next() override {
    const int64_t wanted = position_ == 0 ? options_.start : position_ + options_.stride - 1;
    for (; position_ < wanted; ++position_) {
      if (!inner_->Skip()) return std::nullopt;
    }
    if (options_.end >= 0 && position_ >= options_.end) return std::nullopt;
    ++position_;  // also past a frame that cannot be read
    std::optional<RawFrame> frame = inner_->Next();
    if (!frame) return std::nullopt;
    if (options_.fps > 0) frame->time = static_cast<double>(frame->index) / options_.fps;
    if (options_.swap_red_and_blue) {
      for (size_t i = 0; i + 2 < frame->image.Size(); i += 3)
        std::swap(frame->image.Data()[i], frame->image.Data()[i + 2]);
    }
    return frame;
  }

  void Stop() override { inner_->Stop(); }
  std::optional<DepthImage> LoadDepth(int64_t index) const override { return inner_->LoadDepth(index); }
  std::vector<SparsePoint> LoadPoints(int64_t index) const override { return inner_->LoadPoints(index); }
  fs::path FrameFile(int64_t index) const override {
    return options_.swap_red_and_blue ? fs::path() : inner_->FrameFile(index);
  }

 private:
  // Frames at another rate than the input's own take their true poses with them.
  void ChangeRate() {
    if (info_.truth) {
      for (TimedPose& pose : *info_.truth) pose.time *= info_.fps / options_.fps;
    }
    info_.fps = options_.fps;
  }
  void CountFrames() {
    const int64_t end = options_.end >= 0 ? std::min(options_.end, info_.frame_count) : info_.frame_count;
    info_.frame_count =
        end > options_.start ? (end - options_.start + options_.stride - 1) / options_.stride : 0;
    if (info_.frame_count == 0)
      throw InputError(StrCat("--start ", options_.start, " and --end leave no frame of ", info_.name));
  }

  std::unique_ptr<FrameSource> inner_;
  InputOptions options_;
  int64_t position_ = 0;  // of the next frame of the inner source
};

}  // namespace

bool IsCamera(const fs::path& input) { return StartsWith(input.string(), "/dev/video"); }

Camera GuessCamera(double fov_degrees, int width, int height) {
  constexpr double kWidest = 170;
  if (!(fov_degrees > 0 && fov_degrees <= kWidest))
    throw InputError(
        StrCat("--fov ", fov_degrees, ": a field of view is more than 0 and at most ", kWidest, " degrees"));
  if (Camera::IsFisheyeAngle(fov_degrees))
    LogInfo("--fov ", fov_degrees,
            ": more than a pinhole shows, so an equidistant fisheye is assumed; a calibration is better");
  return Camera::GuessFromFieldOfView(fov_degrees, width, height);
}

std::unique_ptr<FrameSource> OpenInput(const fs::path& input, const InputOptions& options) {
  LUMEN_CHECK(options.stride >= 1 && options.start >= 0);
  auto source = std::make_unique<SelectedSource>(OpenByKind(input, options), options);
  if (options.mask_text) source->SetMask(WithoutText(input, options));
  return source;
}

Camera RequireCamera(const FrameSource& source, const fs::path& input) {
  if (source.Info().camera) return *source.Info().camera;
  throw InputError(
      input,
      "nothing says what lens it was taken with. Add --fov 90 if it shows about 90 degrees from side to "
      "side (endoscopes show 70 to 170), or --calibration FILE (sequence.toml, OpenCV YAML, COLMAP "
      "cameras.txt); lumen calibrate makes one from a video of a checkerboard");
}

}  // namespace lumen
