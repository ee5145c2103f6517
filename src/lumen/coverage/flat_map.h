// A way's wall, laid flat: along the way from left to right, round it from top to bottom.
#pragma once

#include "lumen/coverage/coverage.h"

namespace lumen {

// Pixels are `states` in their colours, shaded so that folds show. Columns are even steps along the way, rows
// directions round it; its width follows the way's length in widths of the lumen.
RgbImage DrawFlatMap(const WallCoverage& coverage, int way);

using StateColor = std::array<uint8_t, 3>;
StateColor ColorOf(PieceState state);

// The wall, coloured by what was seen of it.
TriangleMesh ColorByCoverage(const WallCoverage& coverage);
// The surface as it was fused, coloured by what of it was seen, and what closes it where nothing was.
TriangleMesh ColorSurface(const WallCoverage& coverage, const TriangleMesh& surface, int threads);

}  // namespace lumen
