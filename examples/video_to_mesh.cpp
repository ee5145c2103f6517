// The library in thirty lines: a video in, the camera's path out.
//   example_slam VIDEO MODEL PATH.tum
#include <cstdio>

#include "lumen/io/input_stream.h"
#include "lumen/io/trajectory_file.h"
#include "lumen/network/engine_priors.h"
#include "lumen/slam/slam.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: example_slam INPUT MODEL.safetensors PATH.tum\n");
    return 2;
  }
  try {
    // Frames of any input, undistorted, at the networks' size.
    lumen::InputStream video(lumen::OpenInput(argv[1], {}), argv[1]);
    const lumen::Model model = lumen::LoadModel(argv[2]);

    lumen::Slam slam(std::make_shared<lumen::EnginePriors>(model, video.GetMask()),
                     lumen::MakeView(video.GetCamera(), video.GetMask()));
    while (const auto frame = video.Next()) {
      const lumen::FrameResult result = slam.Process(*frame);
      std::printf("%lld %s\n", static_cast<long long>(result.index), ToString(result.track.status).c_str());
    }
    slam.Refine();
    lumen::SaveTrajectory(argv[3], slam.FramePoses());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_slam: %s\n", error.what());
    return 1;
  }
}
