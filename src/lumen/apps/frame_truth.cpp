#include "lumen/apps/frame_truth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "lumen/apps/agreed_frames.h"
#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/association.h"
#include "lumen/eval/statistics.h"
#include "lumen/io/rectifier.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

float LargestOf(const DepthImage& depth) {
  return depth.Size() > 0 ? *std::max_element(depth.Data(), depth.Data() + depth.Size()) : 0.0F;
}

class SourceTruths : public FrameTruths {
 public:
  SourceTruths(const FrameSource& source, DenseDepth dense)
      : source_(source), dense_(std::move(dense)), max_gap_(std::min(kMaxTimeGap, 0.4 / source.Info().fps)) {}

  FrameTruth Of(int64_t frame, double time) const override {
    FrameTruth truth;
    const SourceInfo& info = source_.Info();
    if (info.truth) {
      if (const TimedPose* pose = FindPose(*info.truth, time, max_gap_))
        truth.world_from_camera = pose->world_from_camera;
    }
    truth.points = source_.LoadPoints(frame);
    auto depth = source_.LoadDepth(frame);
    if (depth && info.camera) {
      const Camera camera = info.camera->Resized(depth->Width(), depth->Height());
      truth.depth = TrueDepth{std::move(*depth), camera};
    } else if (dense_ && truth.world_from_camera) {
      truth.depth = dense_(frame, {"", *truth.world_from_camera, truth.points});
    }
    return truth;
  }

  // Of some frames: the depth of thousands need not be read twice.
  double LargestDepth() const override {
    constexpr int64_t kLooks = 24;
    const int64_t count = std::max<int64_t>(1, source_.Info().frame_count);
    float largest = 0;
    for (int64_t k = 0; k < std::min(count, kLooks); ++k) {
      const int64_t frame = k * count / std::min(count, kLooks);
      if (const auto depth = source_.LoadDepth(frame)) largest = std::max(largest, LargestOf(*depth));
      for (const SparsePoint& point : source_.LoadPoints(frame))
        largest = std::max(largest, dense_ ? static_cast<float>(point.depth) : 0.0F);
    }
    return 1.5 * static_cast<double>(largest);
  }

 private:
  const FrameSource& source_;
  DenseDepth dense_;
  double max_gap_;
};

class ColmapTruths : public FrameTruths {
 public:
  ColmapTruths(ColmapModel model, std::map<int64_t, size_t> views, DenseDepth dense)
      : model_(std::move(model)), views_(std::move(views)), dense_(std::move(dense)) {}

  FrameTruth Of(int64_t frame, double /*time*/) const override {
    const auto found = views_.find(frame);
    if (found == views_.end()) return {};
    const ColmapView& view = model_.views[found->second];
    return {view.world_from_camera, view.points, dense_ ? dense_(frame, view) : std::nullopt};
  }

  double LargestDepth() const override {
    double largest = 0;
    for (const ColmapView& view : model_.views) {
      for (const SparsePoint& point : view.points) largest = std::max(largest, point.depth);
    }
    return dense_ ? 2 * largest : 0;
  }

 private:
  ColmapModel model_;
  std::map<int64_t, size_t> views_;  // by frame
  DenseDepth dense_;
};

// Which of the model's images a file is: the one whose whole name the path ends with, else the only one
// called like the file.
class NameFinder {
 public:
  explicit NameFinder(const ColmapModel& model) : model_(model) {
    for (size_t i = 0; i < model.views.size(); ++i)
      by_file_[fs::path(model.views[i].name).filename().string()].push_back(i);
  }
  std::optional<size_t> Find(const fs::path& file) const {
    const auto found = by_file_.find(file.filename().string());
    if (found == by_file_.end()) return std::nullopt;
    const std::string whole = fs::absolute(file).lexically_normal().string();
    for (const size_t i : found->second) {
      if (EndsWith(whole, "/" + model_.views[i].name)) return i;
    }
    return found->second.size() == 1 ? std::optional(found->second.front()) : std::nullopt;
  }

 private:
  const ColmapModel& model_;
  std::unordered_map<std::string, std::vector<size_t>> by_file_;
};

}  // namespace

std::unique_ptr<FrameTruths> MakeSourceTruths(const FrameSource& source, DenseDepth dense) {
  return std::make_unique<SourceTruths>(source, std::move(dense));
}

