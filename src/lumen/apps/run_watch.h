// A run in the browser: while it goes on, and afterwards from its folder, at one address.
#pragma once

#include "lumen/apps/command.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/viewer/server.h"

namespace lumen {

struct ViewChoice {
  bool wanted = false;
  ServerOptions server;
};
void AddServerOptions(Command& command, ServerOptions& options);  // --port, --host

class RunWatch : public RunObserver {
 public:
  // Shows the folder of the finished run until `stop`.
  virtual void ShowFinished(const std::filesystem::path& run, const std::atomic<bool>& stop) = 0;
};
std::unique_ptr<RunWatch> MakeRunWatch(const std::string& name, const ServerOptions& options);

// Serves a run's folder and prints the address; returns when `stop` is set.
void ServeRun(const std::filesystem::path& run, const ServerOptions& options, const std::atomic<bool>& stop);

}  // namespace lumen
