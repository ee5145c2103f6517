// A run in the browser: while it goes on, and afterwards from its folder, at one address.
#pragma once

#include "lumen/apps/command.h"
#include "lumen/apps/navigation.h"
#include "lumen/apps/run_sequence.h"
#include "lumen/io/targets_file.h"
#include "lumen/viewer/server.h"

namespace lumen {

struct ViewChoice {
  bool wanted = false;
  ServerOptions server;
  std::filesystem::path targets;  // empty: none
};
void AddServerOptions(Command& command, ServerOptions& options);  // --port, --host

class RunWatch : public RunObserver {
 public:
  // Shows where in the CT the run is.
  virtual NavigationListener* Listener() = 0;
  // Somebody has pointed at where in the CT (mm, LPS) the run began: called on the run's thread.
  virtual void OnStartHint(std::function<void(const Eigen::Vector3d& place)> told) = 0;
  // Shows the folder of the finished run until `stop`.
  virtual void ShowFinished(const std::filesystem::path& run, const std::atomic<bool>& stop) = 0;
};
std::unique_ptr<RunWatch> MakeRunWatch(const std::string& name, const ServerOptions& options,
                                       std::vector<Target> targets = {});

// What stands beside a finished run.
struct RunCompany {
  std::vector<Target> targets = {};
  std::filesystem::path ct = {};  // empty: the one its registration names
};
// Serves a run's folder and prints the address; returns when `stop` is set.
void ServeRun(const std::filesystem::path& run, const ServerOptions& options, const std::atomic<bool>& stop,
              const RunCompany& company = {});

}  // namespace lumen
