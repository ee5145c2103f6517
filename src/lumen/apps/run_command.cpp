#include "lumen/apps/app.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/apps/run_watch.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

// A run without a surface is still a run: what stands in the way is said, no more.
void AddSurface(const RunOptions& options) {
  try {
    SaveRunSurface(options.output, options.config.fusion);
  } catch (const InputError& error) {
    LogWarning("no surface: ", error.what());
  }
}

void AddFineDepth(const RunOptions& options) {
  try {
    GatherRunDepth(options.output, options.config.depth);
  } catch (const InputError& error) {
    LogWarning("depth stays as it is: ", error.what());
  }
}

void Run(RunOptions options, const ConfigChoice& choice, bool surface, const ViewChoice& view) {
  options.config = ResolveConfig(choice);
  // A camera does not wait: what comes too late is dropped there or here, and here it is counted.
  options.realtime |= IsCamera(options.input);
  const std::atomic<bool>& stop_requested = CatchInterrupts();
  std::unique_ptr<RunWatch> watch;
  if (view.wanted) {
    watch = MakeRunWatch(options.input.filename().string(), view.server);
    options.observer = watch.get();
  }
  const RunOutcome outcome = RunSequence(options, stop_requested);
  LogInfo(outcome.placed, " of ", outcome.frames, " frames placed, ", outcome.keyframes,
          " keyframes: ", options.output.string());
  if (!outcome.interrupted && options.config.depth.views > 0) {
    if (watch != nullptr) watch->OnPhase("gathering depth");
    AddFineDepth(options);
  }
  if (surface) {
    if (watch != nullptr) watch->OnPhase("fusing the surface");
    AddSurface(options);
  }
  if (watch != nullptr && !stop_requested) watch->ShowFinished(options.output, stop_requested);
  if (outcome.interrupted) {
    LogWarning("interrupted: what was placed so far is written");
    throw ExitRequest{kInterrupted};
  }
}

}  // namespace

void AddRunCommand(Command& app) {
  Command& command = app.AddCommand("run", "SLAM: the camera's path and dense depth from a video");
  auto options = std::make_shared<RunOptions>();
  auto choice = std::make_shared<ConfigChoice>();
  command.Add("INPUT", options->input, "any input: sequence folder, images, video, camera").Required();
  command.Add("--out", options->output, "folder for the results").Required();
  command.Add("--model", options->model, "weights");
  command.Add("--vocabulary", options->vocabulary, "words for place recognition");
  command.Add("--map", options->map, "an earlier run (or its map.h5) to find oneself in and to extend");
  command.AddFlag("--deterministic", options->deterministic,
                  "one frame after the other: the same bytes every time");
  command.AddFlag("--realtime", options->realtime,
                  "pace a recording as if live; frames that come too late are dropped and counted");
  command.AddFlag("--refine", options->refine, "go on mapping and searching loops after the last frame");
  auto no_surface = std::make_shared<bool>(false);
  command.AddFlag("--no-surface", *no_surface,
                  "do not fuse the keyframes' depth into surface.ply at the end");
  auto view = std::make_shared<ViewChoice>();
  command.AddFlag("--view", view->wanted, "show it in a browser while it goes on, and afterwards");
  AddServerOptions(command, view->server);
  AddDeviceOption(command, options->device);
  AddConfigOptions(command, *choice);
  AddInputOptions(command, options->selection);
  command.Do([options, choice, no_surface, view] { Run(*options, *choice, !*no_surface, *view); });
}

}  // namespace lumen
