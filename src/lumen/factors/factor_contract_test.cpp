// What every factor promises, asked of all eight and of their tracking versions.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include <functional>

#include "lumen/base/error.h"
#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/match_factors.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/factors/prior_factors.h"
#include "lumen/factors/relative_pose_scale_factor.h"
#include "lumen/geometry/numeric_jacobian.h"

namespace lumen {
namespace {

// A factor together with values at which its residuals vanish.
struct Subject {
  FactorPtr factor;
  Values truth;
};

struct ContractCase {
  std::string name;
  std::function<Subject(uint64_t seed, int threads)> make;
  bool vanishes_at_truth = true;  // but for rounding; false on general maps, which interpolate
  bool sees_a_part = false;       // of a keyframe alone: some unknowns do not matter
};

void PrintTo(const ContractCase& contract_case, std::ostream* out) { *out << contract_case.name; }

const Key kRelative = PoseKey(7);

// The variables of a tracking factor, and the truth for them: only what is named is free.
PairVariables Tracking(const PairScene& scene, bool with_scale, bool with_code, Values& truth) {
  DepthVariables source = DepthVariables::Fixed(scene.source_state.log_scale, scene.source_state.code);
  truth.Insert(kRelative, scene.TargetFromSource());
  if (with_scale) {
    source.log_scale_key = LogScaleKey(0);
    truth.Insert(LogScaleKey(0), scene.source_state.log_scale);
  }
  if (with_code) {
    source.code_key = CodeKey(0);
    truth.Insert(CodeKey(0), scene.source_state.code);
  }
  return PairVariables::Relative(
      kRelative, source, DepthVariables::Fixed(scene.target_state.log_scale, scene.target_state.code));
}

enum class Free { kWorld, kPose, kPoseScale, kPoseScaleCode };

struct PairSubject {
  PairScene scene;
  PairVariables variables;
  Values truth;
};

PairSubject MakePairSubject(PairScene scene, Free free) {
  PairSubject subject;
  if (free == Free::kWorld) {
    subject.variables = PairVariables::World(0, 1);
    subject.truth = scene.TrueValues();
  } else {
    subject.variables = Tracking(scene, free != Free::kPose, free == Free::kPoseScaleCode, subject.truth);
  }
  subject.scene = std::move(scene);
  return subject;
}

// Through which lens.
enum class Lens { kPinhole, kFisheye };
PairSceneOptions Through(Lens lens, const PairSceneOptions& options) {
  return lens == Lens::kFisheye ? Wide(options) : options;
}

PairScene SmallScene(Lens lens, bool affine, uint64_t seed) {
  if (affine) return MakeAffineScene(Through(lens, {.width = 40, .height = 32, .seed = seed}));
  PairScene scene = MakeCavityScene(Through(lens, {.seed = seed}));
  // On general maps the error has kinks at the edges of bilinear cells: few samples, few kinks.
  std::vector<Eigen::Vector2i> pixels;
  Random random(seed);
  for (int i = 0; i < 80; ++i) {
    pixels.push_back(
        {static_cast<int>(random.UniformInt(14, 65)), static_cast<int>(random.UniformInt(14, 49))});
  }
  scene.samples = MakeKeyframeSamples(scene.source, pixels);
  return scene;
}

ContractCase FmCase(const std::string& name, Free free, bool affine, Lens lens = Lens::kPinhole) {
  const auto make = [=](uint64_t seed, int threads) {
    PairSubject s = MakePairSubject(SmallScene(lens, affine, seed), free);
    FeatureMetricOptions options;
    options.plain = true;
    options.exact_derivative = !affine;
    options.threads = threads;
    return Subject{
        std::make_shared<FeatureMetricFactor>(s.variables, s.scene.samples, s.scene.target->frame, options),
        s.truth};
  };
  return {name, make, affine, free == Free::kWorld};
}

ContractCase GcCase(const std::string& name, bool affine, Lens lens = Lens::kPinhole) {
  const auto make = [=](uint64_t seed, int threads) {
    PairSubject s = MakePairSubject(SmallScene(lens, affine, seed), Free::kWorld);
    GeometricConsistencyOptions options;
    options.plain = true;
    options.exact_derivative = !affine;
    options.threads = threads;
    return Subject{
        std::make_shared<GeometricConsistencyFactor>(s.variables, s.scene.samples, s.scene.target, options),
        s.truth};
  };
  return {name, make, affine};
}

ContractCase RpCase(const std::string& name, Free free, Lens lens = Lens::kPinhole) {
  const auto make = [=](uint64_t seed, int) {
    PairSubject s = MakePairSubject(MakeCavityScene(Through(lens, {.seed = seed})), free);
    Random random(seed);
    return Subject{std::make_shared<ReprojectionFactor>(s.variables, s.scene.source, s.scene.view,
                                                        MakeTrueMatches(s.scene, 40, random)),
                   s.truth};
  };
  return {name, make, true, free == Free::kWorld};
}

ContractCase SmgCase(const std::string& name, Free free, Lens lens = Lens::kPinhole) {
  // The affine scene: there the target's depth between pixels is exact.
  const auto make = [=](uint64_t seed, int) {
    PairSubject s = MakePairSubject(MakeAffineScene(Through(lens, {.seed = seed})), free);
    Random random(seed);
    return Subject{std::make_shared<MatchedGeometryFactor>(s.variables, s.scene.source, s.scene.target,
                                                           MakeTrueMatches(s.scene, 40, random)),
                   s.truth};
  };
  return {name, make};
}

Rigid3 RandomPose(Random& random) {
  Vector6d tangent;
  for (int i = 0; i < 6; ++i) tangent[i] = random.Normal(0, 0.8);
  return Rigid3::Exp(tangent);
}

Subject MakeRps(uint64_t seed, int) {
  Random random(seed);
  Values truth;
  for (const int64_t id : {0, 1}) {
    const Rigid3 pose = RandomPose(random);
    truth.Insert(KeyframeKey(id), MakeKeyframeValue(pose, random.Normal(0, 0.5), {}));
  }
  const double shift = random.Normal();  // the goal may be of another overall scale
  const Rigid3 relative = PoseOf(truth, 1).Inverse() * PoseOf(truth, 0);
  RelativePoseScaleGoal goal;
  goal.target_from_source = Rigid3(relative.Rotation(), std::exp(shift) * relative.Translation());
  goal.source_log_scale = LogScaleOf(truth, 0) + shift;
  goal.target_log_scale = LogScaleOf(truth, 1) + shift;
  return {std::make_shared<RelativePoseScaleFactor>(PairVariables::World(0, 1), goal), truth};
}

Subject MakeCd(uint64_t seed, int) {
  Random random(seed);
  const Eigen::VectorXd goal = Eigen::VectorXd::NullaryExpr(16, [&] { return random.Normal(); });
  Values truth;
  truth.Insert(CodeKey(0), goal);
  return {std::make_shared<CodeFactor>(CodeKey(0), goal), truth};
}

Subject MakeSc(uint64_t seed, int) {
  Random random(seed);
  Values truth;
  truth.Insert(LogScaleKey(0), random.Normal());
  return {std::make_shared<ScaleFactor>(LogScaleKey(0), truth.LogScale(LogScaleKey(0))), truth};
}

Subject MakePs(uint64_t seed, int) {
  Random random(seed);
  Values truth;
  truth.Insert(PoseKey(0), RandomPose(random));
  return {std::make_shared<PoseFactor>(PoseKey(0), truth.Pose(PoseKey(0)), 1e4, 2.0), truth};
}

// The same three as a keyframe's parts: what they do not see has no derivative.
Subject OfKeyframe(uint64_t seed, const std::function<FactorPtr(const KeyframeValue&)>& make) {
  Random random(seed);
  const Eigen::VectorXd code = Eigen::VectorXd::NullaryExpr(16, [&] { return random.Normal(); });
  const Rigid3 pose = RandomPose(random);
  const KeyframeValue keyframe = MakeKeyframeValue(pose, random.Normal(0, 0.5), code);
  Values truth;
  truth.Insert(KeyframeKey(0), keyframe);
  return {make(keyframe), truth};
}

Subject MakeKeyframeCd(uint64_t seed, int) {
  return OfKeyframe(seed, [](const KeyframeValue& keyframe) {
    return std::make_shared<CodeFactor>(KeyframeKey(0), keyframe.code);
  });
}

Subject MakeKeyframeSc(uint64_t seed, int) {
  return OfKeyframe(seed, [](const KeyframeValue& keyframe) {
    return std::make_shared<ScaleFactor>(KeyframeKey(0), std::log(keyframe.world_from_keyframe.Scale()));
  });
}

Subject MakeKeyframePs(uint64_t seed, int) {
  return OfKeyframe(seed, [](const KeyframeValue& keyframe) {
    const Sim3& place = keyframe.world_from_keyframe;
    return std::make_shared<PoseFactor>(KeyframeKey(0), Rigid3(place.Rotation(), place.Translation()), 1e4,
                                        2.0);
  });
}

Values Perturb(const Values& values, double scale, Random& random) {
  Values moved = values;
  for (const Key& key : values.Keys()) {
    const Value& value = values.At(key);
    moved.Set(key, Retract(value, Eigen::VectorXd(Eigen::VectorXd::NullaryExpr(
                                      Dimension(value), [&] { return random.Normal(0, scale); }))));
  }
  return moved;
}

Values Moved(const Values& values, const BlockLayout& layout, const Eigen::VectorXd& d) {
  Values moved = values;
  for (int i = 0; i < layout.Size(); ++i) {
    const Key& key = layout.Keys()[static_cast<size_t>(i)];
    moved.Set(key, Retract(values.At(key), d.segment(layout.Offset(i), layout.Dimension(i))));
  }
  return moved;
}

class FactorContract : public testing::TestWithParam<ContractCase> {
 protected:
  static constexpr double kPerturbation = 0.02;
};

TEST_P(FactorContract, GradientEqualsThatOfTheErrorAtRandomStates) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Subject subject = GetParam().make(seed, 1);
    Random random(seed);
    const Values values = Perturb(subject.truth, kPerturbation, random);
    const NormalBlock block = subject.factor->Linearize(values);
    ASSERT_GT(block.count, 0);
    const auto error = [&](const Eigen::VectorXd& d) -> Eigen::VectorXd {
      return Eigen::VectorXd::Constant(1, subject.factor->Error(Moved(values, block.layout, d)));
    };
    const Eigen::MatrixXd numeric = NumericJacobian(error, Eigen::VectorXd::Zero(block.b.size()), 1e-7);
    EXPECT_LT(RelativeError(block.b.transpose(), numeric), 1e-5) << "seed " << seed;
  }
}

