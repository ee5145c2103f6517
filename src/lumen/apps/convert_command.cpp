#include "lumen/apps/app.h"
#include "lumen/apps/frame_truth.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/prefetch.h"
#include "lumen/base/progress.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct ConvertOptions {
  fs::path input;
  fs::path output;
  InputOptions selection;
  std::string rectified_size;  // empty: images stay as they are
  fs::path colmap;             // a model: poses and points come from it
  int submodel = -1;
  fs::path depth_maps, mesh;  // dense depth beside it
  std::string dense;          // "lumen": of a run of our own
};

constexpr size_t kFramesAhead = 8;

// What is written of the truth: renumbered with the frames, in the pixels of the camera that is written.
class TruthWriter {
 public:
  // `source` is the camera of the frames, `target` the one that is written, if it is another.
  TruthWriter(const FrameTruths& truths, SequenceWriter& writer, double fps,
              const std::optional<Camera>& source, const std::optional<Camera>& target = std::nullopt)
      : truths_(truths), writer_(writer), fps_(fps), source_(source), target_(target) {}

  void Write(int64_t frame, double time, int64_t written) {
    const FrameTruth truth = truths_.Of(frame, time);
    if (truth.world_from_camera)
      poses_.push_back({static_cast<double>(written) / fps_, *truth.world_from_camera});
    auto points = target_ ? SeenByTarget(truth.points) : truth.points;
    if (!points.empty()) points_[written] = std::move(points);
    if (truth.depth) {
      writer_.WriteDepth(written, MapOf(*truth.depth));
      ++depths_;
    }
  }

  void Finish() {
    if (!poses_.empty()) writer_.WriteTruth(poses_);
    if (!points_.empty()) writer_.WritePoints(points_);
    if (!poses_.empty())
      LogInfo(poses_.size(), " frames have a pose, ", points_.size(), " points, ", depths_, " dense depth");
  }

 private:
  std::vector<SparsePoint> SeenByTarget(const std::vector<SparsePoint>& points) const {
    std::vector<SparsePoint> seen;
    for (SparsePoint point : points) {
      const auto uv = SeenThrough(*source_, point.uv, *target_);
      if (!uv || uv->x() < -0.5 || uv->y() < -0.5 || uv->x() > target_->Width() - 0.5 ||
          uv->y() > target_->Height() - 0.5)
        continue;
      point.uv = *uv;
      seen.push_back(point);
    }
    return seen;
  }

  // A map goes with the camera that is written, at any size; one seen through another lens is brought to it.
  DepthImage MapOf(const TrueDepth& depth) const {
    if (target_) return ResampleDepth(depth.map, depth.camera, *target_);
    if (depth.camera == source_->Resized(depth.map.Width(), depth.map.Height())) return depth.map;
    constexpr int kWidest = 320;  // a run's maps are 160 wide
    const int times = std::max(1, (source_->Width() + kWidest - 1) / kWidest);
    return ResampleDepth(depth.map, depth.camera,
                         source_->Resized(source_->Width() / times, source_->Height() / times));
  }

  const FrameTruths& truths_;
  SequenceWriter& writer_;
  double fps_;
  std::optional<Camera> source_, target_;
  Trajectory poses_;
  SparseDepth points_;
  size_t depths_ = 0;
};

// Copies frames as they are, with whatever truth there is.
int64_t CopyFrames(FrameSource& source, const FrameTruths& truths, const ConvertOptions& options) {
  const SourceInfo& info = source.Info();
  // A stride thins time out: the frames that are left follow one another at a lower rate.
  const double fps = info.fps / static_cast<double>(options.selection.stride);
  SequenceWriter writer(options.output,
                        {info.name, fps, info.units, ChooseDepthScale(truths.LargestDepth()), info.camera});
  Prefetcher<RawFrame> frames(kFramesAhead, [&] { return source.Next(); });
  ProgressBar progress("convert", info.frame_count);
  TruthWriter truth(truths, writer, fps, info.camera);
  int64_t written = 0;
  while (const auto frame = frames.Next()) {
    EndIfInterrupted();
    const fs::path file = source.FrameFile(frame->index);
    if (file.empty())
      writer.WriteFrame(written, frame->image);
    else
      writer.CopyFrame(written, file);
    truth.Write(frame->index, frame->time, written);
    progress.Update(++written);
  }
  if (info.mask) writer.WriteMask(*info.mask);
  truth.Finish();
  writer.Finish();
  return written;
}

