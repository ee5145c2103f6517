// The tuned feature-metric kernel. Per sample the 16 channels of all levels are contracted to
//   M = Σ w_l/4^l Σ_c g gᵀ,  h = Σ w_l/2^l Σ_c g r,  e = Σ w_l Σ_c r²   (g: feature gradient, r: residual)
// so that H = Jᵀ M J and b = Jᵀ h with J = d(u, v)/d unknowns = [P | q zᵀ]: pose columns P, and the depth
// direction q times z = (d, s·bases). Cholesky of M in the basis (q̂, q̂⊥) splits H into one outer product
// over all unknowns and one over the pose alone.
#include "lumen/factors/bilinear.h"
#include "lumen/factors/fm_kernel.h"
#include "lumen/factors/fm_source_gradient.h"
#include "lumen/factors/simd.h"
#include "lumen/factors/warp_block.h"

namespace lumen {

namespace {

constexpr int kChannels = 16;
constexpr int kBases = 16;
constexpr int kStride = 3 * kChannels;  // of a pixel: [F | dF/dx | dF/dy]

struct Level {
  const float* data;
  int width, height;
  double inverse_scale;
  float residual_scale, gradient_scale;  // √w, √w / 2^l
};

// Of the samples of a block.
struct Contractions {
  float e[kWarpBlock], hu[kWarpBlock], hv[kWarpBlock], muu[kWarpBlock], muv[kWarpBlock], mvv[kWarpBlock];

  // Cauchy's loss: what lies beyond the threshold counts less and less. The errors stay as they are.
  void Soften(int count, float threshold) {
    for (int k = 0; k < count; ++k) {
      const float weight = 1.0F / (1.0F + e[k] / threshold);
      hu[k] *= weight;
      hv[k] *= weight;
      muu[k] *= weight;
      muv[k] *= weight;
      mvv[k] *= weight;
    }
  }

  void Pad(int count) {
    for (int k = count; k < (count + 3) / 4 * 4; ++k) e[k] = hu[k] = hv[k] = muu[k] = muv[k] = mvv[k] = 0;
  }
};

// Σ of the errors, or of their Cauchy losses: Σ log(1 + e/t) = log Π (1 + e/t) takes one logarithm a block.
double SumErrors(const float* e, int count, float threshold) {
  if (!(threshold > 0)) {
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += e[k];
    return static_cast<double>(sum);
  }
  constexpr double kLarge = 1e200;  // a float more would still be finite
  const double inverse = 1.0 / static_cast<double>(threshold);
  double logs = 0;
  double product = 1;
  for (int k = 0; k < count; ++k) {
    product *= 1.0 + static_cast<double>(e[k]) * inverse;
    if (product < kLarge) continue;
    logs += std::log(product);
    product = 1;
  }
  return static_cast<double>(threshold) * (logs + std::log(product));
}

int MakeLevels(const FmProblem& problem, Level* levels) {
  for (int l = 0; l < problem.levels; ++l) {
    const Image<float>& map = problem.TargetFeatures().levels[static_cast<size_t>(l)].values;
    const double inverse_scale = 1.0 / (1 << l);
    const double root = std::sqrt(problem.level_weights[static_cast<size_t>(l)]);
    levels[l] = {map.Data(),
                 map.Width(),
                 map.Height(),
                 inverse_scale,
                 static_cast<float>(root),
                 static_cast<float>(root * inverse_scale)};
  }
  return problem.levels;
}

struct Taps {
  const float *a, *b, *c, *d;  // the four pixels
};

inline Taps TapsAt(const Level& level, int pixel) {
  const float* top = level.data + static_cast<ptrdiff_t>(pixel) * kStride;
  const float* bottom = top + static_cast<ptrdiff_t>(level.width) * kStride;
  return {top, top + kStride, bottom, bottom + kStride};
}

inline Float4 BlendTaps(const Taps& taps, int channel, const Float4* w) {
  return w[0] * Load4(taps.a + channel) + w[1] * Load4(taps.b + channel) + w[2] * Load4(taps.c + channel) +
         w[3] * Load4(taps.d + channel);
}

inline void SplatWeights(const std::array<float, 4>& weights, float scale, Float4* w) {
  for (size_t i = 0; i < 4; ++i) w[i] = Splat4(scale * weights[i]);
}

// The pair's levels, with the source's features by plain pointers.
struct FastProblem {
  Level levels[kMaxLevels];
  BlockCells cells[kMaxLevels];  // of the current block
  int num_levels = 0;
  const float* finest = nullptr;
  const float* coarse = nullptr;
  const int* pixels = nullptr;
  int finest_stride = 0;
  int source_width = 0;

