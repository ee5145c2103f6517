#include <csignal>

#include "lumen/apps/app.h"
#include "lumen/apps/run_watch.h"

namespace lumen {

namespace {

std::atomic<bool> stop_requested = false;
extern "C" void StopViewing(int /*signal*/) { stop_requested = true; }

}  // namespace

void AddViewCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("view", "a run in the browser, until Ctrl-C");
  struct State {
    std::filesystem::path run;
    ServerOptions server;
  };
  auto state = std::make_shared<State>();
  command->add_option("RUN", state->run, "folder that `lumen run` wrote")->required();
  AddServerOptions(*command, state->server);
  command->callback([state] {
    std::signal(SIGINT, StopViewing);
    std::signal(SIGTERM, StopViewing);
    ServeRun(state->run, state->server, stop_requested);
  });
}

}  // namespace lumen