// Writes the undistorted view at the given size: what the rest of Lumen works on. `known` is the source that
// the truths ask; the frames come from one of their own.
int64_t WriteRectified(const FrameSource& known, const FrameTruths& truths, const ConvertOptions& options) {
  const PixelSize size = ParsePixelSize(options.rectified_size);
  const SourceInfo& info = known.Info();
  const double fps = info.fps / static_cast<double>(options.selection.stride);
  InputStream stream(OpenInput(options.input, options.selection), options.input, {size.width, size.height});
  SequenceWriter writer(options.output, {info.name, fps, info.units, ChooseDepthScale(truths.LargestDepth()),
                                         stream.GetCamera()});
  ProgressBar progress("convert", info.frame_count);
  TruthWriter truth(truths, writer, fps, info.camera, stream.GetCamera());
  int64_t written = 0;
  while (const auto frame = stream.Next()) {
    EndIfInterrupted();
    writer.WriteFrame(written, frame->image);
    truth.Write(frame->index, frame->time, written);
    progress.Update(++written);
  }
  writer.WriteMask(stream.GetMask());
  truth.Finish();
  writer.Finish();
  return written;
}

// Depth by a refined run of our own over the whole input; what it leaves behind goes with `scratch`.
DenseDepth DepthFromOwnRun(const ConvertOptions& options, const Camera& camera, const fs::path& scratch,
                           const std::atomic<bool>& stop) {
  RunOptions run;
  run.input = options.input;
  run.output = scratch / "run";
  run.selection = options.selection;
  run.selection.start = 0;
  run.selection.end = -1;
  run.selection.stride = 1;
  run.refine = true;
  const RunOutcome outcome = RunSequence(run, stop);
  EndIfInterrupted();
  LogInfo(outcome.placed, " of ", outcome.frames, " frames placed, ", outcome.keyframes, " with depth");
  GatherRunDepth(run.output, run.config.depth);
  return DepthFromRun(run.output, camera);
}

// What is asked for depth where there is no better; null: nothing.
DenseDepth ChooseDense(const ConvertOptions& options, const FrameSource& source,
                       const std::optional<ColmapModel>& model, const fs::path& scratch,
                       const std::atomic<bool>& stop) {
  if (!options.depth_maps.empty()) return DepthFromMaps(options.depth_maps, *model);
  if (!options.mesh.empty())
    return DepthFromMesh(LoadMesh(options.mesh), RequireCamera(source, options.input));
  if (!options.dense.empty())
    return DepthFromOwnRun(options, RequireCamera(source, options.input), scratch, stop);
  return nullptr;
}

std::string Counted(const ColmapMatch& match, const ColmapModel& model) {
  return StrCat(model.folder.string(), ": ", match.placed, " of ", match.frames, " images placed",
                match.missing > 0 ? StrCat("; ", match.missing, " images of the model are not there") : "");
}

void RequireOneDense(const ConvertOptions& options) {
  const int wanted =
      (options.depth_maps.empty() ? 0 : 1) + (options.mesh.empty() ? 0 : 1) + (options.dense.empty() ? 0 : 1);
  if (wanted > 1) throw InputError("give one of --depth-maps, --mesh and --dense");
  if (options.colmap.empty() && (!options.depth_maps.empty() || options.submodel >= 0))
    throw InputError("--depth-maps and --submodel go with --colmap");
}

void RunConvert(ConvertOptions options) {
  RequireOneDense(options);
  RequireFreshSequence(options.output);
  const std::atomic<bool>& stop = CatchInterrupts();  // what was begun goes
  std::optional<ColmapModel> model;
  if (!options.colmap.empty()) {
    model = LoadColmapModel(options.colmap, options.submodel);
    options.selection.camera = model->camera;
  }
  const std::unique_ptr<FrameSource> source = OpenInput(options.input, options.selection);
  const TemporaryFolder scratch;  // a run's depth maps are read when they are asked for
  std::unique_ptr<FrameTruths> truths;
  // Names are compared before anything long begins.
  if (model) LogInfo(Counted(MakeColmapTruths(*source, *model, nullptr), *model));
  DenseDepth dense = ChooseDense(options, *source, model, scratch.Path(), stop);
  truths = model ? MakeColmapTruths(*source, *model, std::move(dense)).truths
                 : MakeSourceTruths(*source, std::move(dense));
  const int64_t written = options.rectified_size.empty() ? CopyFrames(*source, *truths, options)
                                                         : WriteRectified(*source, *truths, options);
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
  command.Add("--colmap", options->colmap,
              "COLMAP's model of these images (text or binary): camera, poses and depth at its points");
  command.Add("--submodel", options->submodel, "of several models, instead of the largest").NotNegative();
  command.Add("--depth-maps", options->depth_maps, "dense depth from COLMAP's stereo/depth_maps");
  command.Add("--mesh", options->mesh, "dense depth from a surface in the poses' frame");
  command.Add("--dense", options->dense, "lumen: dense depth from a refined run, scaled to the points")
      .OneOf({"lumen"});
  AddInputOptions(command, options->selection);
  command.Do([options] { RunConvert(*options); });
}

}  // namespace lumen
