// The registration of a run that has come to its end, by all that is known of it then.
#pragma once

#include "lumen/apps/app_config.h"
#include "lumen/apps/navigator.h"

namespace lumen {

// Into the run's folder/registration, as `lumen register` writes it; what the run's own search found last is
// where it begins. Without a place of its own and with `hurry` nothing is searched. Null: not registered.
// Throws InputError where there is no surface.
std::shared_ptr<const CtRegistration> RegisterFinished(const std::filesystem::path& run,
                                                       const NavigationCt& ct,
                                                       const LiveRegistrationOptions& options,
                                                       const std::optional<Sim3>& guess, bool hurry);

}  // namespace lumen
