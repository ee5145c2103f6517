// The air spaces of a CT from the front, from the left and from below, over the body as an X-ray shows it.
#pragma once

#include <string>

#include "lumen/ct/air_spaces.h"

namespace lumen {

std::string DrawAirSpaces(const Volume& volume, const AirSpaces& all);  // an SVG

}  // namespace lumen
