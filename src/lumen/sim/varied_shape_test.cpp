#include "lumen/sim/varied_shape.h"

#include <gtest/gtest.h>

#include "lumen/sim/anatomy.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

using Eigen::Vector3f;

// A plain ball of air.
class Ball : public AnatomyShape {
 public:
  float Value(const Vector3f& p) const override { return 12 - p.norm(); }
  Eigen::AlignedBox3f Bounds() const override { return {Vector3f::Constant(-14), Vector3f::Constant(14)}; }
  float Voxel() const override { return 0.5F; }
  float Clearance() const override { return 1; }
  Vector3f Entry() const override { return {0, 0, -6}; }
  std::vector<Vector3f> Goals() const override { return {{0, 0, 6}}; }
};

TEST(VaryShape, StrengthZeroLeavesTheShape) {
  const auto same = VaryShape(std::make_unique<Ball>(), 0, Random(1));
  for (const Vector3f& p : {Vector3f(0, 0, 0), Vector3f(3, -4, 9), Vector3f(11, 11, 11)})
    EXPECT_NEAR(same->Value(p), Ball().Value(p), 1e-4);
  EXPECT_LT((same->Entry() - Ball().Entry()).norm(), 1e-4);
  EXPECT_FLOAT_EQ(same->Voxel(), 0.5F);
}

TEST(VaryShape, ValuesNeverOverstateTheDistanceByMuch) {
  // Sampled wall points: no point of the wall is much nearer than the value says.
  for (const uint64_t seed : {1U, 2U, 3U, 4U}) {
    const auto shape = VaryShape(std::make_unique<Ball>(), 1, Random(seed));
    EXPECT_GT(shape->Value(shape->Entry()), shape->Clearance());
    Random random(seed + 10);
    for (int i = 0; i < 400; ++i) {
      const Eigen::AlignedBox3f box = shape->Bounds();
      const Vector3f share{UniformFloat(random, 0, 1), UniformFloat(random, 0, 1),
                           UniformFloat(random, 0, 1)};
      const Vector3f p = box.min() + share.cwiseProduct(box.sizes());
      const float value = shape->Value(p);
      if (value <= 0) continue;
      const Vector3f step{UniformFloat(random, -1, 1), UniformFloat(random, -1, 1),
                          UniformFloat(random, -1, 1)};
      EXPECT_GT(shape->Value(p + 0.7F * value * step.normalized()), 0);
    }
  }
}

class EveryVariedAnatomy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Sim, EveryVariedAnatomy, testing::ValuesIn(AnatomyNames()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryVariedAnatomy, HasAWayInAndIsTracedAsFinelySteppedRaysAre) {
  const AnatomyKind kind = ParseAnatomyKind(GetParam());
  const auto anatomy = MakeVariedAnatomy(kind, 5, 1, 2);
  const auto plain = MakeAnatomy(kind, 5, 2);
  EXPECT_NE(anatomy->Field().CoarseValues(), plain->Field().CoarseValues());
  ASSERT_FALSE(anatomy->Routes().empty());
  const DistanceField& field = anatomy->Field();
  Random random(3);
  for (const CurvePoint& point : anatomy->Routes().front().Points()) {
    ASSERT_GE(anatomy->Distance(point.position), anatomy->Clearance());
    if (!random.Chance(0.2)) continue;
    const Vector3f direction =
        Vector3f{UniformFloat(random, -1, 1), UniformFloat(random, -1, 1), UniformFloat(random, 0.1, 1)}
            .normalized();
    const RayHit hit = field.Trace({point.position, direction}, 500);
    ASSERT_TRUE(hit.hit);
    float t = 0;
    while (field.Distance(point.position + t * direction) > 0) t += 0.02F * field.Voxel();
    EXPECT_NEAR(hit.distance, t, 0.35F * field.Voxel());
  }
}

// How far places in the shape's box are from the wall, on either side of it.
float MeanDistance(const AnatomyShape& shape) {
  constexpr int kSteps = 12;
  const Eigen::AlignedBox3f box = shape.Bounds();
  float sum = 0;
  for (int i = 0; i < kSteps * kSteps * kSteps; ++i) {
    const Eigen::Array3i cell(i % kSteps, i / kSteps % kSteps, i / (kSteps * kSteps));
    const Vector3f share = (cell.cast<float>() + 0.5F) / kSteps;
    sum += std::abs(shape.Value(box.min() + share.cwiseProduct(box.sizes())));
  }
  return sum / (kSteps * kSteps * kSteps);
}

TEST(VaryShape, SeedsDrawTheSameShapesOnEveryMachine) {
  struct Drawn {
    std::unique_ptr<AnatomyShape> (*make)(const Random&);
    uint64_t seed;
    float plain, varied;  // mean distances
  };
  for (const Drawn& drawn :
       {Drawn{MakeNasalShape, 1, 9.3993F, 7.8689F}, Drawn{MakeNasalShape, 2, 10.0459F, 15.9536F},
        Drawn{MakeColonShape, 1, 19.0269F, 16.4998F}, Drawn{MakeColonShape, 2, 18.6281F, 35.0654F},
        Drawn{MakeBronchusShape, 1, 6.9457F, 3.2343F}, Drawn{MakeBronchusShape, 2, 6.5184F, 3.3932F},
        Drawn{MakeStomachShape, 1, 23.4901F, 18.4450F}, Drawn{MakeStomachShape, 2, 23.3600F, 31.9240F}}) {
    const Random random(drawn.seed);
    EXPECT_NEAR(MeanDistance(*drawn.make(random)), drawn.plain, 1e-3 * drawn.plain);
    const auto varied = VaryShape(drawn.make(random), 1, random.Split("varied"));
    EXPECT_NEAR(MeanDistance(*varied), drawn.varied, 1e-3 * drawn.varied);
  }
}

}  // namespace
}  // namespace lumen