// Where residuals vanish the Gauss–Newton Hessian is the Hessian.
using FactorContractAtTruth = FactorContract;

TEST_P(FactorContractAtTruth, HessianIsThatOfTheErrorWhereResidualsVanish) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const Subject subject = GetParam().make(seed, 1);
    const NormalBlock block = subject.factor->Linearize(subject.truth);
    const auto gradient = [&](const Eigen::VectorXd& d) {
      return subject.factor->Linearize(Moved(subject.truth, block.layout, d)).b;
    };
    const Eigen::MatrixXd numeric = NumericJacobian(gradient, Eigen::VectorXd::Zero(block.b.size()), 1e-6);
    EXPECT_LT(RelativeError(block.H, numeric), 1e-5) << "seed " << seed;
    // Every unknown matters: a column that is zero would hide in the norm.
    for (Eigen::Index i = 0; i < block.H.cols() && !GetParam().sees_a_part; ++i)
      EXPECT_GT(block.H(i, i), 0) << i;
  }
}

TEST_P(FactorContract, ErrorVanishesAtTheTruthAndIsNeverNegative) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Subject subject = GetParam().make(seed, 1);
    Random random(seed);
    const double at_truth = subject.factor->Error(subject.truth);
    const double nearby = subject.factor->Error(Perturb(subject.truth, kPerturbation, random));
    EXPECT_GE(at_truth, 0);
    EXPECT_GT(nearby, 0);
    EXPECT_LT(at_truth, (GetParam().vanishes_at_truth ? 1e-9 : 0.2) * nearby);
    for (const double scale : {0.1, 0.5, 2.0}) {
      const Values far = Perturb(subject.truth, scale, random);
      EXPECT_GE(subject.factor->Error(far), 0);
      EXPECT_TRUE(std::isfinite(subject.factor->Error(far)));
      EXPECT_TRUE(subject.factor->Linearize(far).IsFinite());
    }
  }
}

