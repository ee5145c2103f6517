// The warp of up to kWarpBlock samples at a time, for the tuned kernels. Positions are computed in double,
// exactly as warp.h does, so that both kernels see the same samples; what only scales derivatives is float.
#pragma once

#include <algorithm>
#include <span>

#include "lumen/factors/fm_kernel.h"
#include "lumen/factors/simd.h"
#include "lumen/factors/warp.h"

namespace lumen {

inline constexpr int kWarpBlock = 64;

struct WarpBlock {
  int count = 0;  // samples that are seen, in order
  int sample[kWarpBlock];
  double u[kWarpBlock], v[kWarpBlock];                            // target pixel
  float x[kWarpBlock], y[kWarpBlock];                             // X/Z, Y/Z in the target
  float z[kWarpBlock];                                            // Z in the target
  float ray_x[kWarpBlock], ray_y[kWarpBlock], ray_z[kWarpBlock];  // d(X, Y, Z)/d depth
  float depth[kWarpBlock];                                        // at the source
};

// d(u, v) by the pose (6) and by the depth, of four samples at once.
struct MotionColumns {
  Float4 u[6], v[6];
  Float4 u_by_depth, v_by_depth;
};

inline MotionColumns MotionOf(const WarpBlock& block, int i, const PinholeCamera& camera) {
  const float fx = static_cast<float>(camera.fx);
  const float fy = static_cast<float>(camera.fy);
  const Float4 x = Load4(block.x + i);
  const Float4 y = Load4(block.y + i);
  const Float4 inverse_z = 1.0F / Load4(block.z + i);
  const Float4 ray_z = Load4(block.ray_z + i);
  const Float4 zero = {};
  return {{fx * inverse_z, zero, -fx * x * inverse_z, -fx * x * y, fx * (1.0F + x * x), -fx * y},
          {zero, fy * inverse_z, -fy * y * inverse_z, -fy * (1.0F + y * y), fy * x * y, fy * x},
          fx * inverse_z * (Load4(block.ray_x + i) - x * ray_z),
          fy * inverse_z * (Load4(block.ray_y + i) - y * ray_z)};
}

// Where a block's samples fall on one level of an image (see bilinear.h). Computed for all at once: one by
// one, every sample would wait for the conversions between floating point and pixel numbers.
struct BlockCells {
  int pixel[kWarpBlock];
  float a[kWarpBlock], b[kWarpBlock];
};

inline void FindCells(const WarpBlock& block, int width, int height, double inverse_scale,
                      BlockCells& cells) {
  const int max_x = width - 2;
  const int max_y = height - 2;
  for (int i = 0; i < block.count; ++i) {
    // Samples are seen, so u and v are at least -0.5 and cutting off the fraction is enough.
    const double u = (block.u[i] + 0.5) * inverse_scale - 0.5;
    const double v = (block.v[i] + 0.5) * inverse_scale - 0.5;
    const int x = std::min(static_cast<int>(u), max_x);
    const int y = std::min(static_cast<int>(v), max_y);
    cells.a[i] = static_cast<float>(u - x);
    cells.b[i] = static_cast<float>(v - y);
    cells.pixel[i] = y * width + x;
  }
}

class BlockWarper {
 public:
  // `fixed_depths`, where given, are the samples' depths: computed once where no variable moves them.
  BlockWarper(const KeyframeSamples& source, const View& target, const PairState& state,
              const HiddenSamples* hidden, std::span<const double> fixed_depths = {})
      : source_(source),
        hidden_(hidden),
        target_(target),
        state_(state),
        fixed_depths_(fixed_depths),
        rotation_(state.target_from_source.RotationMatrix()),
        translation_(state.target_from_source.Translation()),
        scale_(std::exp(state.source_log_scale)) {}

