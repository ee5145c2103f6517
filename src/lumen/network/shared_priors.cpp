#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "lumen/base/error.h"
#include "lumen/network/shared_channel.h"
#include "lumen/network/shared_networks.h"

namespace lumen {

namespace fs = std::filesystem;
using channel::Answer;
using channel::Descriptor;
using channel::FillAddress;
using channel::HelloOf;
using channel::Layout;
using channel::ReceiveBytes;
using channel::SendBytes;
using channel::SendHello;
using channel::SharedMemory;

namespace {

class SharedPriors : public Priors {
 public:
  SharedPriors(Descriptor socket, const Descriptor& file, const Model& model, const LensView& view,
               const PriorsOptions& options)
      : model_(model.depth, model.feature),
        layout_(model),
        socket_(std::move(socket)),
        memory_(file, layout_.size),
        feature_mask_(FeatureMask(view.mask)),
        levels_(options.pyramid_levels) {
    if (memory_.Data() == nullptr) throw std::bad_alloc();
    std::copy_n(view.mask.Data(), layout_.pixels, memory_.Data() + layout_.mask);
    std::memcpy(memory_.Data() + layout_.angles, view.angles.Data(), layout_.pixels * sizeof(float));
  }

  LiveMaps ComputeLive(const InputFrame& frame) override {
    std::vector<Image<float>> maps = Ask(
        NetworkRows::kLive, frame,
        {model_.second.OutputChannels(0), model_.second.OutputChannels(1), model_.first.OutputChannels(0)});
    return {MakeFeaturePyramid(std::move(maps[0]), std::move(maps[1]), feature_mask_, levels_),
            std::move(maps[2])};
  }
  FeaturePyramid ComputeFeatures(const InputFrame& frame) override { return ComputeLive(frame).features; }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override { return std::move(AskBasis(frame)[0]); }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override {
    std::vector<Image<float>> maps = AskBasis(frame);
    return MakeDepthBasis(std::move(maps[0]), std::move(maps[1]), feature_mask_);
  }

 private:
  std::vector<Image<float>> AskBasis(const InputFrame& frame) {
    return Ask(NetworkRows::kBasis, frame, {model_.first.OutputChannels(0), model_.first.OutputChannels(1)});
  }
  std::vector<Image<float>> Ask(NetworkRows::Program program, const InputFrame& frame,
                                const std::vector<int>& channels) {
    std::copy_n(frame.image.Data(), 3 * layout_.pixels, memory_.Data() + layout_.picture);
    const auto asked = static_cast<uint8_t>(program);
    Answer answer{};
    if (!SendBytes(socket_, &asked, 1) || !ReceiveBytes(socket_, &answer, sizeof(answer)))
      throw InputError("the program that shares its networks with this one is gone");
    std::vector<Image<float>> maps;
    const uint8_t* from = memory_.Data() + layout_.maps;
    for (const int count : channels) {
      maps.emplace_back(feature_mask_.Width(), feature_mask_.Height(), count);
      std::memcpy(maps.back().Data(), from, maps.back().Size() * sizeof(float));
      from += maps.back().Size() * sizeof(float);
    }
    return maps;
  }

  std::pair<NetworkSpec, NetworkSpec> model_;  // depth, feature
  Layout layout_;
  Descriptor socket_;
  SharedMemory memory_;
  Mask feature_mask_;
  int levels_;
};

}  // namespace

std::unique_ptr<Priors> MakeSharedPriors(const fs::path& path, const Model& model, const LensView& view,
                                         const PriorsOptions& options) {
  sockaddr_un address;
  if (!FillAddress(path, address)) return nullptr;
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(socket.Get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return nullptr;
  // Who serves answers a greeting at once; afterwards it may be busy.
  timeval patience = {10, 0};
  ::setsockopt(socket.Get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const Descriptor file = SharedMemory::Make(Layout(model).size);
  Answer answer{};
  if (!SendHello(socket, HelloOf(model, options.precision), file) ||
      !ReceiveBytes(socket, &answer, sizeof(answer)) || answer != Answer::kDone)
    return nullptr;
  patience = {0, 0};
  ::setsockopt(socket.Get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return std::make_unique<SharedPriors>(std::move(socket), file, model, view, options);
}

}  // namespace lumen
