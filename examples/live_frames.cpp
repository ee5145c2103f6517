// Frames from anywhere, live: here raw pictures on the standard input, red, green, blue, a byte each.
//   ffmpeg -i /dev/video0 -f rawvideo -pix_fmt rgb24 - | example_live_frames CALIBRATION MODEL.safetensors
#include <chrono>
#include <cstdio>

#include "lumen/io/calibration.h"
#include "lumen/io/frame_maker.h"
#include "lumen/network/engine_priors.h"
#include "lumen/slam/async_slam.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: … | example_live_frames CALIBRATION MODEL.safetensors\n");
    return 2;
  }
  try {
    const lumen::Camera camera = lumen::LoadCalibration(argv[1]);
    const lumen::Model model = lumen::LoadModel(argv[2]);
    const lumen::Mask whole(camera.Width(), camera.Height(), 1, 255);  // or what the scope shows of it
    const lumen::FrameMaker maker(camera, whole);
    const lumen::LensView lens(maker.GetCamera(), maker.GetMask());

    // The networks, tracking and mapping each have a thread; each that computes has networks of its own.
    lumen::AsyncSlam slam(std::make_shared<lumen::EnginePriors>(model, lens),
                          std::make_shared<lumen::EnginePriors>(model, lens),
                          lumen::MakeView(maker.GetCamera(), maker.GetMask()), nullptr, {});
    lumen::SlamListener listener;
    listener.on_frame = [](const lumen::FrameResult& result, const lumen::PlacedFrame&) {
      const Eigen::Vector3d place = result.track.world_from_camera.Translation();
      std::printf("%lld %s %.3f %.3f %.3f\n", static_cast<long long>(result.index),
                  ToString(result.track.status).c_str(), place.x(), place.y(), place.z());
    };
    slam.Listen(std::move(listener));

    int64_t index = 0, dropped = 0;
    const auto start = std::chrono::steady_clock::now();
    for (lumen::RgbImage picture(camera.Width(), camera.Height(), 3);
         std::fread(picture.Data(), 1, picture.Size(), stdin) == picture.Size(); ++index) {
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      if (!slam.TrySubmit(maker.Make({index, time.count(), picture}))) ++dropped;
      if (slam.Failed()) break;
    }
    slam.Finish();
    std::fprintf(stderr, "%lld frames, %lld of them dropped\n", static_cast<long long>(index),
                 static_cast<long long>(dropped));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_live_frames: %s\n", error.what());
    return 1;
  }
}