ColmapMatch MakeColmapTruths(const FrameSource& source, ColmapModel model, DenseDepth dense) {
  const NameFinder names(model);
  std::map<int64_t, size_t> views;
  std::vector<bool> used(model.views.size(), false);
  ColmapMatch match;
  // Sequence folders may begin with any number.
  int64_t first = 0;
  constexpr int64_t kFarthestStart = 1000000;
  while (first < kFarthestStart && source.FrameFile(first).empty()) ++first;
  for (int64_t frame = first; !source.FrameFile(frame).empty(); ++frame) {
    ++match.frames;
    const auto view = names.Find(source.FrameFile(frame));
    if (!view || used[*view]) continue;
    used[*view] = true;
    views[frame] = *view;
  }
  if (match.frames == 0)
    throw InputError(source.Info().name, "--colmap needs the folder of images that COLMAP was given");
  match.placed = static_cast<int64_t>(views.size());
  match.missing = static_cast<int64_t>(model.views.size()) - match.placed;
  if (views.empty())
    throw InputError(model.folder, StrCat("none of its ", model.views.size(), " images (",
                                          model.views.front().name, ", …) is in ", source.Info().name));
  match.truths = std::make_unique<ColmapTruths>(std::move(model), std::move(views), std::move(dense));
  return match;
}

DenseDepth DepthFromMaps(const fs::path& folder, const ColmapModel& model) {
  if (model.camera.AsPinhole() == nullptr)
    throw InputError(model.folder,
                     "COLMAP's depth maps belong to undistorted images: give those, and the model that "
                     "image_undistorter wrote beside them");
  const auto find = [folder](const std::string& name) {
    for (const char* kind : {".geometric.bin", ".photometric.bin"}) {
      fs::path file = folder / (name + kind);
      if (fs::is_regular_file(file)) return file;
    }
    return fs::path();
  };
  const bool any = std::any_of(model.views.begin(), model.views.end(),
                               [&](const ColmapView& view) { return !find(view.name).empty(); });
  if (!any) throw InputError(folder, "holds no depth map (NAME.geometric.bin) of the model's images");
  return [find, camera = model.camera](int64_t, const ColmapView& view) -> std::optional<TrueDepth> {
    const fs::path file = find(view.name);
    if (file.empty()) return std::nullopt;
    DepthImage map = LoadColmapDepthMap(file);
    const Camera small = camera.Resized(map.Width(), map.Height());
    return TrueDepth{std::move(map), small};
  };
}

DenseDepth DepthFromMesh(const TriangleMesh& mesh, const Camera& whole) {
  // Finer than the networks' maps; the pictures may be much finer than any surface.
  constexpr int kWidest = 320;
  const int times = std::max(1, (whole.Width() + kWidest - 1) / kWidest);
  const Camera camera = whole.Resized(whole.Width() / times, whole.Height() / times);
  auto tree = std::make_shared<const TriangleTree>(mesh);
  return [tree, camera](int64_t, const ColmapView& view) -> std::optional<TrueDepth> {
    TrueDepth depth{DepthImage(camera.Width(), camera.Height()), camera};
    ParallelFor(camera.Height(), AvailableCores(), [&](int64_t row) {
      const int y = static_cast<int>(row);
      for (int x = 0; x < camera.Width(); ++x) {
        const auto ray = camera.Unproject({x, y});
        if (!ray) continue;
        const auto distance =
            tree->FindFirst(view.world_from_camera.Translation(), view.world_from_camera.Rotation() * *ray);
        if (distance) depth.map(x, y) = static_cast<float>(std::max(0.0, *distance * ray->z()));
      }
    });
    return depth;
  };
}

namespace {

// The factor that brings a map to the points' depth; nothing where too few are seen or they do not agree.
std::optional<double> ScaleToPoints(const TrueDepth& depth, const Camera& camera,
                                    const std::vector<SparsePoint>& points) {
  constexpr size_t kLeastPoints = 15;
  constexpr double kMostSpread = 0.25;  // median distance of the logarithms from their middle
  std::vector<double> logs;
  for (const SparsePoint& point : points) {
    const auto uv = SeenThrough(camera, point.uv, depth.camera);
    if (!uv) continue;
    const auto x = static_cast<int>(std::lround(uv->x()));
    const auto y = static_cast<int>(std::lround(uv->y()));
    if (depth.map.Contains(x, y) && depth.map(x, y) > 0)
      logs.push_back(std::log(point.depth / static_cast<double>(depth.map(x, y))));
  }
  if (logs.size() < kLeastPoints) return std::nullopt;
  const double middle = Quantile(logs, 0.5);
  for (double& value : logs) value = std::abs(value - middle);
  if (Quantile(logs, 0.5) > kMostSpread) return std::nullopt;
  return std::exp(middle);
}

}  // namespace

DenseDepth DepthFromRun(const fs::path& path, const Camera& camera) {
  auto run = std::make_shared<const AgreedFrames>(path);
  return [run, camera](int64_t frame, const ColmapView& view) -> std::optional<TrueDepth> {
    std::optional<DepthImage> map = run->DepthOf(frame);
    if (!map) return std::nullopt;
    TrueDepth depth{std::move(*map), run->DepthCamera()};
    const auto factor = ScaleToPoints(depth, camera, view.points);
    if (!factor) return std::nullopt;
    for (size_t i = 0; i < depth.map.Size(); ++i) depth.map.Data()[i] *= static_cast<float>(*factor);
    return depth;
  };
}

}  // namespace lumen