  explicit FastProblem(const FmProblem& problem)
      : num_levels(MakeLevels(problem, levels)),
        finest(problem.source->keyframe->frame->features.levels[0].values.Data()),
        coarse(problem.source->coarse_features.data()),
        pixels(problem.source->pixels.data()),
        finest_stride(problem.source->keyframe->frame->features.levels[0].values.Channels()),
        source_width(problem.source->keyframe->frame->view->mask.Width()),
        coarse_stride_((problem.source->NumLevels() - 1) * kChannels) {}

  void FindAllCells(const WarpBlock& block) {
    for (int l = 0; l < num_levels; ++l)
      FindCells(block, levels[l].width, levels[l].height, levels[l].inverse_scale, cells[l]);
  }
  const float* Features(int sample, int level) const {
    return level == 0 ? finest + static_cast<ptrdiff_t>(pixels[sample]) * finest_stride
                      : coarse + static_cast<ptrdiff_t>(sample) * coarse_stride_ + (level - 1) * kChannels;
  }
  SourceGradient GradientOf(int sample, const Unwarp& unwarp, int place) const {
    return {Features(sample, 0), finest_stride, source_width, levels[0].gradient_scale, unwarp, place};
  }

 private:
  int coarse_stride_;
};

template <bool kExact>
void Contract(const FastProblem& fast, const Unwarp* unwarp, int sample, int place, Contractions& out) {
  Float4 e = {}, hu = {}, hv = {}, muu = {}, muv = {}, mvv = {};
  for (int l = 0; l < fast.num_levels; ++l) {
    const Level& level = fast.levels[l];
    const Taps taps = TapsAt(level, fast.cells[l].pixel[place]);
    const Cell<float> cell{0, 0, fast.cells[l].a[place], fast.cells[l].b[place]};
    Float4 w[4], wu[4], wv[4];
    SplatWeights(cell.Weights(), level.residual_scale, w);
    SplatWeights(kExact ? cell.WeightsByU() : cell.Weights(), level.gradient_scale, wu);
    if (kExact) SplatWeights(cell.WeightsByV(), level.gradient_scale, wv);
    const float* features = fast.Features(sample, l);
    const bool mixes = unwarp != nullptr && l == 0 && unwarp->share[place] > 0;
    const SourceGradient source = mixes ? fast.GradientOf(sample, *unwarp, place) : SourceGradient();
#pragma GCC unroll 4
    for (int c = 0; c < kChannels; c += 4) {
      const Float4 r = BlendTaps(taps, c, w) - level.residual_scale * Load4(features + c);
      Float4 gu = BlendTaps(taps, kExact ? c : kChannels + c, wu);
      Float4 gv = BlendTaps(taps, kExact ? c : 2 * kChannels + c, kExact ? wv : wu);
      if (mixes) source.MixInto(c, gu, gv);
      e += r * r;
      hu += gu * r;
      hv += gv * r;
      muu += gu * gu;
      muv += gu * gv;
      mvv += gv * gv;
    }
  }
  const Float4 first = SumFour(e, hu, hv, muu);
  out.e[place] = first[0];
  out.hu[place] = first[1];
  out.hv[place] = first[2];
  out.muu[place] = first[3];
  out.muv[place] = Sum4(muv);
  out.mvv[place] = Sum4(mvv);
}

float SampleError(const FastProblem& fast, int sample, int place) {
  Float4 e = {};
  for (int l = 0; l < fast.num_levels; ++l) {
    const Level& level = fast.levels[l];
    const Taps taps = TapsAt(level, fast.cells[l].pixel[place]);
    Float4 w[4];
    SplatWeights(Cell<float>{0, 0, fast.cells[l].a[place], fast.cells[l].b[place]}.Weights(),
                 level.residual_scale, w);
    const float* features = fast.Features(sample, l);
#pragma GCC unroll 4
    for (int c = 0; c < kChannels; c += 4) {
      const Float4 r = BlendTaps(taps, c, w) - level.residual_scale * Load4(features + c);
      e += r * r;
    }
  }
  return Sum4(e);
}

inline Float4 Root(Float4 x) {
  Float4 root;
  for (int i = 0; i < 4; ++i) root[i] = std::sqrt(x[i]);
  return root;
}

// Cholesky of M in the basis (q̂, q̂⊥), of four samples at once.
struct SplitMatrix {
  Float4 full_u, full_v;  // times the rows of d(u, v): the row over all unknowns
  Float4 pose_u, pose_v;  // the row over the pose alone
  Float4 depth_row;       // the first row's derivative by the depth
};

inline SplitMatrix Split(const Contractions& m, int i, const MotionColumns& motion) {
  const Float4 muu = Load4(m.muu + i);
  const Float4 muv = Load4(m.muv + i);
  const Float4 mvv = Load4(m.mvv + i);
  const Float4 zero = {};
  const Float4 one = Splat4(1.0F);
  // The direction the depth moves the pixel in; any direction where it does not.
  const Float4 length = Root(motion.u_by_depth * motion.u_by_depth + motion.v_by_depth * motion.v_by_depth);
  const auto moves = length > 1e-12F;
  const Float4 qu = moves ? motion.u_by_depth / length : one;
  const Float4 qv = moves ? motion.v_by_depth / length : zero;
  const Float4 mu = muu * qu + muv * qv;  // M q̂
  const Float4 mv = muv * qu + mvv * qv;
  const Float4 along = mu * qu + mv * qv;                                    // q̂ᵀ M q̂
  const Float4 across = mv * qu - mu * qv;                                   // q̂⊥ᵀ M q̂
  const Float4 side = muu * qv * qv - 2.0F * muv * qu * qv + mvv * qu * qu;  // q̂⊥ᵀ M q̂⊥
  const auto has_along = along > 1e-20F;
  const Float4 inverse_root = has_along ? 1.0F / Root(along) : zero;
  const Float4 scaled_across = across * inverse_root;
  const Float4 rest = side - scaled_across * scaled_across;
  const Float4 root_rest = Root(rest > 0.0F ? rest : zero);
  return {inverse_root * mu, inverse_root * mv, -root_rest * qv, root_rest * qu,
          length * along * inverse_root};
}

// Rows of one block of samples, and their sums of b in float; flushed to double.
template <int kWidth>
struct RowBuffer {
  alignas(16) float full[kWarpBlock * kWidth];  // over all unknowns
  alignas(16) float pose[kWarpBlock * 8];       // over the pose alone
  Float4 pose_b[7];                             // by unknown, four samples side by side
  alignas(16) float code_b[kWidth - kCodes + 4];

