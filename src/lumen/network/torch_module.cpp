// The module that links Torch; see torch_backend.h.
#include <torch/version.h>

#include "lumen/base/timer.h"
#include "lumen/image/pyramid.h"
#include "lumen/network/torch_backend.h"
#include "lumen/network/torch_network.h"

#ifdef LUMEN_HAVE_CUDA_GRAPH
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace lumen {

namespace {

// One network on one device, for frames of one video: bytes in, interleaved maps out, everything between
// on the device. On a GPU the whole of it is recorded once as a CUDA graph: replaying it costs one launch
// instead of two hundred.
class DeviceNetwork {
 public:
  DeviceNetwork(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors, const LensView& view,
                const torch::Device& device)
      : network_(spec), device_(device) {
    network_->Load(tensors);
    network_->to(device);
    network_->eval();
    plan_ = network_->PlanMasks(MaskToTorch(view.mask).to(device));
    bytes_ = torch::zeros({1, spec.input_height, spec.input_width, 3}, torch::kUInt8).to(device);
    if (spec.input_channels > 3) {
      angles_ = torch::from_blob(const_cast<float*>(view.angles.Data()),
                                 {1, 1, spec.input_height, spec.input_width}, torch::kFloat)
                    .clone()
                    .to(device);
    }
    if (device.is_cuda()) Record();
  }

  std::vector<Image<float>> Run(ImageView<const uint8_t> rgb) {
    torch::NoGradGuard no_grad;
    bytes_.copy_(torch::from_blob(const_cast<uint8_t*>(rgb.Data()), bytes_.sizes(), torch::kUInt8));
    std::vector<Image<float>> maps;
    for (const torch::Tensor& output : Replay()) {
      const torch::Tensor map = output.to(torch::kCPU);
      maps.emplace_back(static_cast<int>(map.size(2)), static_cast<int>(map.size(1)),
                        static_cast<int>(map.size(3)));
      std::copy_n(map.data_ptr<float>(), maps.back().Size(), maps.back().Data());
    }
    return maps;
  }

  double TimeForward() {
    torch::NoGradGuard no_grad;
    double best = 1e30;
    for (int i = 0; i < 50; ++i) {
      const Stopwatch watch;
      Replay();
      if (device_.is_cuda()) torch::cuda::synchronize();
      best = std::min(best, watch.ElapsedMs());
    }
    return best;
  }

 private:
  std::vector<torch::Tensor> Forward() {
    torch::Tensor image = bytes_.permute({0, 3, 1, 2}).to(torch::kFloat).div(255.0);
    if (angles_.defined()) image = torch::cat({image, angles_}, 1);
    std::vector<torch::Tensor> outputs = network_->Run(image, plan_);
    for (torch::Tensor& output : outputs) output = output.permute({0, 2, 3, 1}).contiguous();
    return outputs;
  }

#ifdef LUMEN_HAVE_CUDA_GRAPH
  void Record() {
    torch::NoGradGuard no_grad;
    const auto stream = c10::cuda::getStreamFromPool();
    const c10::cuda::CUDAStreamGuard guard(stream);
    for (int i = 0; i < 3; ++i) Forward();  // lets Torch choose its kernels
    stream.synchronize();
    graph_ = std::make_unique<at::cuda::CUDAGraph>();
    graph_->capture_begin();
    outputs_ = Forward();
    graph_->capture_end();
  }
  std::vector<torch::Tensor> Replay() {
    if (!graph_) return Forward();
    graph_->replay();
    return outputs_;
  }
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
  std::vector<torch::Tensor> outputs_;
#else
  void Record() {}
  std::vector<torch::Tensor> Replay() { return Forward(); }
#endif

  TorchNetwork network_;
  torch::Device device_;
  TorchMaskPlan plan_;
  torch::Tensor bytes_;
  torch::Tensor angles_;  // where the network wants them
};

class TorchPriors : public Priors {
 public:
  TorchPriors(const Model& model, const LensView& view, const PriorsOptions& options,
              const torch::Device& device)
      : options_(options),
        feature_mask_(FeatureMask(view.mask)),
        feature_(model.feature, model.tensors, view, device),
        depth_(model.depth, model.tensors, view, device) {}

  FeaturePyramid ComputeFeatures(const InputFrame& frame) override {
    std::vector<Image<float>> maps = feature_.Run(frame.image);
    return MakeFeaturePyramid(std::move(maps[0]), std::move(maps[1]), feature_mask_, options_.pyramid_levels);
  }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override {
    return std::move(depth_.Run(frame.image)[0]);
  }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override {
    std::vector<Image<float>> maps = depth_.Run(frame.image);
    return MakeDepthBasis(std::move(maps[0]), std::move(maps[1]), feature_mask_);
  }

 private:
  PriorsOptions options_;
  Mask feature_mask_;
  DeviceNetwork feature_, depth_;
};

class Backend : public TorchBackend {
 public:
  std::string Version() const override { return TORCH_VERSION; }
  bool HaveCuda() const override { return torch::cuda::is_available(); }
  std::unique_ptr<Priors> MakePriors(const Model& model, const LensView& view, const PriorsOptions& options,
                                     const std::string& device) const override {
    Configure(options.threads);
    return std::make_unique<TorchPriors>(model, view, options,
                                         torch::Device(device == "cuda" ? torch::kCUDA : torch::kCPU));
  }
  double TimeForward(const NetworkSpec& spec, const Model& model, const LensView& view,
                     const std::string& device) const override {
    Configure(1);
    return DeviceNetwork(spec, model.tensors, view,
                         torch::Device(device == "cuda" ? torch::kCUDA : torch::kCPU))
        .TimeForward();
  }

 private:
  static void Configure(int threads) {
    torch::set_num_threads(threads);
    // The short mantissa of TF32 costs four hundredths on features whose range is ±1.
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setBenchmarkCuDNN(
        true);  // sizes never change: the fastest kernel is worth looking for
#if defined(__aarch64__)
    at::globalContext().setUserEnabledMkldnn(
        false);  // its reference kernels are six times slower than OpenBLAS here
#endif
  }
};

}  // namespace

}  // namespace lumen

extern "C" __attribute__((visibility("default"))) const lumen::TorchBackend* LumenTorchBackend() {
  static const lumen::Backend backend;
  return &backend;
}
