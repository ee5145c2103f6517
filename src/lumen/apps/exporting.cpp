#include "lumen/apps/exporting.h"

#include <algorithm>
#include <map>

#include "lumen/apps/export_points.h"
#include "lumen/apps/interrupt.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/image/resize.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/png.h"
#include "lumen/io/rectifier.h"
#include "lumen/io/run_keyframes.h"
#include "lumen/io/run_writer.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kWidestHalf = 50;        // degrees: beyond that a pinhole spreads few pixels over many
constexpr int kFinest = 8, kMatched = 4;  // times the view's size: of pictures, and of those matched in

// Content no farther off the axis than a pinhole shows well.
Mask NarrowContent(Mask content, const Camera& camera) {
  const double least = std::cos(kWidestHalf * M_PI / 180);
  for (int y = 0; y < content.Height(); ++y) {
    for (int x = 0; x < content.Width(); ++x) {
      if (content(x, y) == 0) continue;
      const auto ray = camera.Unproject({x, y});
      if (!ray || ray->normalized().z() < least) content(x, y) = 0;
    }
  }
  return content;
}

// Pictures by frame number, undistorted. Asked for in order of their numbers.
class Pictures {
 public:
  virtual ~Pictures() = default;
  virtual std::optional<RgbImage> Find(int64_t frame) = 0;
  const Rectifier& GetRectifier() const { return *rectifier_; }

 protected:
  void Undistort(const Camera& camera, const Mask& content, const Camera& view) {
    int times = 1;
    while (times < kFinest && 2 * times * view.Width() <= camera.Width()) times *= 2;
    RectifierOptions options;
    options.width = times * view.Width();
    options.height = times * view.Height();
    options.alpha = 0;
    rectifier_ = std::make_unique<Rectifier>(camera, NarrowContent(content, camera), options);
  }
  std::unique_ptr<Rectifier> rectifier_;
};

class PicturesOfInput : public Pictures {
 public:
  PicturesOfInput(const RunFolder& run, const fs::path& input)
      : source_(OpenInput(input, InputOptionsOf(run.summary))) {
    const Camera camera = RequireCamera(*source_, input);
    std::vector<RawFrame> peeked;
    const Mask mask = FindMask(*source_, peeked);
    for (RawFrame& frame : peeked) waiting_.emplace(frame.index, std::move(frame.image));
    Undistort(camera, mask, *run.depth_camera);
  }
  std::optional<RgbImage> Find(int64_t frame) override {
    while (waiting_.empty() || waiting_.rbegin()->first < frame) {
      waiting_.clear();
      std::optional<RawFrame> next = source_->Next();
      if (!next) return std::nullopt;
      waiting_.emplace(next->index, std::move(next->image));
    }
    const auto found = waiting_.find(frame);
    if (found == waiting_.end()) return std::nullopt;
    RgbImage picture = rectifier_->Apply(found->second);
    waiting_.erase(waiting_.begin(), found);  // this one may be the last that was read
    return picture;
  }

 private:
  std::unique_ptr<FrameSource> source_;
  std::map<int64_t, RgbImage> waiting_;
};

class PicturesOfRun : public Pictures {
 public:
  explicit PicturesOfRun(const RunFolder& run) {
    for (const RunKeyframe& keyframe : ListRunKeyframes(run))
      if (!keyframe.image.empty()) files_[keyframe.frame] = keyframe.image;
    if (files_.empty()) throw InputError(run.path, "has no pictures, and its input cannot be read");
    const Image<uint8_t> first = LoadPng8(files_.begin()->second);
    const Camera camera = run.depth_camera->Resized(first.Width(), first.Height());
    Undistort(camera, Mask(first.Width(), first.Height(), 1, 255), *run.depth_camera);
  }
  std::optional<RgbImage> Find(int64_t frame) override {
    const auto found = files_.find(frame);
    return found == files_.end() ? std::nullopt : std::optional(rectifier_->Apply(LoadPng8(found->second)));
  }

 private:
  std::map<int64_t, fs::path> files_;
};

std::unique_ptr<Pictures> OpenPictures(const RunFolder& run, bool from_input) {
  const Json* input = run.summary.Find(run_key::kInput);
  if (from_input && input != nullptr && input->IsString() && !IsCamera(input->AsString())) {
    try {
      return std::make_unique<PicturesOfInput>(run, input->AsString());
    } catch (const InputError& error) {
      LogWarning(error.what(), ": the keyframes' pictures in the run are taken instead");
    }
  }
  return std::make_unique<PicturesOfRun>(run);
}

RgbImage Smaller(const RgbImage& image, int width, int height) {
  return image.Width() == width ? image : ResizeArea(image.View(), width, height);
}

void SaveExportedDepth(const fs::path& path, const DepthImage& depth) {
  constexpr float kSteps = 1000;
  Image<uint16_t> stored(depth.Width(), depth.Height());
  for (size_t i = 0; i < depth.Size(); ++i)
    stored.Data()[i] = static_cast<uint16_t>(std::clamp(std::lround(depth.Data()[i] * kSteps), 0L, 65535L));
  SavePng(path, stored);
}

}  // namespace

