#include <csignal>

#include "lumen/apps/app.h"
#include "lumen/apps/run_watch.h"

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
  };
  auto state = std::make_shared<State>();
  command.Add("RUN", state->run, "folder that `lumen run` wrote").Required();
  AddServerOptions(command, state->server);
  command.Do([state] {
    std::signal(SIGINT, StopViewing);
    std::signal(SIGTERM, StopViewing);
    ServeRun(state->run, state->server, stop_requested);
  });
}

}  // namespace lumen
