#include "lumen/network/torch_network.h"

#include <gtest/gtest.h>

#include "lumen/network/engine.h"
#include "lumen/network/network_test_data.h"

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

}  // namespace
}  // namespace lumen
