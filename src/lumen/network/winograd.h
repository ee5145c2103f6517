// The transforms of Winograd's F(4×4, 3×3) on rows of tiles; tiles lie side by side, so that plain loops
// over them turn into vector code.
#pragma once

#include <cstddef>

namespace lumen {

constexpr int kWinogradPositions = 36;

// U = G g Gᵀ of one 3×3 filter.
void TransformFilter(const float* filter, float* transformed);

// Six rows of a plane (`row` points at column −1 of the first) → V[position · position_stride + tile].
void TransformInputRow(const float* row, ptrdiff_t row_stride, int tiles, float* out,
                       ptrdiff_t position_stride, float* scratch);

// M[position · position_stride + tile] → four rows of 4 · tiles values at out, out + out_stride, ….
void TransformOutputRow(const float* m, ptrdiff_t position_stride, int tiles, float* out,
                        ptrdiff_t out_stride, float* scratch);

// Floats of scratch either transform needs.
inline size_t WinogradScratch(int tiles) { return 6 * (4 * static_cast<size_t>(tiles) + 24); }

}  // namespace lumen
