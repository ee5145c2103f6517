// Networks on one device for several programs at once. One program serves (`NetworkServer`): the others'
// frames wait for no more than the run that is under way, and whatever has come meanwhile is computed
// together in the next. Pictures and maps lie in memory that both see; through the socket go a few bytes a
// frame.
//   export LUMEN_NETWORKS=/tmp/…/networks   where MakePriors looks for such a server
#pragma once

#include <filesystem>
#include <memory>

#include "lumen/network/torch_backend.h"

namespace lumen {

inline constexpr const char* kNetworksVariable = "LUMEN_NETWORKS";

class NetworkServer {
 public:
  // Serves at this path, which is to be as short as sockets ask for, until it is destroyed; `hash` is the
  // model's. Throws InputError where it cannot.
  NetworkServer(std::unique_ptr<NetworkRows> rows, const Model& model, const PriorsOptions& options,
                const std::filesystem::path& path);
  ~NetworkServer();
  NetworkServer(const NetworkServer&) = delete;
  NetworkServer& operator=(const NetworkServer&) = delete;

  struct Counts {
    int64_t runs = 0, frames = 0;  // frames of one run were computed together
  };
  Counts Count() const;

 private:
  class Serving;
  std::unique_ptr<Serving> serving_;
};

// Priors whose networks run there. Null where nobody serves at this path, or another model or precision:
// whoever asks then has networks of its own. A server that goes while it is used throws InputError.
std::unique_ptr<Priors> MakeSharedPriors(const std::filesystem::path& path, const Model& model,
                                         const LensView& view, const PriorsOptions& options);

}  // namespace lumen
