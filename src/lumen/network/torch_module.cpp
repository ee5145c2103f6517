// The module that links Torch; see torch_backend.h.
#include <torch/version.h>

#include <array>
#include <functional>

#include "lumen/base/timer.h"
#include "lumen/image/pyramid.h"
#include "lumen/network/torch_backend.h"
#include "lumen/network/torch_network.h"

#ifdef LUMEN_HAVE_CUDA_GRAPH
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace lumen {

namespace {

// What runs on one device for some videos at once, in one precision: a network with a row of masks and lenses
// for each.
struct DeviceNetwork {
  DeviceNetwork(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors, const LensView& view,
                int rows, const torch::Device& device, torch::ScalarType type)
      : network(spec) {
    network->Load(tensors);
    network->to(device, type);
    network->eval();
    masks = MaskToTorch(view.mask).to(device).repeat({rows, 1, 1, 1});
    plan = network->MakeReady(network->PlanMasks(masks));
    if (spec.input_channels > 3) angles = Angles(view).to(device, type).repeat({rows, 1, 1, 1});
  }

  // In place: what was recorded with these tensors goes on with them.
  void SetView(int row, const LensView& view) {
    torch::NoGradGuard no_grad;
    masks[row].copy_(MaskToTorch(view.mask)[0]);
    const TorchMaskPlan fresh = network->MakeReady(network->PlanMasks(masks));
    for (size_t i = 0; i < plan.size(); ++i) {
      plan[i].input.copy_(fresh[i].input);
      plan[i].scale.copy_(fresh[i].scale);
      plan[i].valid.copy_(fresh[i].valid);
      plan[i].bias.copy_(fresh[i].bias);
    }
    if (angles.defined()) angles[row].copy_(Angles(view)[0]);
    if (masks.is_cuda()) torch::cuda::synchronize();  // the recorded program runs on a stream of its own
  }

  static torch::Tensor Angles(const LensView& view) {
    return torch::from_blob(const_cast<float*>(view.angles.Data()),
                            {1, 1, view.angles.Height(), view.angles.Width()}, torch::kFloat);
  }

  torch::Tensor Trunk(const torch::Tensor& image) {
    return network->RunTrunk(angles.defined() ? torch::cat({image, angles}, 1) : image, plan);
  }
  // Interleaved, in single precision.
  torch::Tensor Head(int head, const torch::Tensor& trunk) {
    return network->RunHead(head, trunk, plan).permute({0, 2, 3, 1}).to(torch::kFloat).contiguous();
  }

  TorchNetwork network;
  torch::Tensor masks;  // (rows, 1, H, W)
  TorchMaskPlan plan;
  torch::Tensor angles;  // where the network wants them
};

// Bytes in, interleaved maps out. On a GPU all of it, the ways there and back included, is recorded once as a
// CUDA graph: replaying it costs one launch instead of some hundred, and what does not wait for each other
// runs side by side.
class DeviceProgram {
 public:
  // image → maps; `Lanes` runs parts of it side by side where the device can.
  using Forward = std::function<std::vector<torch::Tensor>(const torch::Tensor& image, class Lanes& lanes)>;

  DeviceProgram(int rows, int width, int height, const torch::Device& device, torch::ScalarType type,
                Forward forward);
  std::vector<Image<float>> Run(ImageView<const uint8_t> rgb);  // of one row
  double TimeForward();

  uint8_t* Picture(int row) { return host_bytes_[row].data_ptr<uint8_t>(); }
  void Replay();
  // Another row's numbers lie behind this one's.
  NetworkRows::Map MapOf(size_t map, int row) const;
  size_t CountMaps() const { return host_maps_.size(); }

 private:
  void Compute(Lanes& lanes);
  void Record();

  torch::Device device_;
  torch::ScalarType type_;
  Forward forward_;
  torch::Tensor host_bytes_, bytes_;  // pinned where there is a GPU
  std::vector<torch::Tensor> host_maps_;
#ifdef LUMEN_HAVE_CUDA_GRAPH
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
  std::unique_ptr<c10::cuda::CUDAStream> stream_;
#endif
};

// Parts of a program that need not wait for each other. Whatever crosses from one to another is kept until
// the program ends, because a stream's memory may be taken again as soon as nobody holds it.
class Lanes {
 public:
  explicit Lanes(const torch::Device& device) : device_(device) {}

  template <typename Work>
  torch::Tensor Aside(const torch::Tensor& needs, const Work& work) {
    kept_.push_back(needs);
#ifdef LUMEN_HAVE_CUDA_GRAPH
    if (device_.is_cuda()) {
      const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
      at::cuda::CUDAEvent begun;
      begun.record();
      begun.block(side);
      sides_.push_back(side);
      const c10::cuda::CUDAStreamGuard guard(side);
      kept_.push_back(work());
      return kept_.back();
    }
#endif
    return work();
  }
  // From here on everything set aside is there.
  void Join() {
#ifdef LUMEN_HAVE_CUDA_GRAPH
    for (const c10::cuda::CUDAStream& side : sides_) {
      at::cuda::CUDAEvent done;
      done.record(side);
      done.block(c10::cuda::getCurrentCUDAStream());
    }
    sides_.clear();
#endif
  }

 private:
  torch::Device device_;
  std::vector<torch::Tensor> kept_;
#ifdef LUMEN_HAVE_CUDA_GRAPH
  std::vector<c10::cuda::CUDAStream> sides_;
#endif
};

DeviceProgram::DeviceProgram(int rows, int width, int height, const torch::Device& device,
                             torch::ScalarType type, Forward forward)
    : device_(device), type_(type), forward_(std::move(forward)) {
  host_bytes_ = torch::zeros({rows, height, width, 3},
                             torch::TensorOptions(torch::kUInt8).pinned_memory(device.is_cuda()));
  bytes_ = host_bytes_.to(device);
  if (device.is_cuda()) Record();
}

NetworkRows::Map DeviceProgram::MapOf(size_t map, int row) const {
  const torch::Tensor& all = host_maps_[map];
  return {all.data_ptr<float>() + row * all.stride(0), static_cast<int>(all.size(2)),
          static_cast<int>(all.size(1)), static_cast<int>(all.size(3))};
}

void DeviceProgram::Compute(Lanes& lanes) {
  bytes_.copy_(host_bytes_, true);
  const torch::Tensor image = bytes_.permute({0, 3, 1, 2}).to(type_).div(255.0).contiguous();
  const std::vector<torch::Tensor> maps = forward_(image, lanes);
  if (host_maps_.empty()) {
    for (const torch::Tensor& map : maps)
      host_maps_.push_back(
          torch::empty(map.sizes(), torch::TensorOptions(torch::kFloat).pinned_memory(device_.is_cuda())));
  }
  lanes.Join();
  for (size_t i = 0; i < maps.size(); ++i) host_maps_[i].copy_(maps[i], true);
}

#ifdef LUMEN_HAVE_CUDA_GRAPH
void DeviceProgram::Record() {
  torch::NoGradGuard no_grad;
  stream_ = std::make_unique<c10::cuda::CUDAStream>(c10::cuda::getStreamFromPool());
  const c10::cuda::CUDAStreamGuard guard(*stream_);
  for (int i = 0; i < 3; ++i) {  // lets Torch choose its kernels
    Lanes lanes(device_);
    Compute(lanes);
    torch::cuda::synchronize();
  }
  graph_ = std::make_unique<at::cuda::CUDAGraph>();
  Lanes lanes(device_);
  graph_->capture_begin();
  Compute(lanes);
  graph_->capture_end();
}
#else
void DeviceProgram::Record() {}
#endif

void DeviceProgram::Replay() {
  torch::NoGradGuard no_grad;
#ifdef LUMEN_HAVE_CUDA_GRAPH
  if (graph_) {
    const c10::cuda::CUDAStreamGuard guard(*stream_);
    graph_->replay();
    stream_->synchronize();
    return;
  }
#endif
  Lanes lanes(device_);
  Compute(lanes);
  if (device_.is_cuda()) torch::cuda::synchronize();
}

std::vector<Image<float>> DeviceProgram::Run(ImageView<const uint8_t> rgb) {
  std::copy_n(rgb.Data(), host_bytes_.numel(), Picture(0));
  Replay();
  std::vector<Image<float>> images;
  for (size_t i = 0; i < host_maps_.size(); ++i) {
    const NetworkRows::Map map = MapOf(i, 0);
    images.emplace_back(map.width, map.height, map.channels);
    std::copy_n(map.data, map.Size(), images.back().Data());
  }
  return images;
}

double DeviceProgram::TimeForward() {
  double best = 1e30;
  for (int i = 0; i < 50; ++i) {
    const Stopwatch watch;
    Replay();
    best = std::min(best, watch.ElapsedMs());
  }
  return best;
}

// Both heads of a network.
DeviceProgram::Forward BothHeads(std::shared_ptr<DeviceNetwork> network) {
  return [network = std::move(network)](const torch::Tensor& image, Lanes& lanes) {
    const torch::Tensor trunk = network->Trunk(image);
    const torch::Tensor second = lanes.Aside(trunk, [&] { return network->Head(1, trunk); });
    return std::vector<torch::Tensor>{network->Head(0, trunk), second};
  };
}

// What a frame needs: both feature maps, and the average depth beside them.
DeviceProgram::Forward FeaturesAndAverage(std::shared_ptr<DeviceNetwork> feature,
                                          std::shared_ptr<DeviceNetwork> depth) {
  return [feature = std::move(feature), depth = std::move(depth)](const torch::Tensor& image, Lanes& lanes) {
    const torch::Tensor average = lanes.Aside(image, [&] { return depth->Head(0, depth->Trunk(image)); });
    const torch::Tensor trunk = feature->Trunk(image);
    const torch::Tensor descriptors = lanes.Aside(trunk, [&] { return feature->Head(1, trunk); });
    return std::vector<torch::Tensor>{feature->Head(0, trunk), descriptors, average};
  };
}

// On a GPU in half, unless it is told otherwise.
torch::ScalarType TypeOn(const torch::Device& device, const PriorsOptions& options) {
  return device.is_cuda() && options.precision != "float" ? torch::kHalf : torch::kFloat;
}

class TorchPriors : public Priors {
 public:
  TorchPriors(const Model& model, const LensView& view, const PriorsOptions& options,
              const torch::Device& device)
      : options_(options),
        feature_mask_(FeatureMask(view.mask)),
        type_(TypeOn(device, options)),
        feature_(std::make_shared<DeviceNetwork>(model.feature, model.tensors, view, 1, device, type_)),
        depth_(std::make_shared<DeviceNetwork>(model.depth, model.tensors, view, 1, device, type_)),
        features_(Program(model, device, BothHeads(feature_))),
        basis_(Program(model, device, BothHeads(depth_))) {
    if (device.is_cuda()) live_ = Program(model, device, FeaturesAndAverage(feature_, depth_));
  }

  LiveMaps ComputeLive(const InputFrame& frame) override {
    if (!live_) return {ComputeFeatures(frame), {}};
    std::vector<Image<float>> maps = live_->Run(frame.image);
    return {MakePyramid(maps), std::move(maps[2])};
  }
  FeaturePyramid ComputeFeatures(const InputFrame& frame) override {
    std::vector<Image<float>> maps = features_->Run(frame.image);
    return MakePyramid(maps);
  }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override {
    return std::move(basis_->Run(frame.image)[0]);
  }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override {
    std::vector<Image<float>> maps = basis_->Run(frame.image);
    return MakeDepthBasis(std::move(maps[0]), std::move(maps[1]), feature_mask_);
  }

 private:
  std::unique_ptr<DeviceProgram> Program(const Model& model, const torch::Device& device,
                                         DeviceProgram::Forward forward) const {
    return std::make_unique<DeviceProgram>(1, model.depth.input_width, model.depth.input_height, device,
                                           type_, std::move(forward));
  }
  FeaturePyramid MakePyramid(std::vector<Image<float>>& maps) const {
    return MakeFeaturePyramid(std::move(maps[0]), std::move(maps[1]), feature_mask_, options_.pyramid_levels);
  }

  PriorsOptions options_;
  Mask feature_mask_;
  torch::ScalarType type_;
  std::shared_ptr<DeviceNetwork> feature_, depth_;
  std::unique_ptr<DeviceProgram> features_, basis_, live_;
};

class TorchRows : public NetworkRows {
 public:
  TorchRows(const Model& model, const PriorsOptions& options, int rows, const torch::Device& device)
      : rows_(rows) {
    const LensView anything(Mask(model.depth.input_width, model.depth.input_height, 1, 255));
    const torch::ScalarType type = TypeOn(device, options);
    const auto network = [&](const NetworkSpec& spec) {
      return std::make_shared<DeviceNetwork>(spec, model.tensors, anything, rows, device, type);
    };
    const auto program = [&](DeviceProgram::Forward forward) {
      return std::make_unique<DeviceProgram>(rows, model.depth.input_width, model.depth.input_height, device,
                                             type, std::move(forward));
    };
    networks_[kLive] = {network(model.feature), network(model.depth)};
    networks_[kBasis] = {network(model.depth)};
    programs_[kLive] = program(FeaturesAndAverage(networks_[kLive][0], networks_[kLive][1]));
    programs_[kBasis] = program(BothHeads(networks_[kBasis][0]));
  }

  int Count() const override { return rows_; }
  void SetView(Program program, int row, const LensView& view) override {
    for (const auto& network : networks_[program]) network->SetView(row, view);
  }
  uint8_t* Picture(Program program, int row) override { return programs_[program]->Picture(row); }
  void Run(Program program) override { programs_[program]->Replay(); }
  std::vector<Map> Maps(Program program, int row) const override {
    std::vector<Map> maps;
    for (size_t i = 0; i < programs_[program]->CountMaps(); ++i)
      maps.push_back(programs_[program]->MapOf(i, row));
    return maps;
  }

 private:
  int rows_;
  std::array<std::vector<std::shared_ptr<DeviceNetwork>>, kPrograms> networks_;
  std::array<std::unique_ptr<DeviceProgram>, kPrograms> programs_;
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
  std::unique_ptr<NetworkRows> MakeRows(const Model& model, const PriorsOptions& options, int rows,
                                        const std::string& device) const override {
    Configure(options.threads);
    return std::make_unique<TorchRows>(model, options, rows,
                                       torch::Device(device == "cuda" ? torch::kCUDA : torch::kCPU));
  }
  double TimeForward(const NetworkSpec& spec, const Model& model, const LensView& view,
                     const std::string& device) const override {
    Configure(1);
    const torch::Device place(device == "cuda" ? torch::kCUDA : torch::kCPU);
    const auto type = device == "cuda" ? torch::kHalf : torch::kFloat;
    const auto network = std::make_shared<DeviceNetwork>(spec, model.tensors, view, 1, place, type);
    return DeviceProgram(1, spec.input_width, spec.input_height, place, type, BothHeads(network))
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
