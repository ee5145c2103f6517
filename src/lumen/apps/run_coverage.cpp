#include "lumen/apps/run_coverage.h"

#include <cmath>
#include <map>

#include "lumen/apps/coverage_words.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/registering.h"
#include "lumen/base/error.h"
#include "lumen/io/mesh_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::vector<CoverageFrame> ListCoverageFrames(const RunFolder& run) {
  std::map<double, int64_t> numbers;
  for (const RunFrameEvent& event : run.events) numbers[event.time] = event.frame;
  std::vector<CoverageFrame> frames;
  for (const TimedPose& pose : run.frames) {
    const auto number = numbers.lower_bound(pose.time - kRoundedTime);
    const bool known = number != numbers.end() && number->first <= pose.time + kRoundedTime;
    frames.push_back(
        {known ? number->second : static_cast<int64_t>(frames.size()), pose.time, pose.world_from_camera});
  }
  return frames;
}

CoverageInput InputOf(const RunFolder& run) {
  CoverageInput input{ListRunViews(run), ListCoverageFrames(run), {}};
  input.eye.camera = *run.depth_camera;
  return input;
}

// The same as seen from another world.
CoverageInput Carried(const CoverageInput& input, const Sim3& world_from_run) {
  CoverageInput carried = input;
  for (CoverageFrame& frame : carried.frames)
    frame.world_from_camera = world_from_run.TransformPose(frame.world_from_camera);
  carried.views.load = [inner = input.views.load, world_from_run](int i) {
    const auto scale = static_cast<float>(world_from_run.Scale());
    DepthView view = inner(i);
    view.world_from_camera = world_from_run.TransformPose(view.world_from_camera);
    for (size_t k = 0; k < view.depth.Size(); ++k) view.depth.Data()[k] *= scale;
    return view;
  };
  return carried;
}

}  // namespace

WallCoverage MeasureRunCoverage(const RunFolder& run, const CoverageOptions& options, int threads,
                                const std::atomic<bool>* stop) {
  const fs::path surface = run.path / run_file::kSurface;
  if (!fs::is_regular_file(surface)) throw InputError(run.path, "has no surface.ply; `lumen fuse` makes one");
  CoverageInput input = InputOf(run);
  input.views.load = [load = input.views.load, stop](int i) {
    if (stop != nullptr && *stop) throw CoverageStopped();
    return load(i);
  };
  return MeasureCoverage(LoadMesh(surface), input, options, threads);
}

WallCoverage MeasureCtCoverage(const RunFolder& run, const RegisteredWall& registered,
                               CoverageOptions options, int threads) {
  const fs::path surface = run.path / run_file::kSurface;
  if (!fs::is_regular_file(surface)) throw InputError(run.path, "has no surface.ply; `lumen fuse` makes one");
  options.mm_per_unit = 1;
  const CoverageInput input = Carried(InputOf(run), registered.wall_from_run);
  const TriangleTree tree(registered.wall);
  const std::vector<ArcCurve> ways = FindWaysThrough(tree, input.frames);
  double near = 0;
  for (const CoverageFrame& frame : input.frames) {
    const auto hit =
        tree.FindNearest(frame.world_from_camera.Translation(), std::numeric_limits<double>::max());
    if (hit) near += std::sqrt(hit->cost) / static_cast<double>(input.frames.size());
  }
  // What is off at the surface is off by that share of the usual distance to it.
  const double slack = near > 0 ? registered.residual / (2 * near) : 0;
  return MeasureCoverageOf(registered.wall, ways, input, options, slack, threads);
}

namespace {

fs::path RegistrationFile(const fs::path& registration) {
  return fs::is_directory(registration) ? registration / "registration.json" : registration;
}

}  // namespace

int RegisteredCavity(const fs::path& registration) {
  const Json* cavity = Json::Load(RegistrationFile(registration)).Find("cavity");
  return cavity != nullptr && cavity->IsNumber() ? static_cast<int>(cavity->AsDouble()) : -1;
}

RegisteredWall LoadRegisteredWall(const fs::path& registration, TriangleMesh model) {
  const fs::path file = RegistrationFile(registration);
  const Json json = Json::Load(file);
  const Json* transform = json.Find("transform");
  if (transform == nullptr || !transform->IsArray()) throw InputError(file, "holds no registration");
  const Json* residual = json.Find("residual_mean_mm");
  return {std::move(model), RegisteredTransform(json, file),
          residual != nullptr && residual->IsNumber() ? residual->AsDouble() : 0};
}

double ToldMillimetres(const RunFolder& run) {
  const fs::path file = run.path / coverage_file::kJson;
  if (!fs::is_regular_file(file)) return 0;
  const Json json = Json::Load(file);
  const Json* mm = json.Find("mm_per_unit");
  return mm != nullptr && mm->IsNumber() && mm->AsDouble() > 0 ? mm->AsDouble() : 0;
}

}  // namespace lumen
