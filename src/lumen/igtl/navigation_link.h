// A run followed by other programs over OpenIGTLink: poses as they come, the state in words, the surface, the
// newest picture to who asks for it. Knows nothing of runs: it sends what it is handed, and every call
// returns at once, whoever is connected and however slow they are.
//   NavigationLink link({.port = 18944});
//   link.SendPose("CameraToCT", RasFromLps(lps_from_camera), time);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lumen/igtl/messages.h"

namespace lumen {

struct LinkOptions {
  std::string host = "127.0.0.1";
  int port = 18944;       // the protocol's own; for a server 0 is any free one
  bool connects = false;  // a client of somebody's server at host:port, again and again; else a server there
  int most_clients = 32;
  int patience_ms = 10000;        // one who takes nothing for so long is let go
  int retry_ms = 2000;            // of one that connects
  size_t most_vertices = 200000;  // a larger surface is thinned
};

namespace link_name {
inline constexpr const char* kDevice = "Lumen";
inline constexpr const char* kState = "LumenState";
inline constexpr const char* kMachineState = "LumenStateJson";
inline constexpr const char* kPicture = "LumenFrame";
inline constexpr const char* kSurface = "SurfaceInCT";
}  // namespace link_name

std::vector<std::string> LinkMessageTypes();

class NavigationLink {
 public:
  // Throws InputError: the port is in use, there is no such host, or this build has no OpenIGTLink.
  explicit NavigationLink(const LinkOptions& options);
  // What is on its way may take half a second to get there.
  ~NavigationLink();
  NavigationLink(const NavigationLink&) = delete;
  NavigationLink& operator=(const NavigationLink&) = delete;

  void SendPose(const std::string& device, const Rigid3& pose, double time);
  void DropPose();  // there is none at present: who has not got the last one will not get it
  void SendState(const LinkState& state);
  // Nothing is sent of one without points.
  void SendSurface(std::shared_ptr<const TriangleMesh> ras_mesh);
  void SendPicture(const RgbImage& picture, double time);

  int Port() const;
  int Clients() const;  // that are connected now

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

bool HaveNavigationLink();  // whether this build has OpenIGTLink

}  // namespace lumen