TEST_P(FactorContract, LinearizationAgreesWithErrorAndIsSymmetricAndLaidOutByKeys) {
  const Subject subject = GetParam().make(1, 1);
  Random random(1);
  const Values values = Perturb(subject.truth, kPerturbation, random);
  const NormalBlock block = subject.factor->Linearize(values);
  EXPECT_NEAR(block.error, subject.factor->Error(values), 1e-12 * block.error);
  EXPECT_EQ(block.layout, BlockLayout(subject.factor->Keys(), values));
  EXPECT_LT((block.H - block.H.transpose()).norm(), 1e-12 * block.H.norm());
  const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(block.H).eigenvalues();
  EXPECT_GT(eigenvalues.minCoeff(), -1e-9 * eigenvalues.maxCoeff());
}

TEST_P(FactorContract, ResultDoesNotDependOnThreads) {
  const Subject one = GetParam().make(2, 1);
  const Subject three = GetParam().make(2, 3);
  Random random(2);
  const Values values = Perturb(one.truth, kPerturbation, random);
  EXPECT_EQ(one.factor->Error(values), three.factor->Error(values));
  EXPECT_EQ(one.factor->Linearize(values).H, three.factor->Linearize(values).H);
  EXPECT_EQ(one.factor->Linearize(values).b, three.factor->Linearize(values).b);
}

