// The airways within lungs: both lie below any threshold that finds air, since lungs are mostly air. Airways
// are nothing but air, so a lower level parts them, as high a one as does not leak through the thin walls.
#pragma once

#include <optional>

#include "lumen/ct/air_parts.h"
#include "lumen/ct/tissue_levels.h"

namespace lumen {

// The typical value inside the part, away from its walls.
double InnerLevel(const Volume& volume, const AirPart& part);
// Whether that is a lung's: well above air's.
bool IsLung(const TissueLevels& levels, double inner_level);
// The hollow in a part that holds lungs; none if there is none worth the name.
std::optional<AirPart> FindAirway(const Volume& volume, const TissueLevels& levels, double threshold,
                                  const AirPart& lungs, double lung_level, int threads);
// What is left of `whole` without `part`, whose voxels it holds.
AirPart Without(const AirPart& whole, const AirPart& part, const Eigen::Vector3i& volume_size);

}  // namespace lumen