  void Flush(int count, double* H, double* pose_H, double* b) {
    AddOuterProducts<kWidth>(full, count, H);
    AddOuterProducts<8>(pose, count, pose_H);
    for (int k = 0; k < 7; ++k) b[k] += static_cast<double>(Sum4(pose_b[k]));
    for (int k = kCodes; k < kWidth; ++k) b[k] += static_cast<double>(code_b[k - kCodes]);
  }
};

template <int kWidth>
void FillRows(const FmProblem& problem, const WarpBlock& block, const Contractions& m, float scale,
              RowBuffer<kWidth>& rows) {
  const UnifiedCamera& camera = problem.target->view->camera;
  alignas(16) float depth_row[kWarpBlock];
  alignas(16) float depth_b[kWarpBlock];
  for (Float4& sum : rows.pose_b) sum = Float4{};
  for (int i = 0; i < block.count; i += 4) {
    const MotionColumns motion = MotionOf(block, i, camera);
    const SplitMatrix split = Split(m, i, motion);
    const Float4 hu = Load4(m.hu + i);
    const Float4 hv = Load4(m.hv + i);
    const Float4 depth = Load4(block.depth + i);
    const Float4 h_depth = motion.u_by_depth * hu + motion.v_by_depth * hv;
    Float4 full[8], pose[8];
    for (int k = 0; k < 6; ++k) {
      full[k] = split.full_u * motion.u[k] + split.full_v * motion.v[k];
      pose[k] = split.pose_u * motion.u[k] + split.pose_v * motion.v[k];
      rows.pose_b[k] += hu * motion.u[k] + hv * motion.v[k];
    }
    full[kSourceScale] = split.depth_row * depth;
    rows.pose_b[kSourceScale] += h_depth * depth;
    full[kTargetScale] = pose[6] = pose[7] = Float4{};
    StoreRows(full, rows.full + i * kWidth, kWidth);
    StoreRows(pose, rows.pose + i * 8, 8);
    Store4(depth_row + i, split.depth_row);
    Store4(depth_b + i, h_depth);
  }
  if constexpr (kWidth > kCodes) {
    Float4 sum[kBases / 4] = {};
    for (int i = 0; i < block.count; ++i) {
      const float* bases = problem.source->Bases(block.sample[i]);
      float* row = rows.full + i * kWidth + kCodes;
      for (int k = 0; k < kBases; k += 4) {
        const Float4 z = Load4(bases + k) * scale;
        Store4(row + k, depth_row[i] * z);
        sum[k / 4] += depth_b[i] * z;
      }
    }
    for (int k = 0; k < kBases; k += 4) Store4(rows.code_b + k, sum[k / 4]);
  }
}

template <int kWidth, bool kExact>
PairSystem SumSystem(const FmProblem& problem, const PairState& state, SampleRange range) {
  FastProblem fast(problem);
  const float scale = static_cast<float>(std::exp(state.source_log_scale));
  Eigen::Matrix<double, kWidth, kWidth> hessian = Eigen::Matrix<double, kWidth, kWidth>::Zero();
  Eigen::Matrix<double, 8, 8> pose_hessian = Eigen::Matrix<double, 8, 8>::Zero();
  PairSystem sum(kWidth);
  const auto threshold = static_cast<float>(problem.robust_threshold);
  const BlockWarper warper(*problem.source, *problem.target->view, state, problem.hidden,
                           problem.fixed_depths);
  WarpBlock block;
  Unwarp unwarp;
  const Eigen::Matrix3f rotation = state.target_from_source.RotationMatrix().cast<float>();
  Contractions contractions;
  RowBuffer<kWidth> rows;
  for (int begin = range.begin; begin < range.end; begin += kWarpBlock) {
    warper.Warp({begin, std::min(begin + kWarpBlock, range.end)}, block);
    fast.FindAllCells(block);
    if (problem.symmetric) unwarp.Fill(problem, rotation, block);
    for (int i = 0; i < block.count; ++i)
      Contract<kExact>(fast, problem.symmetric ? &unwarp : nullptr, block.sample[i], i, contractions);
    if (threshold > 0) contractions.Soften(block.count, threshold);
    contractions.Pad(block.count);
    FillRows<kWidth>(problem, block, contractions, scale, rows);
    rows.Flush(block.count, hessian.data(), pose_hessian.data(), sum.b.data());
    sum.error += 0.5 * SumErrors(contractions.e, block.count, threshold);
    sum.count += block.count;
  }
  hessian.template topLeftCorner<8, 8>() += pose_hessian;
  sum.H = hessian.template selfadjointView<Eigen::Lower>();
  return sum;
}

PairSystem SumError(const FmProblem& problem, const PairState& state, SampleRange range) {
  FastProblem fast(problem);
  PairSystem sum(kCodes + (problem.source_code_is_free ? kBases : 0));
  const auto threshold = static_cast<float>(problem.robust_threshold);
  const BlockWarper warper(*problem.source, *problem.target->view, state, problem.hidden,
                           problem.fixed_depths);
  WarpBlock block;
  for (int begin = range.begin; begin < range.end; begin += kWarpBlock) {
    warper.Warp({begin, std::min(begin + kWarpBlock, range.end)}, block);
    fast.FindAllCells(block);
    float e[kWarpBlock];
    for (int i = 0; i < block.count; ++i) e[i] = SampleError(fast, block.sample[i], i);
    sum.error += 0.5 * SumErrors(e, block.count, threshold);
    sum.count += block.count;
  }
  return sum;
}

}  // namespace

bool FmFastServes(const FmProblem& problem) {
  return problem.source->FeatureChannels() == kChannels &&
         (!problem.source_code_is_free || problem.source->NumBases() == kBases);
}

PairSystem SumFmFast(const FmProblem& problem, const PairState& state, SampleRange range,
                     bool with_derivatives) {
  if (!with_derivatives) return SumError(problem, state, range);
  if (problem.source_code_is_free) {
    return problem.exact_derivative ? SumSystem<kCodes + kBases, true>(problem, state, range)
                                    : SumSystem<kCodes + kBases, false>(problem, state, range);
  }
  return problem.exact_derivative ? SumSystem<kCodes, true>(problem, state, range)
                                  : SumSystem<kCodes, false>(problem, state, range);
}

}  // namespace lumen
