#include "lumen/network/engine_priors.h"

#include <gtest/gtest.h>

#include "lumen/base/file.h"
#include "lumen/base/random.h"
#include "lumen/network/network_test_data.h"

namespace lumen {
namespace {

InputFrame RandomFrame(int64_t index) {
  Random random(static_cast<uint64_t>(index));
  InputFrame frame{index, 0.1 * static_cast<double>(index), RgbImage(160, 128, 3)};
  for (size_t i = 0; i < frame.image.Size(); ++i)
    frame.image.Data()[i] = static_cast<uint8_t>(random.NextBits());
  return frame;
}

TEST(EnginePriors, GiveWhatTheInterfacePromises) {
  EnginePriors priors(MakeRandomModel(1), Mask(160, 128, 1, 255));
  const InputFrame frame = RandomFrame(1);
  const FeaturePyramid features = priors.ComputeFeatures(frame);
  ASSERT_EQ(features.levels.size(), 4U);
  EXPECT_EQ(features.levels[0].values.Width(), 80);
  EXPECT_EQ(features.levels[0].FeatureChannels(), 16);
  EXPECT_EQ(features.levels[3].values.Width(), 10);
  EXPECT_EQ(features.descriptors.Channels(), 16);
  const DepthBasis basis = priors.ComputeDepthBasis(frame);
  EXPECT_EQ(basis.NumBases(), 16);
  EXPECT_GT(basis.mean_square, 0);
  for (size_t i = 0; i < basis.average.Size(); ++i) ASSERT_GE(basis.average.Data()[i], 0.0F);
}

TEST(EnginePriors, BasisAfterAverageEqualsBasisAlone) {
  const Model model = MakeRandomModel(2);
  const Mask mask(160, 128, 1, 255);
  const InputFrame frame = RandomFrame(1);
  const InputFrame other = RandomFrame(2);
  EnginePriors alone(model, mask);
  const DepthBasis expected = alone.ComputeDepthBasis(frame);
  EnginePriors priors(model, mask);
  priors.ComputeDepthBasis(other);
  EXPECT_EQ(priors.ComputeAverageDepth(frame), expected.average);
  EXPECT_EQ(priors.ComputeDepthBasis(frame).bases, expected.bases);
  EXPECT_NE(priors.ComputeDepthBasis(other).bases, expected.bases);
}

TEST(EnginePriors, DepthHeedsTheLensAndFeaturesDoNot) {
  const Model model = MakeRandomModel(1);
  const Mask mask(160, 128, 1, 255);
  const InputFrame frame{0, 0.0, MakeImage(160, 128)};
  EnginePriors narrow(model, LensView(Camera::FromFieldOfView(60, 160, 128), mask));
  EnginePriors wide(model, LensView(Camera(UnifiedCamera{60, 60, 80, 64, 0.6}, 160, 128), mask));
  EXPECT_GT(LargestDifference(narrow.ComputeAverageDepth(frame), wide.ComputeAverageDepth(frame)), 1e-3);
  EXPECT_EQ(
      LargestDifference(narrow.ComputeFeatures(frame).descriptors, wide.ComputeFeatures(frame).descriptors),
      0);
}

// Numbers that half precision cannot hold: what comes out is what single precision says.
TEST(EnginePriors, AModelThatDoesNotFitHalfPrecisionRunsInSingle) {
  Model model = MakeRandomModel(1);
  for (float& value : model.tensors.at("depth.bases.1.conv1.weight").values) value *= 1e7F;
  const Mask mask(160, 128, 1, 255);
  const InputFrame frame = RandomFrame(1);
  EnginePriors any(model, mask), single(model, mask, {.precision = "float"});
  EXPECT_EQ(any.ComputeDepthBasis(frame).bases, single.ComputeDepthBasis(frame).bases);
  EXPECT_EQ(any.ComputeAverageDepth(frame), single.ComputeAverageDepth(frame)) << "and from then on";
  EXPECT_FALSE(single.IsHalf());
}

TEST(EnginePriors, HalfPrecisionIsRefusedWhereThereIsNone) {
  const Model model = MakeRandomModel(1);
  const Mask mask(160, 128, 1, 255);
  if (HalfArithmetic() == nullptr)
    EXPECT_THROW(EnginePriors(model, mask, {.precision = "half"}), InputError);
  else
    EXPECT_TRUE(EnginePriors(model, mask, {.precision = "half"}).IsHalf());
}

// A model of before lenses were told, and the same with a channel for it that it does not heed yet.
TEST(EnginePriors, AnOlderModelComputesTheSameWithTheLens) {
  Model old;
  old.depth = MakeDepthSpec(16, false);
  old.tensors = MakeTensors(old.depth);
  old.tensors.merge(MakeTensors(old.feature));
  Model told = old;
  TellLens(told);
  EXPECT_EQ(told.depth.input_channels, 4);
  const LensView view(MakeMask(MaskKind::kCircle, 160, 128));
  const InputFrame frame{0, 0.0, MakeImage(160, 128)};
  const PriorsOptions exact{.precision = "float"};
  EXPECT_LT(LargestDifference(EnginePriors(old, view, exact).ComputeAverageDepth(frame),
                              EnginePriors(told, view, exact).ComputeAverageDepth(frame)),
            1e-6);
  const TemporaryFolder folder;
  for (const Model* model : {&old, &told}) {
    SaveModel(folder.Path() / "model.safetensors", *model);
    EXPECT_EQ(LoadModel(folder.Path() / "model.safetensors").depth.input_channels,
              model->depth.input_channels);
  }
}

}  // namespace
}  // namespace lumen
