// The warp of up to kWarpBlock samples at a time, for the tuned kernels. Positions are computed in double,
// exactly as warp.h does, so that both kernels see the same samples; what only scales derivatives is float.
// With ζ the target's measure of depth and m = X / ζ, a pixel is f (m_x, m_y) + c, and
//   dζ = g · dX,  g = α ζ/|X| m + (1 - α) e_z,  X × g = (1 - α) X × e_z.
// A pinhole has m_z = 1 and g = e_z, and takes the short way.
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
  double u[kWarpBlock], v[kWarpBlock];         // target pixel
  float x[kWarpBlock], y[kWarpBlock];          // m_x, m_y
  float zeta[kWarpBlock];                      // ζ in the target
  float ray_x[kWarpBlock], ray_y[kWarpBlock];  // d(X, Y)/d depth
  float zeta_by_depth[kWarpBlock];             // g · dX/d depth
  float depth[kWarpBlock];                     // at the source
  float m_z[kWarpBlock], bend[kWarpBlock];     // m_z and α ζ/|X|, of wide views alone
  bool wide = false;
};

// d(u, v) by the pose (6) and by the depth, of four samples at once.
struct MotionColumns {
  Float4 u[6], v[6];
  Float4 u_by_depth, v_by_depth;
};

// dζ by the point's place and, around the target's axes x and y, by the pose; what turns around z leaves it.
struct DepthMotion {
  Float4 by_place[3];
  Float4 by_turn[2];
};

inline DepthMotion DepthMotionOf(const WarpBlock& block, int i, const UnifiedCamera& camera) {
  const Float4 x = Load4(block.x + i);
  const Float4 y = Load4(block.y + i);
  const Float4 zeta = Load4(block.zeta + i);
  if (!block.wide) return {{Float4{}, Float4{}, Splat4(1.0F)}, {y * zeta, -x * zeta}};
  const Float4 bend = Load4(block.bend + i);
  const auto rest = static_cast<float>(1 - camera.alpha);
  return {{bend * x, bend * y, bend * Load4(block.m_z + i) + rest}, {rest * y * zeta, -rest * x * zeta}};
}

inline MotionColumns WideMotionOf(const WarpBlock& block, int i, const UnifiedCamera& camera) {
  const auto fx = static_cast<float>(camera.fx);
  const auto fy = static_cast<float>(camera.fy);
  const auto rest = static_cast<float>(1 - camera.alpha);
  const Float4 x = Load4(block.x + i);
  const Float4 y = Load4(block.y + i);
  const Float4 z = Load4(block.m_z + i);
  const Float4 inverse = 1.0F / Load4(block.zeta + i);
  const Float4 by_depth = Load4(block.zeta_by_depth + i);
  const DepthMotion g = DepthMotionOf(block, i, camera);
  return {{fx * inverse * (1.0F - x * g.by_place[0]), -fx * inverse * x * g.by_place[1],
           -fx * inverse * x * g.by_place[2], -fx * rest * x * y, fx * (z + rest * x * x), -fx * y},
          {-fy * inverse * y * g.by_place[0], fy * inverse * (1.0F - y * g.by_place[1]),
           -fy * inverse * y * g.by_place[2], -fy * (z + rest * y * y), fy * rest * x * y, fy * x},
          fx * inverse * (Load4(block.ray_x + i) - x * by_depth),
          fy * inverse * (Load4(block.ray_y + i) - y * by_depth)};
}

