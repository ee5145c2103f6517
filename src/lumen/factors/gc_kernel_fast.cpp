// The tuned geometric-consistency kernel: one row of (up to) 40 unknowns per sample, scaled by the root of
// its Cauchy weight; H is the sum of the rows' outer products, taken in float over a block of samples.
#include "lumen/factors/bilinear.h"
#include "lumen/factors/gc_kernel.h"
#include "lumen/factors/simd.h"
#include "lumen/factors/warp_block.h"

namespace lumen {

namespace {

constexpr int kBases = 16;

// ln Π (1 + x) instead of Σ ln(1 + x): one logarithm for many samples.
class LogProduct {
 public:
  void Add(double x) {
    product_ *= 1 + x;
    if (product_ > 1e200) Fold();
  }
  double Value() {
    Fold();
    return sum_;
  }

 private:
  void Fold() {
    sum_ += std::log(product_);
    product_ = 1;
  }
  double product_ = 1;
  double sum_ = 0;
};

// What a block's samples see in the target, and their residuals (ζ − D) / s_src.
struct TargetBlock {
  BlockCells cells;
  float depth[kWarpBlock], by_u[kWarpBlock], by_v[kWarpBlock];
  float residual[kWarpBlock];
  float root_weight[kWarpBlock];  // √ρ'
};

void SampleTarget(const DepthField<float>& field, bool exact, const WarpBlock& block, TargetBlock& target) {
  FindCells(block, field.width, field.height, 1.0, target.cells);
  for (int i = 0; i < block.count; ++i) {
    const Cell<float> cell{0, 0, target.cells.a[i], target.cells.b[i]};
    const float* top = field.values.data() + 4 * static_cast<ptrdiff_t>(target.cells.pixel[i]);
    const float* bottom = top + 4 * static_cast<ptrdiff_t>(field.width);
    const auto w = cell.Weights();
    const Float4 sampled =
        w[0] * Load4(top) + w[1] * Load4(top + 4) + w[2] * Load4(bottom) + w[3] * Load4(bottom + 4);
    target.depth[i] = sampled[0];
    target.by_u[i] = exact ? (1 - cell.b) * (top[4] - top[0]) + cell.b * (bottom[4] - bottom[0]) : sampled[1];
    target.by_v[i] = exact ? (1 - cell.a) * (bottom[0] - top[0]) + cell.a * (bottom[4] - top[4]) : sampled[2];
  }
}

// Residuals, their weights and Σ ρ.
void WeighResiduals(const WarpBlock& block, double inverse_scale, double inverse_threshold,
                    TargetBlock& target, LogProduct& log_product) {
  for (int i = 0; i < block.count; ++i) {
    const double residual =
        (static_cast<double>(block.zeta[i]) - static_cast<double>(target.depth[i])) * inverse_scale;
    const double ratio = residual * residual * inverse_threshold;
    log_product.Add(ratio);
    target.residual[i] = static_cast<float>(residual);
    target.root_weight[i] = static_cast<float>(std::sqrt(inverse_threshold / (1 + ratio)));
  }
  for (int k = block.count; k < (block.count + 3) / 4 * 4; ++k) {
    target.depth[k] = target.by_u[k] = target.by_v[k] = target.residual[k] = target.root_weight[k] = 0;
  }
}

template <bool kSource, bool kTarget>
class RowFiller {
 public:
  static constexpr int kWidth = kCodes + (kSource ? kBases : 0) + (kTarget ? kBases : 0);

  RowFiller(const GcProblem& problem, const PairState& state)
      : problem_(problem),
        inverse_scale_(static_cast<float>(std::exp(-state.source_log_scale))),
        scale_ratio_(static_cast<float>(std::exp(state.target_log_scale - state.source_log_scale))) {}

  // The residuals' derivatives by all unknowns, times the root of their weight.
  void Fill(const WarpBlock& block, const TargetBlock& target, float* rows) const {
    alignas(16) float by_depth[kWarpBlock];
    FillPoseAndScales(block, target, by_depth, rows);
    for (int i = 0; i < block.count; ++i) {
      float* row = rows + i * kWidth + kCodes;
      if constexpr (kSource) {
        const float* bases = problem_.source->Bases(block.sample[i]);
        for (int k = 0; k < kBases; k += 4) Store4(row + k, by_depth[i] * Load4(bases + k));
        row += kBases;
      }
      if constexpr (kTarget) FillTargetCode(target, i, row);
    }
  }

