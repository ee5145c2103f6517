#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/base/log.h"
#include "lumen/base/prefetch.h"
#include "lumen/base/progress.h"
#include "lumen/image/resize.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace {

struct ConvertOptions {
  std::filesystem::path input;
  std::filesystem::path output;
  InputOptions selection;
  std::string rectified_size;  // empty: images stay as they are
};

constexpr size_t kFramesAhead = 8;

// Poses of the frames that were written, renumbered with them.
class TruthSelector {
 public:
  TruthSelector(const SourceInfo& info, double fps) : truth_(info.truth), fps_(fps), source_fps_(info.fps) {}
  void Add(const RawFrame& frame, int64_t written) {
    if (!truth_) return;
    for (const TimedPose& pose : *truth_) {
      if (std::abs(pose.time - static_cast<double>(frame.index) / source_fps_) > 0.5e-3) continue;
      selected_.push_back({static_cast<double>(written) / fps_, pose.world_from_camera});
      return;
    }
  }
  const Trajectory& Selected() const { return selected_; }

 private:
  std::optional<Trajectory> truth_;
  double fps_;
  double source_fps_;
  Trajectory selected_;
};

// Copies frames as they are, with whatever truth the input has.
int64_t CopyFrames(FrameSource& source, const std::filesystem::path& output, int64_t stride) {
  const SourceInfo& info = source.Info();
  // A stride thins time out: the frames that are left follow one another at a lower rate.
  const double fps = info.fps / static_cast<double>(stride);
  constexpr double kDepthScale = 1000;
  SequenceWriter writer(output, {info.name, fps, info.units, kDepthScale, info.camera});
  Prefetcher<RawFrame> frames(kFramesAhead, [&] { return source.Next(); });
  ProgressBar progress("convert", info.frame_count);
  TruthSelector truth(info, fps);
  int64_t written = 0;
  while (const auto frame = frames.Next()) {
    writer.WriteFrame(written, frame->image);
    if (const auto depth = source.LoadDepth(frame->index)) writer.WriteDepth(written, *depth);
    truth.Add(*frame, written);
    progress.Update(++written);
  }
  if (info.mask) writer.WriteMask(*info.mask);
  if (!truth.Selected().empty()) writer.WriteTruth(truth.Selected());
  writer.Finish();
  return written;
}

// Writes the undistorted view at the given size: what the rest of Lumen works on.
int64_t WriteRectified(std::unique_ptr<FrameSource> source, const ConvertOptions& options) {
  const PixelSize size = ParsePixelSize(options.rectified_size);
  const double fps = source->Info().fps / static_cast<double>(options.selection.stride);
  InputStream stream(std::move(source), options.input, {size.width, size.height});
  SequenceWriter writer(options.output,
                        {stream.Info().name, fps, stream.Info().units, 1000, stream.GetCamera()});
  ProgressBar progress("convert", stream.Info().frame_count);
  TruthSelector truth(stream.Info(), fps);
  int64_t written = 0;
  while (const auto frame = stream.Next()) {
    writer.WriteFrame(written, frame->image);
    truth.Add({frame->index, frame->time, {}}, written);
    progress.Update(++written);
  }
  writer.WriteMask(stream.GetMask());
  if (!truth.Selected().empty()) writer.WriteTruth(truth.Selected());
  writer.Finish();
  return written;
}

void RunConvert(const ConvertOptions& options) {
  std::unique_ptr<FrameSource> source = OpenInput(options.input, options.selection);
  const int64_t written = options.rectified_size.empty()
                              ? CopyFrames(*source, options.output, options.selection.stride)
                              : WriteRectified(std::move(source), options);
  LogInfo("wrote ", written, " frames to ", options.output.string());
}

}  // namespace

void AddConvertCommand(Command& app) {
  Command& command = app.AddCommand("convert", "turn any readable input into a sequence folder");
  auto options = std::make_shared<ConvertOptions>();
  command.Add("INPUT", options->input, "sequence folder, folder of images, video, SAGE HDF5, /dev/videoN")
      .Required();
  command.Add("OUT", options->output, "folder to write; must be absent or empty").Required();
  command.Add("--rectify", options->rectified_size,
              "write the undistorted view at this size (e.g. 160x128) instead of the images as they are");
  AddInputOptions(command, options->selection);
  command.Do([options] { RunConvert(*options); });
}

}  // namespace lumen
