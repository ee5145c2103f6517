// The dense factors' kernels: the plain ones against numeric differentiation of their residuals, the tuned
// ones against the plain ones.
#include <gtest/gtest.h>

#include "lumen/factors/fm_kernel.h"
#include "lumen/factors/gc_kernel.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/geometry/numeric_jacobian.h"

namespace lumen {
namespace {

FmProblem MakeFmProblem(const PairScene& scene, bool exact, bool with_code) {
  FmProblem problem;
  problem.source = scene.samples.get();
  problem.target = scene.target->frame.get();
  problem.level_weights = {10, 9, 8, 7};
  problem.levels = 4;
  problem.exact_derivative = exact;
  problem.source_code_is_free = with_code;
  return problem;
}

GcProblem MakeGcProblem(const PairScene& scene, bool exact, bool source_code, bool target_code) {
  GcProblem problem;
  problem.source = scene.samples.get();
  problem.target = scene.target.get();
  problem.threshold = 0.03 * static_cast<double>(scene.source->depth.mean_square);
  problem.exact_derivative = exact;
  problem.source_code_is_free = source_code;
  problem.target_code_is_free = target_code;
  return problem;
}

// A state moved by local unknowns: pose, log-scales, then the codes that are free.
PairState Moved(const PairState& state, const Eigen::VectorXd& d, bool source_code, bool target_code) {
  PairState moved = state;
  moved.target_from_source = state.target_from_source.Retract(Vector6d(d.head<6>()));
  moved.source_log_scale += d[kSourceScale];
  moved.target_log_scale += d[kTargetScale];
  Eigen::Index at = kCodes;
  if (source_code) {
    moved.source_code += d.segment(at, state.source_code.size());
    at += state.source_code.size();
  }
  if (target_code) moved.target_code += d.segment(at, state.target_code.size());
  return moved;
}

// A scene with few samples, so that numeric differences rarely step over the edge of a bilinear cell.
PairScene FewSamples(PairScene scene, int count) {
  Random random(9);
  std::vector<Eigen::Vector2i> pixels;
  for (int i = 0; i < count; ++i) {
    pixels.push_back(
        {static_cast<int>(random.UniformInt(12, 67)), static_cast<int>(random.UniformInt(12, 51))});
  }
  scene.samples = MakeKeyframeSamples(scene.source, pixels);
  return scene;
}

constexpr double kStep = 1e-8;  // in double a difference of two warps still has eight digits

// Through a pinhole and through a fisheye.
class FactorKernelLens : public testing::TestWithParam<bool> {
 protected:
  static PairSceneOptions Lens(PairSceneOptions options = {}) { return GetParam() ? Wide(options) : options; }
};
INSTANTIATE_TEST_SUITE_P(Both, FactorKernelLens, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "Fisheye" : "Pinhole"; });

TEST_P(FactorKernelLens, PlainFmJacobianMatchesNumericOnGeneralMapsWithExactDerivative) {
  const PairScene scene = FewSamples(MakeCavityScene(Lens()), 60);
  Random random(1);
  const FmProblem problem = MakeFmProblem(scene, true, true);
  for (int trial = 0; trial < 5; ++trial) {
    const PairState state = PerturbState(scene.TruePairState(), 0.02, 0.02, random);
    Eigen::MatrixXd analytic;
    StackFmResiduals(problem, state, &analytic);
    const auto residuals = [&](const Eigen::VectorXd& d) {
      return StackFmResiduals(problem, Moved(state, d, true, false), nullptr);
    };
    const Eigen::MatrixXd numeric = NumericJacobian(residuals, Eigen::VectorXd::Zero(analytic.cols()), kStep);
    EXPECT_LT(RelativeError(analytic, numeric), 1e-5) << trial;
    EXPECT_GT(numeric.rightCols(16).norm(), 1e-3 * numeric.norm());
  }
}

TEST_P(FactorKernelLens, PlainGcJacobianMatchesNumericOnGeneralMapsWithExactDerivative) {
  const PairScene scene = FewSamples(MakeCavityScene(Lens()), 60);
  Random random(2);
  const GcProblem problem = MakeGcProblem(scene, true, true, true);
  for (int trial = 0; trial < 5; ++trial) {
    const PairState state = PerturbState(scene.TruePairState(), 0.02, 0.02, random);
    Eigen::MatrixXd analytic;
    StackGcResiduals(problem, state, &analytic);
    const auto residuals = [&](const Eigen::VectorXd& d) {
      return StackGcResiduals(problem, Moved(state, d, true, true), nullptr);
    };
    const Eigen::MatrixXd numeric = NumericJacobian(residuals, Eigen::VectorXd::Zero(analytic.cols()), kStep);
    EXPECT_LT(RelativeError(analytic, numeric), 1e-5) << trial;
    for (int column = 0; column < numeric.cols(); ++column)
      EXPECT_GT(numeric.col(column).norm(), 1e-4) << column;
  }
}

TEST_P(FactorKernelLens, PlainFmJacobianMatchesNumericOnAffineMapsWithDefaultGradients) {
  const PairScene scene = MakeAffineScene(Lens());
  Random random(3);
  const FmProblem problem = MakeFmProblem(scene, false, true);
  const PairState state = PerturbState(scene.TruePairState(), 0.02, 0.02, random);
  Eigen::MatrixXd analytic;
  StackFmResiduals(problem, state, &analytic);
  const auto residuals = [&](const Eigen::VectorXd& d) {
    return StackFmResiduals(problem, Moved(state, d, true, false), nullptr);
  };
  EXPECT_LT(RelativeError(analytic, NumericJacobian(residuals, Eigen::VectorXd::Zero(24), kStep)), 1e-5);
}

void ExpectSame(const PairSystem& fast, const PairSystem& plain, const std::string& what) {
  EXPECT_EQ(fast.count, plain.count) << what;
  EXPECT_GT(plain.count, 100) << what;
  EXPECT_LT(RelativeError(fast.H, plain.H), 1e-5) << what;
  EXPECT_LT(RelativeError(fast.b, plain.b), 1e-5) << what;
  EXPECT_NEAR(fast.error, plain.error, 1e-5 * plain.error) << what;
}

TEST_P(FactorKernelLens, TunedFmEqualsPlain) {
  for (const uint64_t seed : {1, 2, 3}) {
    const PairScene scene = MakeCavityScene(Lens({.whole_image = seed == 3, .seed = seed}));
    Random random(seed);
    const PairState state = PerturbState(scene.TruePairState(), 0.03, 0.03, random);
    const SampleRange all{0, scene.samples->Size()};
    for (const bool exact : {false, true}) {
      for (const bool with_code : {false, true}) {
        const FmProblem problem = MakeFmProblem(scene, exact, with_code);
        ASSERT_TRUE(FmFastServes(problem));
        const std::string what = StrCat("seed ", seed, exact ? " exact" : "", with_code ? " code" : "");
        ExpectSame(SumFmFast(problem, state, all, true), SumFmPlain(problem, state, all, true), what);
        const PairSystem error_only = SumFmFast(problem, state, all, false);
        EXPECT_NEAR(error_only.error, SumFmPlain(problem, state, all, false).error, 1e-5 * error_only.error);
      }
    }
  }
}

TEST_P(FactorKernelLens, TunedGcEqualsPlain) {
  for (const uint64_t seed : {1, 2, 3}) {
    const PairScene scene = MakeCavityScene(Lens({.whole_image = seed == 3, .seed = seed}));
    Random random(seed);
    const PairState state = PerturbState(scene.TruePairState(), 0.03, 0.03, random);
    const SampleRange all{0, scene.samples->Size()};
    for (int variant = 0; variant < 8; ++variant) {
      const GcProblem problem =
          MakeGcProblem(scene, (variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0);
      ASSERT_TRUE(GcFastServes(problem));
      const auto plain_field = MakeDepthField<double>(problem, state);
      const auto fast_field = MakeDepthField<float>(problem, state);
      const std::string what = StrCat("seed ", seed, " variant ", variant);
      ExpectSame(SumGcFast(problem, state, fast_field, all, true),
                 SumGcPlain(problem, state, plain_field, all, true), what);
      const PairSystem error_only = SumGcFast(problem, state, fast_field, all, false);
      EXPECT_NEAR(error_only.error, SumGcPlain(problem, state, plain_field, all, false).error,
                  1e-5 * error_only.error);
    }
  }
}

TEST_P(FactorKernelLens, TunedEqualsPlainWithBothGradientsAndHiddenSamples) {
  for (const uint64_t seed : {1, 2, 3}) {
    const PairScene scene = MakeCavityScene(Lens({.whole_image = seed == 3, .seed = seed}));
    Random random(seed);
    PairState state = PerturbState(scene.TruePairState(), 0.03, 0.03, random);
    // Rolled as well: the source's gradient has to turn with it.
    if (seed == 2)
      state.target_from_source =
          Rigid3(ExpSO3({0, 0, 0.6}), Eigen::Vector3d::Zero()) * state.target_from_source;
    const SampleRange all{0, scene.samples->Size()};
    HiddenSamples hidden(static_cast<size_t>(scene.samples->Size()));
    for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = random.Uniform(0, 1) < 0.3;
    FmProblem problem = MakeFmProblem(scene, false, true);
    const PairSystem one_sided = SumFmPlain(problem, state, all, true);
    problem.symmetric = true;
    const PairSystem both = SumFmPlain(problem, state, all, true);
    ExpectSame(SumFmFast(problem, state, all, true), both, StrCat("symmetric, seed ", seed));
    EXPECT_NEAR(both.error, one_sided.error, 1e-9 * both.error);
    EXPECT_GT(RelativeError(both.H, one_sided.H), 1e-3);
    EXPECT_LT(RelativeError(both.H, one_sided.H), GetParam() ? 0.3 : 0.2);
    problem.hidden = &hidden;
    const PairSystem seen = SumFmPlain(problem, state, all, true);
    ExpectSame(SumFmFast(problem, state, all, true), seen, StrCat("hidden, seed ", seed));
    EXPECT_LT(seen.count, 0.8 * static_cast<double>(both.count));
    EXPECT_GT(seen.count, 0.6 * static_cast<double>(both.count));
    GcProblem gc = MakeGcProblem(scene, false, true, true);
    gc.hidden = &hidden;
    const PairSystem gc_seen = SumGcPlain(gc, state, MakeDepthField<double>(gc, state), all, true);
    ExpectSame(SumGcFast(gc, state, MakeDepthField<float>(gc, state), all, true), gc_seen, "GC hidden");
    EXPECT_EQ(gc_seen.count, seen.count);
  }
}

// A pinhole beside a fisheye, either way round.
TEST(FactorKernelLenses, TunedEqualsPlainBetweenDifferentLenses) {
  const PairScene narrow = MakeCavityScene();
  const PairScene wide = MakeCavityScene(Wide());
  for (const bool to_wide : {false, true}) {
    PairScene scene = to_wide ? narrow : wide;
    scene.target = (to_wide ? wide : narrow).target;
    Random random(4);
    const PairState state = PerturbState(scene.TruePairState(), 0.02, 0.02, random);
    const SampleRange all{0, scene.samples->Size()};
    FmProblem fm = MakeFmProblem(scene, false, true);
    fm.symmetric = true;
    ExpectSame(SumFmFast(fm, state, all, true), SumFmPlain(fm, state, all, true), "FM");
    const GcProblem gc = MakeGcProblem(scene, false, true, true);
    ExpectSame(SumGcFast(gc, state, MakeDepthField<float>(gc, state), all, true),
               SumGcPlain(gc, state, MakeDepthField<double>(gc, state), all, true), "GC");
  }
}

// Beyond its limit a fisheye's formula folds back into the picture: what lies behind must not be seen.
TEST(FactorKernelLenses, NothingBehindAFisheyeIsSeen) {
  const PairScene scene = MakeCavityScene(Wide());
  PairState state = scene.TruePairState();
  state.target_from_source = Rigid3(ExpSO3({0, M_PI, 0}), Eigen::Vector3d::Zero());
  const SampleRange all{0, scene.samples->Size()};
  const FmProblem problem = MakeFmProblem(scene, false, false);
  EXPECT_EQ(SumFmFast(problem, state, all, true).count, 0);
  EXPECT_EQ(SumFmPlain(problem, state, all, true).count, 0);
}

// The keyframe with waves added to its features that belong to the picture and not to the place: the
// stronger, the further right.
std::shared_ptr<const Keyframe> WithNoise(const Keyframe& keyframe, Random random) {
  FeaturePyramid packed = PackFeatures(keyframe.frame->features);
  Image<float>& map = packed.levels[0].values;
  for (int c = 0; c < map.Channels(); ++c) {
    const double angle = random.Uniform(0, 2 * M_PI);
    const double phase = random.Uniform(0, 2 * M_PI);
    const double rate = random.Uniform(0.5, 0.9);  // radians a pixel
    for (int y = 0; y < map.Height(); ++y) {
      for (int x = 0; x < map.Width(); ++x) {
        const double wave = std::sin(rate * (x * std::cos(angle) + y * std::sin(angle)) + phase);
        map(x, y, c) += static_cast<float>(0.6 * wave * x / map.Width());
      }
    }
  }
  auto frame = std::make_shared<Frame>(*keyframe.frame);
  frame->features = UnpackFeatures(packed, keyframe.frame->view->mask, packed.packed_levels);
  return std::make_shared<const Keyframe>(Keyframe{frame, keyframe.depth});
}

// Where two pictures of a place differ, least squares leans to where the target's differences are small. The
// true state should be where the steps end.
TEST(FactorFmKernel, WithBothGradientsDifferencesDoNotPull) {
  const PairScene scene = MakeCavityScene();
  const PairState truth = scene.TruePairState();
  // The mean over many such differences is what is left of them.
  constexpr int kTrials = 30;
  const auto pull = [&](bool symmetric) {
    Vector6d b = Vector6d::Zero();
    Matrix6d H = Matrix6d::Zero();
    for (uint64_t seed = 0; seed < kTrials; ++seed) {
      const auto source = MakeKeyframeSamples(WithNoise(*scene.source, Random(seed)));
      const auto target = WithNoise(*scene.target, Random(seed + 100));
      FmProblem problem = MakeFmProblem(scene, false, false);
      problem.source = source.get();
      problem.target = target->frame.get();
      problem.levels = 1;
      problem.symmetric = symmetric;
      const PairSystem system = SumFmFast(problem, truth, {0, source->Size()}, true);
      b += system.b.head<6>() / kTrials;
      H += system.H.topLeftCorner<6, 6>() / kTrials;
    }
    return std::sqrt(b.dot(H.ldlt().solve(b)));
  };
  const double one_sided = pull(false);
  const double both = pull(true);
  RecordProperty("one_sided", std::to_string(one_sided));
  RecordProperty("both", std::to_string(both));
  EXPECT_LT(both, 0.5 * one_sided);
}

// Pure rotation: the depth does not move the pixel, so the tuned kernel's direction of it is undefined.
TEST_P(FactorKernelLens, TunedFmEqualsPlainWhereDepthHasNoEffect) {
  const PairScene scene = MakeCavityScene(Lens());
  PairState state = scene.TruePairState();
  state.target_from_source = Rigid3(ExpSO3({0.02, -0.03, 0.01}), Eigen::Vector3d::Zero());
  const SampleRange all{0, scene.samples->Size()};
  const FmProblem problem = MakeFmProblem(scene, false, true);
  const PairSystem fast = SumFmFast(problem, state, all, true);
  ExpectSame(fast, SumFmPlain(problem, state, all, true), "rotation");
  EXPECT_LT(fast.H.col(kSourceScale).norm(), 1e-4 * fast.H.norm());
}

TEST(FactorFmKernel, DefaultGradientsDifferLittleFromExactOnesOnSmoothMaps) {
  const PairScene scene = MakeCavityScene();
  Random random(5);
  const PairState state = PerturbState(scene.TruePairState(), 0.01, 0.01, random);
  const SampleRange all{0, scene.samples->Size()};
  const PairSystem sampled = SumFmPlain(MakeFmProblem(scene, false, true), state, all, true);
  const PairSystem exact = SumFmPlain(MakeFmProblem(scene, true, true), state, all, true);
  const double fm_H = RelativeError(sampled.H, exact.H);
  const double fm_b = RelativeError(sampled.b, exact.b);
  RecordProperty("fm_hessian_difference", std::to_string(fm_H));
  RecordProperty("fm_gradient_difference", std::to_string(fm_b));
  EXPECT_LT(fm_H, 0.15);
  EXPECT_LT(fm_b, 0.15);
  const GcProblem gc_sampled = MakeGcProblem(scene, false, true, true);
  const GcProblem gc_exact = MakeGcProblem(scene, true, true, true);
  const PairSystem a = SumGcPlain(gc_sampled, state, MakeDepthField<double>(gc_sampled, state), all, true);
  const PairSystem b = SumGcPlain(gc_exact, state, MakeDepthField<double>(gc_exact, state), all, true);
  RecordProperty("gc_hessian_difference", std::to_string(RelativeError(a.H, b.H)));
  EXPECT_LT(RelativeError(a.H, b.H), 0.02);
}

}  // namespace
}  // namespace lumen
