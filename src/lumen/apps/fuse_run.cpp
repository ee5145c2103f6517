#include "lumen/apps/fuse_run.h"

#include <algorithm>
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/run_writer.h"
#include "lumen/scene/frame.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct PlacedMap {
  RunDepthFile file;
  Rigid3 world_from_camera;
};

// Keyframes by time, depth maps by frame: the events say which is which; without them their order does.
std::vector<PlacedMap> PlaceMaps(const RunFolder& run) {
  std::vector<PlacedMap> placed;
  std::map<int64_t, double> times;
  for (const RunFrameEvent& event : run.events) times[event.frame] = event.time;
  if (times.empty() && run.depth.size() == run.keyframes.size()) {
    for (size_t i = 0; i < run.depth.size(); ++i)
      placed.push_back({run.depth[i], run.keyframes[i].world_from_camera});
    return placed;
  }
  for (const RunDepthFile& file : run.depth) {
    const auto time = times.find(file.frame);
    if (time == times.end()) continue;
    const auto pose =
        std::lower_bound(run.keyframes.begin(), run.keyframes.end(), time->second - kRoundedTime,
                         [](const TimedPose& keyframe, double t) { return keyframe.time < t; });
    if (pose != run.keyframes.end() && pose->time <= time->second + kRoundedTime)
      placed.push_back({file, pose->world_from_camera});
  }
  return placed;
}

DepthView LoadView(const RunFolder& run, const PlacedMap& map) {
  DepthView view;
  view.world_from_camera = map.world_from_camera;
  const DepthImage z = LoadScaledDepth(map.file.path, *run.depth_scale);
  view.camera = *run.depth_camera->Resized(z.Width(), z.Height()).AsUnified();
  view.depth = ViewDepthOfZ(z, view.camera);
  Image<float> sigma = LoadRunSigma(run.path, map.file.frame);
  if (SameSize(sigma, view.depth)) view.sigma = std::move(sigma);
  const fs::path picture = run.path / run_file::kImages / map.file.path.filename();
  if (fs::exists(picture)) {
    view.image = LoadPng8(picture);
    if (view.image.Channels() != 3) view.image = {};
  }
  return view;
}

}  // namespace

ViewList ListRunViews(const RunFolder& run) {
  if (!run.depth_scale || !run.depth_camera || !run.depth_camera->AsUnified())
    throw InputError(run.path / run_file::kSummary,
                     "says no depth_scale and camera, so depth cannot be fused");
  auto maps = std::make_shared<const std::vector<PlacedMap>>(PlaceMaps(run));
  if (maps->empty()) throw InputError(run.path, "has no depth map whose keyframe has a place");
  auto shared = std::make_shared<const RunFolder>(run);
  return {static_cast<int>(maps->size()),
          [maps, shared](int i) { return LoadView(*shared, (*maps)[static_cast<size_t>(i)]); }};
}

void GatherRunDepth(const fs::path& path, const GatherOptions& options) {
  const RunFolder run = ReadRunFolder(path);
  const ViewList views = ListRunViews(run);
  const std::vector<PlacedMap> maps = PlaceMaps(run);
  ProgressBar progress("depth", views.count);
  GatherDepths(views, options, AvailableCores(), [&](int i, const DepthView& view) {
    const int64_t frame = maps[static_cast<size_t>(i)].file.frame;
    SaveRunDepth(path, frame, ZOfViewDepth(view.depth, view.camera));
    SaveRunSigma(path, frame, view.sigma);
    progress.Update(i + 1);
  });
  progress.Finish();
}

namespace {

FusionResult Fuse(const RunFolder& run, const ViewList& views, const FusionOptions& options) {
  ProgressBar progress("fuse", views.count);
  FusionResult result = FuseViews(views, options, AvailableCores(), [&](int done) { progress.Update(done); });
  progress.Finish();
  if (result.status != FusionStatus::kOk) throw InputError(run.path, "its depth maps give no surface");
  return result;
}

}  // namespace

FusionResult FuseRun(const RunFolder& run, const FusionOptions& options) {
  return Fuse(run, ListRunViews(run), options);
}

FusionResult FuseRunFinely(const RunFolder& run, const FusionOptions& options, const GatherOptions& gather) {
  const ViewList views = ListRunViews(run);
  ProgressBar progress("depth", views.count);
  const ViewList fine =
      GatherViews(views, gather, AvailableCores(), [&](int done) { progress.Update(done); });
  progress.Finish();
  return Fuse(run, fine, options);
}

void SaveRunSurface(const fs::path& path, const FusionOptions& options) {
  const FusionResult result = FuseRun(ReadRunFolder(path), options);
  SaveMesh(path / run_file::kSurface, result.mesh, "Lumen: in the map's unit and frame");
  LogInfo("surface of ", result.mesh.triangles.size(), " triangles: ", (path / run_file::kSurface).string());
}

void TryGatherRunDepth(const fs::path& run, const GatherOptions& options) {
  try {
    GatherRunDepth(run, options);
  } catch (const InputError& error) {
    LogWarning("depth stays as it is: ", error.what());
  }
}

void TrySaveRunSurface(const fs::path& run, const FusionOptions& options) {
  try {
    SaveRunSurface(run, options);
  } catch (const InputError& error) {
    LogWarning("no surface: ", error.what());
  }
}

}  // namespace lumen
