// A run followed over OpenIGTLink: what a navigation tells, as poses, states, surfaces and pictures for other
// programs. docs/slicer.md says which message means what.
#pragma once

#include <memory>
#include <string>

#include "lumen/apps/command.h"
#include "lumen/apps/navigation.h"
#include "lumen/igtl/navigation_link.h"

namespace lumen {

struct IgtlChoice {
  std::string where;  // "PORT": a server; "HOST:PORT": a client of somebody's; empty: not wanted
  std::string host = LinkOptions().host;  // a server's
  bool Wanted() const { return !where.empty(); }
};
void AddIgtlOptions(Command& command, IgtlChoice& choice);  // --igtl, --igtl-host

// Throws InputError, which names the option, for what is neither a port nor a host with one.
LinkOptions ParseIgtlChoice(const IgtlChoice& choice);
// Throws InputError, which names the option: the port is in use, no such host, no OpenIGTLink in this build.
std::unique_ptr<NavigationListener> MakeIgtlListener(const IgtlChoice& choice);

// What is known, in words and for programs: none: no frame was told yet.
LinkState DescribeLinkState(const NavigationState& ct, const std::optional<NavigatedFrame>& frame);

}  // namespace lumen