std::vector<PlacedRunFrame> ListPlacedFrames(const RunFolder& run) {
  std::vector<PlacedRunFrame> placed;
  auto event = run.events.begin();
  for (const TimedPose& pose : run.frames) {
    while (event != run.events.end() && event->time < pose.time - kRoundedTime) ++event;
    if (event == run.events.end() || event->time > pose.time + kRoundedTime) continue;
    placed.push_back({event->frame, event->time, pose.world_from_camera, event->keyframe,
                      FrameStatusName(event->status), event->reason});
  }
  return placed;
}

namespace {

// A run's frames on their way into a scene, one picture after the other.
class SceneMaker {
 public:
  SceneMaker(const RunFolder& run, const SceneOptions& options, const fs::path& out)
      : options_(options),
        out_(out),
        pictures_(OpenPictures(run, options.input)),
        view_camera_(*run.depth_camera),
        depth_scale_(*run.depth_scale) {
    scene_.camera = pictures_->GetRectifier().TargetCamera();
    const int times = std::min(kMatched, scene_.camera.Width() / view_camera_.Width());
    matched_ = scene_.camera.Resized(times * view_camera_.Width(), times * view_camera_.Height());
    // MakeView takes pictures of twice the maps' size.
    const Camera twice = scene_.camera.Resized(2 * view_camera_.Width(), 2 * view_camera_.Height());
    const Mask& content = pictures_->GetRectifier().TargetMask();
    view_ = MakeView(twice, ResizeNearest(content.View(), twice.Width(), twice.Height()));
    if (options.pictures) {
      MakeDirectories(out / "images");
      SavePng(out / "mask.png", content.View());
      scene_.has_mask = true;
    }
    if (options.depth) MakeDirectories(out / "depth");
  }

  // In order of their numbers; `depth` is empty where the frame has none.
  void Add(int64_t frame, const Rigid3& pose, const fs::path& depth) {
    const std::optional<RgbImage> picture = pictures_->Find(frame);
    if (!picture) return;
    const std::string name = RunDepthName(frame);
    if (options_.pictures) SavePng(out_ / "images" / name, picture->View());
    scene_.images.push_back({name, pose, {}, false});
    if (!depth.empty()) AddDepth(name, pose, *picture, LoadScaledDepth(depth, depth_scale_));
  }

  ExportedScene Finish() {
    AddMatchedPoints(views_, images_, *matched_.AsPinhole(), {}, scene_, AvailableCores());
    return std::move(scene_);
  }

 private:
  void AddDepth(const std::string& name, const Rigid3& pose, const RgbImage& picture,
                const DepthImage& depth) {
    const Camera depth_camera = view_camera_.Resized(depth.Width(), depth.Height());
    if (options_.depth) {
      SaveExportedDepth(out_ / "depth" / name, ResampleDepth(depth, depth_camera, scene_.camera));
      scene_.images.back().has_depth = true;
    }
    const Camera small = scene_.camera.Resized(view_camera_.Width(), view_camera_.Height());
    views_.push_back(MakePointedView(pose, view_, Smaller(picture, matched_.Width(), matched_.Height()),
                                     ResampleDepth(depth, depth_camera, small),
                                     ExportPointOptions().corners));
    images_.push_back(scene_.images.size() - 1);
  }

  SceneOptions options_;
  fs::path out_;
  std::unique_ptr<Pictures> pictures_;
  Camera view_camera_;
  double depth_scale_;
  Camera matched_;  // of the pictures that points are found in
  std::shared_ptr<const View> view_;
  ExportedScene scene_;
  std::vector<PointedView> views_;
  std::vector<size_t> images_;
};

}  // namespace

ExportedScene ExportScene(const RunFolder& run, const SceneOptions& options, const fs::path& out) {
  if (!run.depth_camera || !run.depth_scale)
    throw InputError(run.path / run_file::kSummary,
                     "says no depth_scale and camera: there is nothing to export yet");
  struct Wanted {
    Rigid3 pose;
    fs::path depth;
  };
  std::map<int64_t, Wanted> wanted;
  for (const RunKeyframe& keyframe : ListRunKeyframes(run))
    wanted[keyframe.frame] = {keyframe.world_from_camera, keyframe.depth};
  if (wanted.empty()) throw InputError(run.path, "has no keyframes");
  if (options.all_frames)
    for (const PlacedRunFrame& frame : ListPlacedFrames(run))
      wanted.emplace(frame.frame, Wanted{frame.world_from_camera, {}});
  SceneMaker maker(run, options, out);
  ProgressBar progress("pictures", static_cast<int64_t>(wanted.size()));
  int64_t done = 0;
  for (const auto& [frame, one] : wanted) {
    EndIfInterrupted();
    maker.Add(frame, one.pose, one.depth);
    progress.Update(++done);
  }
  progress.Finish();
  ExportedScene scene = maker.Finish();
  if (scene.images.empty()) throw InputError(run.path, "none of its frames is in its input any more");
  return scene;
}

}  // namespace lumen
