#include "lumen/apps/app.h"
#include "lumen/apps/ct_record.h"
#include "lumen/apps/final_registration.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/igtl_listener.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/apps/run_watch.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

// Where in the CT the run was, by all that is known in the end.
void AddRegistration(const RunOptions& options, LiveRegistrationOptions live, const RunOutcome& outcome,
                     Navigator& navigator) {
  const auto ct = navigator.Ct();
  if (ct == nullptr) return;  // which has been said
  live.start = navigator.Start();
  try {
    const auto answer =
        RegisterFinished(options.output, *ct, live, navigator.LastWord(*outcome.map), outcome.interrupted);
    if (answer == nullptr) {
      LogWarning("not registered to ", live.ct.path.string());
      return;
    }
    const NavigationState state = DescribeRegistration(answer.get(), {});
    navigator.TellLast(answer, state, *outcome.map);
    LogInfo("CT: ", CtStatusName(state.status), ", ", state.words, ": ",
            (options.output / run_file::kRegistration).string());
  } catch (const InputError& error) {
    LogWarning("not registered: ", error.what());
  }
}

// What of a CT was asked for.
struct CtChoice {
  ModelChoice model;
  std::string start;
};

std::optional<LiveRegistrationOptions> LiveOptions(const CtChoice& choice, const RunOptions& options) {
  if (choice.model.path.empty()) return std::nullopt;
  if (!std::filesystem::exists(choice.model.path)) throw InputError(choice.model.path, "does not exist");
  LiveRegistrationOptions live;
  live.ct = choice.model;
  if (!choice.start.empty()) live.start = ParseStartRegion(choice.start);
  live.registration = options.config.registration;
  live.fusion = options.config.fusion;
  live.depth = options.config.depth;
  live.in_step = options.deterministic;
  return live;
}

struct RunChoice {
  RunOptions options;
  ConfigChoice config;
  bool no_surface = false;
  ViewChoice view;
  CtChoice ct;
  IgtlChoice igtl;
};

void Run(const RunChoice& choice) {
  RunOptions options = choice.options;
  options.config = ResolveConfig(choice.config);
  // A camera does not wait: what comes too late is dropped there or here, and here it is counted.
  options.realtime |= IsCamera(options.input);
  const std::atomic<bool>& stop_requested = CatchInterrupts();
  const std::optional<LiveRegistrationOptions> live = LiveOptions(choice.ct, options);
  std::vector<Target> targets;
  if (!choice.view.targets.empty()) targets = ReadTargets(choice.view.targets);
  RunObservers observers;
  options.observer = &observers;
  std::unique_ptr<RunWatch> watch;
  std::vector<NavigationListener*> listeners;
  if (choice.view.wanted) {
    watch = MakeRunWatch(options.input.filename().string(), choice.view.server, targets);
    observers.Add(watch.get());
    if (live) listeners.push_back(watch->Listener());
  }
  std::unique_ptr<CtRecord> record;
  if (live) listeners.push_back((record = std::make_unique<CtRecord>(options.output)).get());
  std::unique_ptr<NavigationListener> igtl;
  if (choice.igtl.Wanted()) listeners.push_back((igtl = MakeIgtlListener(choice.igtl)).get());
  std::shared_ptr<Navigator> navigator;
  if (!listeners.empty()) {
    navigator = std::make_shared<Navigator>(live, listeners);
    observers.Add(navigator.get());
    if (watch != nullptr)
      watch->OnStartHint([told = std::weak_ptr(navigator)](const Eigen::Vector3d& place) {
        LogInfo("CT: told that it begins near ", place.x(), ",", place.y(), ",", place.z());
        if (const auto to = told.lock()) to->SetStart(StartAround(place));
      });
  }
  const RunOutcome outcome = RunSequence(options, stop_requested);
  LogInfo(outcome.placed, " of ", outcome.frames, " frames placed, ", outcome.keyframes,
          " keyframes: ", options.output.string());
  if (!outcome.interrupted && options.config.depth.views > 0) {
    if (watch != nullptr) watch->OnPhase("gathering depth");
    TryGatherRunDepth(options.output, options.config.depth);
  }
  if (!choice.no_surface) {
    if (watch != nullptr) watch->OnPhase("fusing the surface");
    TrySaveRunSurface(options.output, options.config.fusion);
  }
  if (live && !choice.no_surface) {
    if (watch != nullptr) watch->OnPhase("registering it to the CT");
    AddRegistration(options, *live, outcome, *navigator);
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
  auto choice = std::make_shared<RunChoice>();
  RunOptions& options = choice->options;
  command.Add("INPUT", options.input, "any input: sequence folder, images, video, camera").Required();
  command.Add("--out", options.output, "folder for the results").Required();
  command.Add("--model", options.model, "weights");
  command.Add("--vocabulary", options.vocabulary, "words for place recognition");
  command.Add("--map", options.map, "an earlier run (or its map.h5) to find oneself in and to extend");
  command.AddFlag("--deterministic", options.deterministic,
                  "one frame after the other: the same bytes every time");
  command.AddFlag("--realtime", options.realtime,
                  "pace a recording as if live; frames that come too late are dropped and counted");
  command.AddFlag("--refine", options.refine, "go on mapping and searching loops after the last frame");
  command.AddFlag("--no-surface", choice->no_surface,
                  "do not fuse the keyframes' depth into surface.ply at the end");
  command.AddFlag("--view", choice->view.wanted, "show it in a browser while it goes on, and afterwards");
  AddServerOptions(command, choice->view.server);
  command.Add("--targets", choice->view.targets,
              "marked places in the CT, for the view: points.csv or 3D Slicer's .mrk.json");
  command.Add("--ct", choice->ct.model.path,
              "the patient's CT, a volume or a surface: where in it the scope is, while the run goes on");
  command.Add("--ct-start", choice->ct.start,
              "where in the CT the run begins, in mm, LPS: L,P,S or L,P,S,RADIUS or L0,L1,P0,P1,S0,S1");
  AddModelChoice(command, choice->ct.model, "--ct-");
  AddIgtlOptions(command, choice->igtl);
  AddDeviceOption(command, options.device);
  AddConfigOptions(command, choice->config);
  AddInputOptions(command, options.selection);
  command.Do([choice] { Run(*choice); });
}

}  // namespace lumen
