#include "lumen/network/torch_network.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "lumen/base/text.h"
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
    const LensView view(Camera(UnifiedCamera{60, 60, 80, 64, 0.6}, 160, 128), mask);
    torch::Tensor input = ToTorch(image);
    if (spec.input_channels > 3) {
      const torch::Tensor angles = torch::from_blob(const_cast<float*>(view.angles.Data()), {1, 1, 128, 160});
      input = torch::cat({input, angles}, 1);
    }
    const std::vector<torch::Tensor> expected = network->forward(input, MaskToTorch(mask));
    NetworkEngine engine(spec, tensors, view);
    engine.RunTrunk(image);
    for (int head = 0; head < 2; ++head) {
      const Image<float> map = FromTorch(expected[static_cast<size_t>(head)]);
      const bool depth = spec.heads[static_cast<size_t>(head)].activation == Activation::kAbs;
      // Rounding grows with the values; the bases of made-up weights may be any size.
      const double bound = depth ? 1e-4 * Median(map) : 2e-4 * std::max(1.0, Largest(map));
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
  EnginePriors engine(model, mask, {.precision = "float"});
  const FeaturePyramid expected = engine.ComputeFeatures(frame);
  const DepthBasis basis = engine.ComputeDepthBasis(frame);
  for (const std::string& device : devices) {
    const auto priors = backend->MakePriors(model, mask, {.precision = "float"}, device);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const FeaturePyramid features = priors->ComputeFeatures(frame);
      EXPECT_LT(LargestDifference(features.descriptors, expected.descriptors), 1e-3) << device;
      EXPECT_LT(LargestDifference(features.levels[2].values, expected.levels[2].values), 1e-3) << device;
      EXPECT_LT(LargestDifference(priors->ComputeDepthBasis(frame).bases, basis.bases), 1e-3) << device;
    }
  }
}

// Rows with a lens and a mask each give what each would get alone, whatever the others show.
TEST(TorchBackend, RowsGiveWhatEachVideoGetsAlone) {
  const TorchBackend* backend = FindTorchBackend();
  const Model model = MakeRandomModel(1);
  const std::vector<LensView> views = {
      LensView(Camera(UnifiedCamera{60, 60, 80, 64, 0.6}, 160, 128), MakeMask(MaskKind::kCircle, 160, 128)),
      LensView(MakeMask(MaskKind::kRagged, 160, 128))};
  std::vector<RgbImage> pictures = {MakeImage(160, 128), MakeImage(160, 128)};
  for (size_t i = 0; i < pictures[1].Size(); ++i) pictures[1].Data()[i] ^= 0x3f;
  for (const std::string device : backend->HaveCuda() ? std::vector{"cpu", "cuda"} : std::vector{"cpu"}) {
    const auto rows = backend->MakeRows(model, {.precision = "float"}, 3, device);
    ASSERT_EQ(rows->Count(), 3);
    for (const auto program : {NetworkRows::kLive, NetworkRows::kBasis}) {
      for (int v = 0; v < 2; ++v) {
        rows->SetView(program, 2 - v, views[static_cast<size_t>(v)]);
        std::copy_n(pictures[static_cast<size_t>(v)].Data(), pictures[0].Size(),
                    rows->Picture(program, 2 - v));
      }
      for (int repeat = 0; repeat < 2; ++repeat) rows->Run(program);
    }
    for (size_t v = 0; v < 2; ++v) {
      const auto alone = backend->MakePriors(model, views[v], {.precision = "float"}, device);
      const InputFrame frame{0, 0.0, pictures[v]};
      const auto difference = [&](const NetworkRows::Map& map, const Image<float>& expected) {
        EXPECT_EQ(map.Size(), expected.Size());
        float largest = 0;
        for (size_t i = 0; i < expected.Size(); ++i)
          largest = std::max(largest, std::abs(map.data[i] - expected.Data()[i]));
        return largest;
      };
      const int row = 2 - static_cast<int>(v);
      const auto live = rows->Maps(NetworkRows::kLive, row);
      ASSERT_EQ(live.size(), 3U);
      EXPECT_LT(difference(live[1], alone->ComputeFeatures(frame).descriptors), 1e-4) << device;
      const DepthBasis basis = alone->ComputeDepthBasis(frame);
      EXPECT_LT(difference(live[2], basis.average), 1e-3 * Median(basis.average)) << device;
      const auto maps = rows->Maps(NetworkRows::kBasis, row);
      ASSERT_EQ(maps.size(), 2U);
      EXPECT_LT(difference(maps[0], basis.average), 1e-3 * Median(basis.average)) << device;
    }
  }
}

// Some builds of libtorch export pieces of their own standard library; whoever links Torch must still get the
// system's, or dies in std::filesystem.
TEST(TorchBackend, TheStandardLibraryIsTheSystemsOwn) {
  for (const char* name : {"_ZNSt10filesystem10remove_allERKNS_7__cxx114pathE",
                           "_ZNSt10filesystem18create_directoriesERKNS_7__cxx114pathE",
                           "_ZNSt10filesystem6statusERKNS_7__cxx114pathE",
                           "_ZNKSt10filesystem7__cxx114path11parent_pathEv", "_ZSt9terminatev", "_Znwm"}) {
    void* const found = ::dlsym(RTLD_DEFAULT, name);
    ASSERT_NE(found, nullptr) << name;
    Dl_info info{};
    ASSERT_NE(::dladdr(found, &info), 0) << name;
    const std::string library = std::filesystem::path(info.dli_fname).filename();
    EXPECT_FALSE(StartsWith(library, "libtorch") || StartsWith(library, "libc10"))
        << name << " comes from " << library;
  }
}

// What a module shows to the loader is its entry: nothing of ours can stand in for another's, nor the other
// way.
TEST(TorchBackend, AModuleShowsItsEntryAlone) {
  const std::filesystem::path folder = std::filesystem::path(LUMEN_BINARY_DIR) / "../lib";
  for (const char* name : {"lumen_torch", "lumen_opencv", "lumen_gdcm"}) {
    const std::filesystem::path file = folder / StrCat("lib", name, ".so");
    if (!std::filesystem::exists(file)) continue;
    void* const module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(module, nullptr) << ::dlerror();
    const char* const ours =
        "_ZN5lumen10InputErrorC1ERKNSt10filesystem7__cxx114pathERKNSt7__cxx1112basic_stringIcSt11char_"
        "traitsIcESaIcEEE";
    void* const found = ::dlsym(module, ours);
    Dl_info info{};
    const bool own = found != nullptr && ::dladdr(found, &info) != 0 &&
                     std::string(info.dli_fname).find(name) != std::string::npos;
    EXPECT_FALSE(own) << name << " shows " << ours;
  }
}

TEST(TorchBackend, UnavailableDeviceIsNamed) {
  if (FindTorchBackend()->HaveCuda()) GTEST_SKIP() << "there is a GPU here";
  EXPECT_THROW(MakePriors(MakeRandomModel(1), Mask(160, 128, 1, 255), {}, "cuda"), InputError);
  EXPECT_NE(MakePriors(MakeRandomModel(1), Mask(160, 128, 1, 255), {}, "auto"), nullptr);
}

}  // namespace
}  // namespace lumen
