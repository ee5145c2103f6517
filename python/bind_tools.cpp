// Whole runs, grades, registration, trajectories and parameters.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <atomic>
#include <chrono>
#include <future>

#include "arrays.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/registering.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/trajectory_error.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/trajectory_file.h"
#include "objects.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;

// Python hears of Ctrl-C only when it is asked: every tenth of a second. What was placed by then is written.
RunOutcome RunUntilInterrupted(const RunOptions& options) {
  std::atomic<bool> stop = false;
  auto work = std::async(std::launch::async, [&] { return RunSequence(options, stop); });
  while (work.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    const py::gil_scoped_acquire locked;
    if (stop || PyErr_CheckSignals() == 0) continue;
    const py::error_already_set interrupt;
    stop = true;
    {
      const py::gil_scoped_release unlocked;
      work.wait();
    }
    throw interrupt;
  }
  return work.get();
}

py::dict RunVideo(const fs::path& input, const fs::path& out, const py::object& camera, double fov,
                  const std::string& model, const py::object& config, bool deterministic, bool surface) {
  RunOptions options;
  options.input = input;
  options.output = out;
  options.model = model;
  options.deterministic = deterministic;
  SetLens(camera, fov, options.selection);
  ApplyConfig(config, options.config);
  RunOutcome outcome;
  {
    const py::gil_scoped_release unlocked;
    outcome = RunUntilInterrupted(options);
    if (options.config.depth.views > 0) GatherRunDepth(out, options.config.depth);
    if (surface) SaveRunSurface(out, options.config.fusion);
  }
  py::dict counts;
  counts["frames"] = outcome.frames;
  counts["placed"] = outcome.placed;
  counts["keyframes"] = outcome.keyframes;
  return counts;
}

py::dict ReadRun(const fs::path& path) {
  const RunFolder run = ReadRunFolder(path);
  py::dict read;
  read["frames"] = ToArrays(run.frames);
  read["keyframes"] = ToArrays(run.keyframes);
  read["summary"] = ToPython(run.summary);
  read["finished"] = run.finished;
  py::list events;
  for (const RunFrameEvent& event : run.events) {
    py::dict one;
    one["frame"] = event.frame;
    one["time"] = event.time;
    one["status"] = FrameStatusName(event.status);
    one["reason"] = event.reason;
    one["keyframe"] = event.keyframe;
    events.append(one);
  }
  read["events"] = events;
  const fs::path surface = path / run_file::kSurface;
  read["surface"] =
      fs::exists(surface) ? py::cast(std::make_shared<TriangleMesh>(LoadMesh(surface))) : py::none();
  return read;
}

// Grades as `lumen eval` computes them; lengths in the truth's unit.
py::dict Evaluate(const py::object& estimate, const py::object& truth, int step, double max_gap) {
  TrajectoryErrorOptions options;
  options.step_poses = step;
  if (max_gap > 0) options.max_time_gap = max_gap;
  const TrajectoryErrors errors =
      ComputeTrajectoryErrors(CopyTrajectory(estimate), CopyTrajectory(truth), options);
  if (errors.status != TrajectoryStatus::kGood) throw InputError("cannot be graded: " + errors.reason);
  py::dict grades;
  grades["poses"] = errors.poses.size();
  grades["ate_trans"] = errors.ate_translation;
  grades["ate_rot_degrees"] = errors.ate_rotation_degrees;
  grades["path_length"] = errors.path_length;
  grades["scale"] = errors.truth_from_estimate.Scale();
  grades["truth_from_estimate"] = ToArray(errors.truth_from_estimate.Matrix());
  if (errors.relative) {
    grades["rpe_trans"] = errors.relative->translation;
    grades["rpe_rot_degrees"] = errors.relative->rotation_degrees;
    grades["drift_percent"] = errors.relative->drift_percent;
  }
  const auto count = static_cast<py::ssize_t>(errors.poses.size());
  py::array_t<double> times(count), distances(count), angles(count);
  for (py::ssize_t i = 0; i < count; ++i) {
    const PoseError& pose = errors.poses[static_cast<size_t>(i)];
    times.mutable_at(i) = pose.time;
    distances.mutable_at(i) = pose.translation;
    angles.mutable_at(i) = pose.rotation_degrees;
  }
  grades["times"] = times;
  grades["errors"] = distances;
  grades["errors_degrees"] = angles;
  return grades;
}

MeshObject MeshOrFile(const py::object& object, const std::function<TriangleMesh(const fs::path&)>& load) {
  if (py::isinstance<TriangleMesh>(object)) return py::cast<MeshObject>(object);
  const fs::path path = std::string(py::str(object));
  const py::gil_scoped_release unlocked;
  return std::make_shared<TriangleMesh>(load(path));
}

// A mesh, its file or a run's folder, to a mesh, its file or a CT.
py::dict Register(const py::object& surface, const py::object& model, const py::object& guess,
                  const py::object& threshold, int cavity, const py::object& config) {
  AppConfig resolved;
  ApplyConfig(config, resolved);
  RegistrationInput input;
  const auto moved = MeshOrFile(surface, [&](const fs::path& path) {
    input = LoadRegistrationInput(path, resolved.fusion);
    return input.surface;
  });
  RegistrationModel ct;
  ModelChoice choice;
  if (!threshold.is_none()) choice.threshold = py::cast<double>(threshold);
  choice.cavity = cavity;
  const auto fixed = MeshOrFile(model, [&](const fs::path& path) {
    choice.path = path;
    ct = LoadRegistrationModel(choice);
    return ct.wall;
  });
  const std::optional<Sim3> start =
      guess.is_none() ? std::nullopt : std::optional(ToSimilarity(CopyMatrix(guess), "guess"));
  SurfaceRegistration found;
  RegistrationPlace place;
  {
    const py::gil_scoped_release unlocked;
    found = RegisterSurface(*moved, *fixed, start, resolved.registration, AvailableCores(),
                            {PathOf(input.frames), !ct.cavities.empty(), input.measured});
    input.surface = *moved;
    place = FindPlace(input, ct, found);
  }
  auto outcome = py::cast<py::dict>(ToPython(RegistrationToJson(found, place)));
  if (found.status == SurfaceRegistrationStatus::kRegistered)
    outcome["transform"] = ToArray(found.model_from_surface.Matrix());
  return outcome;
}

}  // namespace

void BindTools(py::module_& module) {
  module.def("run", &RunVideo, py::arg("input"), py::arg("out"), py::kw_only(),
             py::arg("camera") = py::none(), py::arg("fov") = 0.0, py::arg("model") = "",
             py::arg("config") = py::none(), py::arg("deterministic") = false, py::arg("surface") = true);
  module.def("read_run", &ReadRun, py::arg("path"));
  module.def("evaluate", &Evaluate, py::arg("estimate"), py::arg("truth"), py::kw_only(), py::arg("step") = 7,
             py::arg("max_gap") = 0.0);
  module.def("register", &Register, py::arg("surface"), py::arg("model"), py::kw_only(),
             py::arg("guess") = py::none(), py::arg("threshold") = py::none(), py::arg("cavity") = -1,
             py::arg("config") = py::none());
  module.def("default_config", [] { return ConfigToDict({}); });
  module.def(
      "load_trajectory", [](const fs::path& path) { return ToArrays(LoadTrajectory(path)); },
      py::arg("path"));
  module.def(
      "save_trajectory",
      [](const fs::path& path, const py::object& trajectory) {
        SaveTrajectory(path, CopyTrajectory(trajectory));
      },
      py::arg("path"), py::arg("trajectory"));
}

}  // namespace lumen
