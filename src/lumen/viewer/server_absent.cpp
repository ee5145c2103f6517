// The server of a build without Boost.Beast: says so to whoever wants one.
#include "lumen/base/error.h"
#include "lumen/viewer/server.h"

namespace lumen {

class ViewServer::Impl {};

ViewServer::ViewServer(ItemStore& /*store*/, FindServed /*find*/, const ServerOptions& /*options*/) {
  throw InputError("this build has no viewer: Boost.Beast (libboost-dev) was not there");
}
ViewServer::~ViewServer() = default;
int ViewServer::Port() const { return 0; }
const std::string& ViewServer::Token() const {
  static const std::string none;
  return none;
}
int ViewServer::Clients() const { return 0; }
std::string ViewServer::Url() const { return ""; }

}  // namespace lumen
