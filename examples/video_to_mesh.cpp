// A video in; the camera's path and a surface out.
//   example_video_to_mesh INPUT MODEL.safetensors PATH.tum SURFACE.ply
#include <cstdio>

#include "lumen/base/parallel.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/trajectory_file.h"
#include "lumen/network/engine_priors.h"
#include "lumen/slam/slam.h"
#include "lumen/surface/map_surface.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: example_video_to_mesh INPUT MODEL.safetensors PATH.tum SURFACE.ply\n");
    return 2;
  }
  try {
    // Frames of any input, undistorted, at the networks' size.
    lumen::InputStream video(lumen::OpenInput(argv[1], {}), argv[1]);
    const lumen::Model model = lumen::LoadModel(argv[2]);
    const lumen::LensView lens(video.GetCamera(), video.GetMask());
    // Words for places, beside the model: for loops over any distance, and to find oneself when lost.
    const auto words = std::filesystem::path(argv[2]).replace_extension(".vocabulary.safetensors");
    const auto vocabulary = std::make_shared<lumen::Vocabulary>(lumen::Vocabulary::Load(words));

    lumen::Slam slam(std::make_shared<lumen::EnginePriors>(model, lens),
                     lumen::MakeView(video.GetCamera(), video.GetMask()), vocabulary);
    while (const auto frame = video.Next()) {
      const lumen::FrameResult result = slam.Process(*frame);
      std::printf("%lld %s %s\n", static_cast<long long>(result.index), ToString(result.track.status).c_str(),
                  result.track.reason.c_str());
    }
    slam.Finish();
    lumen::SaveTrajectory(argv[3], slam.FramePoses());

    const auto map = slam.Snapshot();
    const lumen::FusionResult surface =
        lumen::FuseMap(map, lumen::LargestSubmap(*map), {}, {}, lumen::AvailableCores());
    lumen::SaveMesh(argv[4], surface.mesh);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_video_to_mesh: %s\n", error.what());
    return 1;
  }
}
