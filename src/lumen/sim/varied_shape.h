// Anatomies beyond the procedural families, for training: another shape bent, stretched and squeezed by a
// smooth random map, with bodies of any direction hanging into it. A network that has only seen tubes and
// turbinates along the way in takes whatever tapers for something that recedes.
#pragma once

#include <memory>

#include "lumen/sim/anatomy_shape.h"

namespace lumen {

// Strength 0 leaves the shape as it is, 1 stretches by up to about a factor of two. The shape's entry stays
// one: where a draw leaves too little room there, a weaker one takes its place.
std::unique_ptr<AnatomyShape> VaryShape(std::unique_ptr<AnatomyShape> shape, float strength,
                                        const Random& random);

}  // namespace lumen
