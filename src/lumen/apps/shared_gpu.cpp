#include "lumen/apps/shared_gpu.h"

#include <algorithm>
#include <cstdlib>

#include "lumen/apps/model_path.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/network/shared_networks.h"

namespace lumen {

namespace {

class Sharing : public SharedGpu {
 public:
  Sharing(const TorchBackend& backend, const Model& model, const PriorsOptions& options, int rows)
      : server_(backend.MakeRows(model, options, rows, "cuda"), model, options, Path()) {
    ::setenv(kNetworksVariable, Path().c_str(), 1);
  }
  ~Sharing() override {
    ::unsetenv(kNetworksVariable);
    const NetworkServer::Counts counts = server_.Count();
    if (counts.runs > 0) LogInfo("the GPU computed ", counts.frames, " pictures in ", counts.runs, " goes");
  }

 private:
  std::filesystem::path Path() const { return folder_.Path() / "networks"; }

  TemporaryFolder folder_;
  NetworkServer server_;
};

}  // namespace

std::unique_ptr<SharedGpu> ShareGpu(const RunOptions& run, const std::filesystem::path& model, int at_once) {
  if (run.deterministic || run.device == "cpu" || at_once < 2) return nullptr;
  if (run.device == "auto" && !MayHaveGpu()) return nullptr;
  const TorchBackend* backend = FindTorchBackend();
  if (backend == nullptr || !backend->HaveCuda()) return nullptr;  // each run says so itself
  const auto path = FindModel(model.empty() ? std::filesystem::path(run.config.model) : model);
  if (!path) return nullptr;
  constexpr int kMostRows = 16;  // more videos than rows take turns
  try {
    return std::make_unique<Sharing>(*backend, LoadModel(*path), run.config.engine,
                                     std::min(at_once, kMostRows));
  } catch (const InputError&) {
    throw;  // the model's
  } catch (const std::exception& error) {
    const std::string what = error.what();
    LogWarning("each video has networks of its own on the GPU: ", what.substr(0, what.find('\n')));
    return nullptr;
  }
}

}  // namespace lumen