inline MotionColumns MotionOf(const WarpBlock& block, int i, const UnifiedCamera& camera) {
  if (block.wide) return WideMotionOf(block, i, camera);
  const float fx = static_cast<float>(camera.fx);
  const float fy = static_cast<float>(camera.fy);
  const Float4 x = Load4(block.x + i);
  const Float4 y = Load4(block.y + i);
  const Float4 inverse_z = 1.0F / Load4(block.zeta + i);
  const Float4 ray_z = Load4(block.zeta_by_depth + i);
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
    if (source_.ray_z.empty() && target_.camera.IsPinhole()) {
      WarpAndFilter<false>(range, block);
    } else {
      WarpAndFilter<true>(range, block);
    }
    // Four at a time may run past the end: harmless numbers there.
    for (int k = block.count; k < (block.count + 3) / 4 * 4; ++k) {
      block.x[k] = block.y[k] = block.ray_x[k] = block.ray_y[k] = block.zeta_by_depth[k] = 0;
      block.depth[k] = block.bend[k] = 0;
      block.zeta[k] = block.m_z[k] = 1;
    }
  }

 private:
  struct Unfiltered {
    double depth[kWarpBlock], rx[kWarpBlock], ry[kWarpBlock];
    double rz[kWarpBlock];  // dζ/d depth
    double x[kWarpBlock], y[kWarpBlock], zeta[kWarpBlock], u[kWarpBlock], v[kWarpBlock];
    double front[kWarpBlock], bend[kWarpBlock], m_z[kWarpBlock];  // of wide views alone
  };

  template <bool kWide>
  void WarpAndFilter(SampleRange range, WarpBlock& block) const {
    Unfiltered w;
    FillDepths(range, w);
    if constexpr (kWide) {
      WarpWide(range, w);
    } else {
      WarpPinhole(range, w);
    }
    const double* front = kWide ? w.front : w.zeta;
    block.count = 0;
    block.wide = kWide;
    for (int i = 0; i < range.end - range.begin; ++i) {
      if (!(w.depth[i] > kMinDepth) || !(front[i] > kMinDepth) ||
          !IsContent(target_.mask, {w.u[i], w.v[i]}) || IsHidden(hidden_, range.begin + i)) {
        continue;
      }
      const int k = block.count;
      Keep(w, i, range.begin + i, block);
      if constexpr (kWide) {
        block.m_z[k] = static_cast<float>(w.m_z[i]);
        block.bend[k] = static_cast<float>(w.bend[i]);
      }
    }
  }

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

  void WarpPinhole(SampleRange range, Unfiltered& w) const {
    const UnifiedCamera camera = target_.camera;
    // Copies, so that the loop knows they do not change.
    const Eigen::Matrix3d rotation = rotation_;
    const Eigen::Vector3d t = translation_;
    const double* ray_x = source_.ray_x.data() + range.begin;
    const double* ray_y = source_.ray_y.data() + range.begin;
    for (int i = 0; i < range.end - range.begin; ++i) {
      w.rx[i] = rotation(0, 0) * ray_x[i] + rotation(0, 1) * ray_y[i] + rotation(0, 2);
      w.ry[i] = rotation(1, 0) * ray_x[i] + rotation(1, 1) * ray_y[i] + rotation(1, 2);
      w.rz[i] = rotation(2, 0) * ray_x[i] + rotation(2, 1) * ray_y[i] + rotation(2, 2);
      w.zeta[i] = w.depth[i] * w.rz[i] + t.z();
      const double inverse_z = 1.0 / w.zeta[i];
      w.x[i] = (w.depth[i] * w.rx[i] + t.x()) * inverse_z;
      w.y[i] = (w.depth[i] * w.ry[i] + t.y()) * inverse_z;
      w.u[i] = camera.fx * w.x[i] + camera.cx;
      w.v[i] = camera.fy * w.y[i] + camera.cy;
    }
  }

  // As UnifiedCamera::Depth, IsBefore and Project have it. A pinhole beside a wide view comes here too.
  void WarpWide(SampleRange range, Unfiltered& w) const {
    const UnifiedCamera camera = target_.camera;
    const Eigen::Matrix3d rotation = rotation_;
    const Eigen::Vector3d t = translation_;
    const double alpha = camera.alpha;
    const double reach = camera.Reach();
    const double* ray_x = source_.ray_x.data() + range.begin;
    const double* ray_y = source_.ray_y.data() + range.begin;
    const bool flat = source_.ray_z.empty();
    for (int i = 0; i < range.end - range.begin; ++i) {
      const double ray_z = flat ? 1.0 : source_.ray_z[static_cast<size_t>(range.begin + i)];
      const double rx = rotation(0, 0) * ray_x[i] + rotation(0, 1) * ray_y[i] + rotation(0, 2) * ray_z;
      const double ry = rotation(1, 0) * ray_x[i] + rotation(1, 1) * ray_y[i] + rotation(1, 2) * ray_z;
      const double rz = rotation(2, 0) * ray_x[i] + rotation(2, 1) * ray_y[i] + rotation(2, 2) * ray_z;
      const double x = w.depth[i] * rx + t.x();
      const double y = w.depth[i] * ry + t.y();
      const double z = w.depth[i] * rz + t.z();
      const double distance = std::sqrt(x * x + y * y + z * z);
      w.zeta[i] = (1 - alpha) * z + alpha * distance;
      w.front[i] = z + reach * distance;
      const double inverse = 1.0 / w.zeta[i];
      w.bend[i] = alpha * w.zeta[i] / distance;
      w.x[i] = x * inverse;
      w.y[i] = y * inverse;
      w.m_z[i] = z * inverse;
      w.rx[i] = rx;
      w.ry[i] = ry;
      w.rz[i] = w.bend[i] * (w.x[i] * rx + w.y[i] * ry + w.m_z[i] * rz) + (1 - alpha) * rz;
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
    block.zeta[k] = static_cast<float>(w.zeta[i]);
    block.ray_x[k] = static_cast<float>(w.rx[i]);
    block.ray_y[k] = static_cast<float>(w.ry[i]);
    block.zeta_by_depth[k] = static_cast<float>(w.rz[i]);
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
