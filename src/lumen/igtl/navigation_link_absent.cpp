// The link of a build without OpenIGTLink: says so to whoever wants one.
#include "lumen/base/error.h"
#include "lumen/igtl/navigation_link.h"

namespace lumen {

class NavigationLink::Impl {};

NavigationLink::NavigationLink(const LinkOptions& /*options*/) {
  throw InputError("this build has no OpenIGTLink: its library (libopenigtlink-dev) was not there");
}
NavigationLink::~NavigationLink() = default;
void NavigationLink::SendPose(const std::string& /*device*/, const Rigid3& /*pose*/, double /*time*/) {}
void NavigationLink::DropPose() {}
void NavigationLink::SendState(const LinkState& /*state*/) {}
void NavigationLink::SendSurface(std::shared_ptr<const TriangleMesh> /*ras_mesh*/) {}
void NavigationLink::SendPicture(const RgbImage& /*picture*/, double /*time*/) {}
int NavigationLink::Port() const { return 0; }
int NavigationLink::Clients() const { return 0; }
bool HaveNavigationLink() { return false; }

}  // namespace lumen