 private:
  void FillPoseAndScales(const WarpBlock& block, const TargetBlock& target, float* by_depth,
                         float* rows) const {
    const UnifiedCamera& camera = problem_.target->frame->view->camera;
    for (int i = 0; i < block.count; i += 4) {
      const MotionColumns motion = MotionOf(block, i, camera);
      const Float4 root = Load4(target.root_weight + i);
      const Float4 scaled = inverse_scale_ * root;
      const Float4 gu = scaled * Load4(target.by_u + i);
      const Float4 gv = scaled * Load4(target.by_v + i);
      const DepthMotion depth = DepthMotionOf(block, i, camera);
      const Float4 depth_column =
          scaled * Load4(block.zeta_by_depth + i) - gu * motion.u_by_depth - gv * motion.v_by_depth;
      Float4 columns[8];
      for (int k = 0; k < 6; ++k) columns[k] = -gu * motion.u[k] - gv * motion.v[k];
      // The point's own depth moves, too.
      if (block.wide) {
        columns[0] += scaled * depth.by_place[0];
        columns[1] += scaled * depth.by_place[1];
      }
      columns[2] += scaled * depth.by_place[2];
      columns[3] += scaled * depth.by_turn[0];
      columns[4] += scaled * depth.by_turn[1];
      columns[kSourceScale] = depth_column * Load4(block.depth + i) - root * Load4(target.residual + i);
      columns[kTargetScale] = -scaled * Load4(target.depth + i);
      StoreRows(columns, rows + i * kWidth, kWidth);
      Store4(by_depth + i, depth_column / inverse_scale_);  // d depth / d code is s · bases
    }
  }

  void FillTargetCode(const TargetBlock& target, int i, float* row) const {
    const Image<float>& bases = problem_.target->depth.bases;
    const float* top = bases.Data() + static_cast<ptrdiff_t>(target.cells.pixel[i]) * kBases;
    const float* bottom = top + static_cast<ptrdiff_t>(bases.Width()) * kBases;
    const auto w = Cell<float>{0, 0, target.cells.a[i], target.cells.b[i]}.Weights();
    const float factor = -target.root_weight[i] * scale_ratio_;
    for (int k = 0; k < kBases; k += 4) {
      Store4(row + k, factor * (w[0] * Load4(top + k) + w[1] * Load4(top + kBases + k) +
                                w[2] * Load4(bottom + k) + w[3] * Load4(bottom + kBases + k)));
    }
  }

  const GcProblem& problem_;
  float inverse_scale_;  // 1 / s_src
  float scale_ratio_;    // s_tgt / s_src
};

template <bool kSource, bool kTarget, int kWidth = RowFiller<kSource, kTarget>::kWidth>
PairSystem Sum(const GcProblem& problem, const PairState& state, const DepthField<float>& field,
               SampleRange range, bool with_derivatives) {
  const RowFiller<kSource, kTarget> filler(problem, state);
  const double inverse_scale = std::exp(-state.source_log_scale);
  Eigen::Matrix<double, kWidth, kWidth> hessian = Eigen::Matrix<double, kWidth, kWidth>::Zero();
  PairSystem sum(kWidth);
  const BlockWarper warper(*problem.source, *problem.target->frame->view, state, problem.hidden);
  WarpBlock block;
  TargetBlock target;
  LogProduct log_product;
  alignas(16) float rows[kWarpBlock * kWidth];
  for (int begin = range.begin; begin < range.end; begin += kWarpBlock) {
    warper.Warp({begin, std::min(begin + kWarpBlock, range.end)}, block);
    SampleTarget(field, problem.exact_derivative, block, target);
    WeighResiduals(block, inverse_scale, 1.0 / problem.threshold, target, log_product);
    sum.count += block.count;
    if (!with_derivatives) continue;
    filler.Fill(block, target, rows);
    AddOuterProducts<kWidth>(rows, block.count, hessian.data());
    Float4 b[kWidth / 4] = {};
    for (int i = 0; i < block.count; ++i) {
      const float slope = target.root_weight[i] * target.residual[i];
      for (int k = 0; k < kWidth; k += 4) b[k / 4] += slope * Load4(rows + i * kWidth + k);
    }
    for (int k = 0; k < kWidth; ++k) sum.b[k] += static_cast<double>(b[k / 4][k % 4]);
  }
  sum.error = 0.5 * log_product.Value();
  sum.H = hessian.template selfadjointView<Eigen::Lower>();
  return sum;
}

}  // namespace

bool GcFastServes(const GcProblem& problem) {
  return (!problem.source_code_is_free || problem.source->NumBases() == kBases) &&
         (!problem.target_code_is_free || problem.target->depth.NumBases() == kBases);
}

PairSystem SumGcFast(const GcProblem& problem, const PairState& state, const DepthField<float>& field,
                     SampleRange range, bool with_derivatives) {
  const auto sum = problem.source_code_is_free
                       ? (problem.target_code_is_free ? Sum<true, true> : Sum<true, false>)
                       : (problem.target_code_is_free ? Sum<false, true> : Sum<false, false>);
  return sum(problem, state, field, range, with_derivatives);
}

}  // namespace lumen
