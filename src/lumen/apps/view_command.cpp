#include <csignal>

#include "lumen/apps/app.h"
#include "lumen/apps/run_watch.h"
#include "lumen/base/error.h"
#include "lumen/base/signals.h"

namespace lumen {

namespace {

std::atomic<bool> stop_requested = false;
extern "C" void StopViewing(int /*signal*/) { stop_requested = true; }

}  // namespace

void AddViewCommand(Command& app) {
  Command& command = app.AddCommand("view", "a run in the browser, until Ctrl-C");
  struct State {
    std::filesystem::path run;
    ServerOptions server;
    std::filesystem::path targets, ct;
  };
  auto state = std::make_shared<State>();
  command.Add("RUN", state->run, "folder that `lumen run` wrote").Required();
  AddServerOptions(command, state->server);
  command.Add("--targets", state->targets, "marked places in the CT: points.csv or 3D Slicer's .mrk.json");
  command.Add("--ct", state->ct, "where the CT lies now that the run was registered to");
  command.Do([state] {
    HandleSignal(SIGINT, StopViewing);
    HandleSignal(SIGTERM, StopViewing);
    RunCompany company{{}, state->ct};
    if (!state->targets.empty()) company.targets = ReadTargets(state->targets);
    if (!state->ct.empty() && !std::filesystem::exists(state->ct))
      throw InputError(state->ct, "does not exist");
    ServeRun(state->run, state->server, stop_requested, company);
  });
}

}  // namespace lumen
