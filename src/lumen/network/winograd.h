// The transforms of Winograd's F(4×4, 3×3) on rows of tiles; tiles lie side by side, so that plain loops
// over them turn into vector code.
#pragma once

#include <cstddef>

#include "lumen/network/epilogue.h"

namespace lumen {

constexpr int kWinogradPositions = 36;

// U = G g Gᵀ of one 3×3 filter.
void TransformFilter(const float* filter, float* transformed);

// Six rows of a plane (`row` points at column −1 of the first) → V[position · position_stride + tile].
// Goes four tiles at a time: up to three more are read and written than there are.
void TransformInputRow(const float* row, ptrdiff_t row_stride, int tiles, float* out,
                       ptrdiff_t position_stride);

// M[position · position_stride + tile] → a row of tiles, `width` columns and `rows` (at most four) rows of
// it, through the epilogue; adds to `sums` where it is given. Reads whole fours of tiles.
void TransformOutputRow(const float* m, ptrdiff_t position_stride, int width, int rows, const Epilogue& to,
                        ChannelSums* sums);

}  // namespace lumen