  // Warps range (at most kWarpBlock samples) and keeps those that are seen.
  void Warp(SampleRange range, WarpBlock& block) const {
    Unfiltered w;
    FillDepths(range, w);
    WarpAll(range, w);
    block.count = 0;
    for (int i = 0; i < range.end - range.begin; ++i) {
      if (!(w.depth[i] > kMinDepth) || !(w.z[i] > kMinDepth) || !IsContent(target_.mask, {w.u[i], w.v[i]}) ||
          IsHidden(hidden_, range.begin + i)) {
        continue;
      }
      Keep(w, i, range.begin + i, block);
    }
    // Four at a time may run past the end: harmless numbers there.
    for (int k = block.count; k < (block.count + 3) / 4 * 4; ++k) {
      block.x[k] = block.y[k] = block.ray_x[k] = block.ray_y[k] = block.ray_z[k] = block.depth[k] = 0;
      block.z[k] = 1;
    }
  }

 private:
  struct Unfiltered {
    double depth[kWarpBlock], rx[kWarpBlock], ry[kWarpBlock], rz[kWarpBlock];
    double x[kWarpBlock], y[kWarpBlock], z[kWarpBlock], u[kWarpBlock], v[kWarpBlock];
  };

  void FillDepths(SampleRange range, Unfiltered& w) const {
    const int count = range.end - range.begin;
    if (!fixed_depths_.empty()) {
      std::copy_n(fixed_depths_.data() + range.begin, count, w.depth);
      return;
    }
    for (int i = 0; i < count; ++i) {
      const int sample = range.begin + i;
      w.depth[i] = DepthOf(source_.AverageDepth(sample), source_.Bases(sample), scale_, state_.source_code);
    }
  }

  void WarpAll(SampleRange range, Unfiltered& w) const {
    const PinholeCamera camera = target_.camera;
    // Copies, so that the loop knows they do not change.
    const Eigen::Matrix3d rotation = rotation_;
    const Eigen::Vector3d t = translation_;
    const double* ray_x = source_.ray_x.data() + range.begin;
    const double* ray_y = source_.ray_y.data() + range.begin;
    for (int i = 0; i < range.end - range.begin; ++i) {
      w.rx[i] = rotation(0, 0) * ray_x[i] + rotation(0, 1) * ray_y[i] + rotation(0, 2);
      w.ry[i] = rotation(1, 0) * ray_x[i] + rotation(1, 1) * ray_y[i] + rotation(1, 2);
      w.rz[i] = rotation(2, 0) * ray_x[i] + rotation(2, 1) * ray_y[i] + rotation(2, 2);
      w.z[i] = w.depth[i] * w.rz[i] + t.z();
      const double inverse_z = 1.0 / w.z[i];
      w.x[i] = (w.depth[i] * w.rx[i] + t.x()) * inverse_z;
      w.y[i] = (w.depth[i] * w.ry[i] + t.y()) * inverse_z;
      w.u[i] = camera.fx * w.x[i] + camera.cx;
      w.v[i] = camera.fy * w.y[i] + camera.cy;
    }
  }

  static void Keep(const Unfiltered& w, int i, int sample, WarpBlock& block) {
    const int k = block.count++;
    block.sample[k] = sample;
    block.u[k] = w.u[i];
    block.v[k] = w.v[i];
    block.x[k] = static_cast<float>(w.x[i]);
    block.y[k] = static_cast<float>(w.y[i]);
    block.z[k] = static_cast<float>(w.z[i]);
    block.ray_x[k] = static_cast<float>(w.rx[i]);
    block.ray_y[k] = static_cast<float>(w.ry[i]);
    block.ray_z[k] = static_cast<float>(w.rz[i]);
    block.depth[k] = static_cast<float>(w.depth[i]);
  }

  const KeyframeSamples& source_;
  const HiddenSamples* hidden_;
  const View& target_;
  const PairState& state_;
  std::span<const double> fixed_depths_;
  Eigen::Matrix3d rotation_;
  Eigen::Vector3d translation_;
  double scale_;
};

}  // namespace lumen
