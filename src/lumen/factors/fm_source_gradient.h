// The tuned kernel's share of the symmetric feature-metric factor: the source's own gradient, carried over
// to the target, so that the mean of both can be taken.
#pragma once

#include "lumen/factors/fm_kernel.h"
#include "lumen/factors/simd.h"
#include "lumen/factors/warp_block.h"

namespace lumen {

// d(source pixel) / d(u, v) of a block's samples, for walls that face the source's camera; zeros and a share
// of nothing where the source's gradient cannot be had.
struct Unwarp {
  float share[kWarpBlock];  // of the source's gradient in the mean
  float x_by_u[kWarpBlock], x_by_v[kWarpBlock], y_by_u[kWarpBlock], y_by_v[kWarpBlock];

  void Fill(const FmProblem& problem, const Eigen::Matrix3f& rotation, const WarpBlock& block);
};

// The source's gradient at a sample of the finest level, carried over to the target.
struct SourceGradient {
  const float* features = nullptr;
  ptrdiff_t right = 0, below = 0;  // from a pixel to its neighbours
  float rest = 1;                  // share of the target's gradient in the mean
  float x_by_u = 0, x_by_v = 0, y_by_u = 0, y_by_v = 0;

  SourceGradient() = default;
  SourceGradient(const float* sample_features, int stride, int width, float gradient_scale,
                 const Unwarp& unwarp, int place)
      : features(sample_features), right(stride), below(right * width), rest(1 - unwarp.share[place]) {
    const float half = unwarp.share[place] * 0.5F * gradient_scale;
    x_by_u = half * unwarp.x_by_u[place];
    x_by_v = half * unwarp.x_by_v[place];
    y_by_u = half * unwarp.y_by_u[place];
    y_by_v = half * unwarp.y_by_v[place];
  }
  void MixInto(int channel, Float4& gu, Float4& gv) const {
    const float* at = features + channel;
    const Float4 by_x = Load4(at + right) - Load4(at - right);
    const Float4 by_y = Load4(at + below) - Load4(at - below);
    gu = rest * gu + x_by_u * by_x + y_by_u * by_y;
    gv = rest * gv + x_by_v * by_x + y_by_v * by_y;
  }
};

}  // namespace lumen
