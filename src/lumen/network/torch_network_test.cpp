#include "lumen/network/torch_network.h"

#include <gtest/gtest.h>

#include "lumen/network/engine.h"
#include "lumen/network/network_test_data.h"
#include "lumen/network/torch_backend.h"

namespace lumen {
namespace {

class TorchAgreement : public testing::TestWithParam<MaskKind> {};
INSTANTIATE_TEST_SUITE_P(All, TorchAgreement,
                         testing::Values(MaskKind::kFull, MaskKind::kCircle, MaskKind::kRagged));

TEST_P(TorchAgreement, EngineGivesWhatTorchGivesOnTheSameWeights) {
  torch::NoGradGuard no_grad;
  const Mask mask = MakeMask(GetParam(), 160, 128);
  const RgbImage image = MakeImage(160, 128);
  for (const NetworkSpec& spec : {MakeDepthSpec(), MakeFeatureSpec()}) {
    const auto tensors = MakeTensors(spec);
    TorchNetwork network(spec);
    network->Load(tensors);
    const std::vector<torch::Tensor> expected = network->forward(ToTorch(image), MaskToTorch(mask));
    NetworkEngine engine(spec, tensors, mask);
    engine.RunTrunk(image);
    for (int head = 0; head < 2; ++head) {
      const Image<float> map = FromTorch(expected[static_cast<size_t>(head)]);
      const bool depth = spec.heads[static_cast<size_t>(head)].activation == Activation::kAbs;
      const double bound = depth ? 1e-4 * Median(map) : 2e-4;
      EXPECT_LT(LargestDifference(engine.RunHead(head), map), bound) << spec.name << " " << head;
    }
  }
}

TEST(TorchNetwork, StoredTensorsAreTheLoadedOnesAndTheArchitectures) {
  const NetworkSpec spec = MakeDepthSpec();
  const auto tensors = MakeRandomTensors(spec, 3);
  TorchNetwork network(spec);
  network->Load(tensors);
  EXPECT_EQ(HashTensors(network->Store()), HashTensors(tensors));
  int64_t parameters = 0;
  for (const torch::Tensor& parameter : network->parameters()) parameters += parameter.numel();
  EXPECT_EQ(parameters, CountParameters(spec));
}

TEST(TorchBackend, ModuleGivesTheEnginesPriors) {
  const TorchBackend* backend = FindTorchBackend();
  ASSERT_NE(backend, nullptr);
  const Model model = MakeRandomModel(1);
  const Mask mask = MakeMask(MaskKind::kCircle, 160, 128);
  const InputFrame frame{1, 0.0, MakeImage(160, 128)};
  std::vector<std::string> devices = {"cpu"};
  if (backend->HaveCuda()) devices.emplace_back("cuda");
  EnginePriors engine(model, mask);
  const FeaturePyramid expected = engine.ComputeFeatures(frame);
  const DepthBasis basis = engine.ComputeDepthBasis(frame);
  for (const std::string& device : devices) {
    const auto priors = backend->MakePriors(model, mask, {}, device);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const FeaturePyramid features = priors->ComputeFeatures(frame);
      EXPECT_LT(LargestDifference(features.descriptors, expected.descriptors), 1e-3) << device;
      EXPECT_LT(LargestDifference(features.levels[2].values, expected.levels[2].values), 1e-3) << device;
      EXPECT_LT(LargestDifference(priors->ComputeDepthBasis(frame).bases, basis.bases), 1e-3) << device;
    }
  }
}

TEST(TorchBackend, UnavailableDeviceIsNamed) {
  if (FindTorchBackend()->HaveCuda()) GTEST_SKIP() << "there is a GPU here";
  EXPECT_THROW(MakePriors(MakeRandomModel(1), Mask(160, 128, 1, 255), {}, "cuda"), InputError);
  EXPECT_NE(MakePriors(MakeRandomModel(1), Mask(160, 128, 1, 255), {}, "auto"), nullptr);
}

}  // namespace
}  // namespace lumen
