#include "lumen/sim/perfect_prior.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/sim/flow.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

std::shared_ptr<const SimulatedSequence> MakeSequence(AnatomyKind kind) {
  SequenceOptions options;
  options.anatomy = kind;
  options.seed = 2;
  options.width = 160;
  options.height = 128;
  options.path.frames = 60;
  return std::make_shared<const SimulatedSequence>(SharedAnatomy(kind, 2), options);
}

InputFrame FrameAt(int64_t index) { return {index, 0.0, {}}; }

TEST(PerfectPriors, HaveThePyramidThatSlamExpects) {
  PerfectPriors priors(MakeSequence(AnatomyKind::kNasal));
  const FeaturePyramid pyramid = priors.ComputeFeatures(FrameAt(3));
  ASSERT_EQ(pyramid.levels.size(), 4U);
  for (size_t level = 0; level < 4; ++level) {
    EXPECT_EQ(pyramid.levels[level].values.Width(), 80 >> level);
    EXPECT_EQ(pyramid.levels[level].values.Height(), 64 >> level);
    EXPECT_EQ(pyramid.levels[level].FeatureChannels(), 16);
  }
  EXPECT_EQ(pyramid.descriptors.Width(), 80);
  EXPECT_EQ(pyramid.descriptors.Channels(), 16);
  const DepthBasis basis = priors.ComputeDepthBasis(FrameAt(3));
  EXPECT_EQ(basis.average.Height(), 64);
  EXPECT_EQ(basis.NumBases(), 16);
  EXPECT_GT(basis.mean_square, 0);
}

TEST(PerfectPriors, AverageDepthIsTheTruthUpToTheFramesScale) {
  const auto sequence = MakeSequence(AnatomyKind::kNasal);
  PerfectPriors priors(sequence);
  EXPECT_NE(priors.TrueScale(0), priors.TrueScale(1));
  const Image<float> average = priors.ComputeAverageDepth(FrameAt(5));
  EXPECT_EQ(average, priors.ComputeDepthBasis(FrameAt(5)).average);
  for (int y = 4; y < 64; y += 5) {
    for (int x = 4; x < 80; x += 5) {
      if (priors.FeatureMask()(x, y) == 0) continue;
      const Eigen::Vector3d ray = *priors.FeatureView().Unproject({x, y});
      const double depth = priors.TrueScale(5) * average(x, y);
      const Eigen::Vector3d point = sequence->Pose(5) * (ray * (depth / ray.z()));
      EXPECT_NEAR(sequence->Scene().Distance(point.cast<float>()), 0, 0.02);
    }
  }
}

// Nearest descriptor over the whole other frame: it should be the pixel the true flow leads to.
TEST(PerfectPriors, DescriptorsMatchTheRightPixel) {
  for (const AnatomyKind kind : {AnatomyKind::kNasal, AnatomyKind::kStomach}) {
    const auto sequence = MakeSequence(kind);
    PerfectPriors priors(sequence);
    const Renderer renderer(sequence->SharedScene(), priors.FeatureView(), sequence->FrameRenderer().Look());
    const FlowField flow =
        ComputeFlow(renderer, renderer.RenderDepth(sequence->Pose(5)), sequence->Pose(5), sequence->Pose(20));
    const Image<float> first = priors.ComputeFeatures(FrameAt(5)).descriptors;
    const Image<float> second = priors.ComputeFeatures(FrameAt(20)).descriptors;
    int right = 0;
    int all = 0;
    for (int y = 3; y < 64; y += 4) {
      for (int x = 3; x < 80; x += 4) {
        if (flow.visible(x, y) == 0) continue;
        float best = -2;
        Eigen::Vector2f match(0, 0);
        for (int v = 0; v < 64; ++v) {
          for (int u = 0; u < 80; ++u) {
            float dot = 0;
            for (int c = 0; c < 16; ++c) dot += first(x, y, c) * second(u, v, c);
            if (dot > best) best = dot, match = {static_cast<float>(u), static_cast<float>(v)};
          }
        }
        const Eigen::Vector2f truth(static_cast<float>(x) + flow.flow(x, y, 0),
                                    static_cast<float>(y) + flow.flow(x, y, 1));
        ++all;
        right += (match - truth).norm() < 1.2F ? 1 : 0;
      }
    }
    EXPECT_GT(all, 80);
    EXPECT_GT(right, 0.95 * all) << AnatomyName(kind);
  }
}

TEST(PerfectPriors, FeaturesOfOnePointAreTheSameFromAnyView) {
  const auto sequence = MakeSequence(AnatomyKind::kBronchus);
  PerfectPriors priors(sequence);
  const Renderer renderer(sequence->SharedScene(), priors.FeatureView(), sequence->FrameRenderer().Look());
  const FlowField flow =
      ComputeFlow(renderer, renderer.RenderDepth(sequence->Pose(5)), sequence->Pose(5), sequence->Pose(9));
  const Image<float> first = priors.ComputeFeatures(FrameAt(5)).levels[0].values;
  const Image<float> second = priors.ComputeFeatures(FrameAt(9)).levels[0].values;
  double sum = 0;
  int count = 0;
  for (int y = 3; y < 61; ++y) {
    for (int x = 3; x < 77; ++x) {
      if (flow.visible(x, y) == 0) continue;
      const int u = static_cast<int>(std::lround(static_cast<float>(x) + flow.flow(x, y, 0)));
      const int v = static_cast<int>(std::lround(static_cast<float>(y) + flow.flow(x, y, 1)));
      if (!second.Contains(u, v) || priors.FeatureMask()(u, v) == 0) continue;
      double dot = 0;
      for (int c = 0; c < 16; ++c) dot += first(x, y, c) * second(u, v, c);
      sum += dot;
      ++count;
    }
  }
  EXPECT_GT(sum / count, 0.98);
}

}  // namespace
}  // namespace lumen