TEST_P(FactorContract, KeyThatIsNotThereBreaksTheContract) {
  const Subject subject = GetParam().make(1, 1);
  EXPECT_THROW(subject.factor->Error({}), ContractError);
  EXPECT_THROW(subject.factor->Linearize({}), ContractError);
}

std::vector<ContractCase> AllCases() {
  return {FmCase("FM", Free::kWorld, true),
          FmCase("FM_ExactOnGeneralMaps", Free::kWorld, false),
          FmCase("FM_Tracking", Free::kPose, true),
          FmCase("FM_TrackingWithScale", Free::kPoseScale, true),
          FmCase("FM_TrackingWithScaleAndCode", Free::kPoseScaleCode, true),
          GcCase("GC", true),
          GcCase("GC_ExactOnGeneralMaps", false),
          RpCase("RP", Free::kWorld),
          RpCase("RP_Tracking", Free::kPose),
          RpCase("RP_TrackingWithScale", Free::kPoseScale),
          SmgCase("SMG", Free::kWorld),
          SmgCase("SMG_Tracking", Free::kPose),
          SmgCase("SMG_TrackingWithScale", Free::kPoseScale),
          FmCase("FM_Fisheye", Free::kWorld, true, Lens::kFisheye),
          FmCase("FM_FisheyeExactOnGeneralMaps", Free::kWorld, false, Lens::kFisheye),
          FmCase("FM_FisheyeTracking", Free::kPose, true, Lens::kFisheye),
          GcCase("GC_Fisheye", true, Lens::kFisheye),
          GcCase("GC_FisheyeExactOnGeneralMaps", false, Lens::kFisheye),
          RpCase("RP_Fisheye", Free::kWorld, Lens::kFisheye),
          SmgCase("SMG_Fisheye", Free::kWorld, Lens::kFisheye),
          {"RPS", MakeRps},
          {"CD", MakeCd},
          {"SC", MakeSc},
          {"PS", MakePs},
          {"CD_OfAKeyframe", MakeKeyframeCd, true, true},
          {"SC_OfAKeyframe", MakeKeyframeSc, true, true},
          {"PS_OfAKeyframe", MakeKeyframePs, true, true}};
}

std::vector<ContractCase> CasesThatVanishAtTruth() {
  std::vector<ContractCase> cases = AllCases();
  std::erase_if(cases, [](const ContractCase& c) { return !c.vanishes_at_truth; });
  return cases;
}

std::string NameOf(const testing::TestParamInfo<ContractCase>& chosen) { return chosen.param.name; }

INSTANTIATE_TEST_SUITE_P(AllEight, FactorContract, testing::ValuesIn(AllCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(AllEight, FactorContractAtTruth, testing::ValuesIn(CasesThatVanishAtTruth()),
                         NameOf);

}  // namespace
}  // namespace lumen
