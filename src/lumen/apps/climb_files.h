// The CLiMB challenge's output: OUT/SEQUENCE/RUN/3D_maps/MAP/points3D.txt,
// camera_trajectory/cam_traj_map_001.txt ("time,name,tx,ty,tz,qw,qx,qy,qz", camera to world, w first, frames
// counted from 1 in the name) and runtime.txt. Runs are 1 to 5, maps are counted from 1, the largest first.
#pragma once

#include "lumen/io/run_folder.h"

namespace lumen {

inline constexpr size_t kMostClimbRuns = 5;

void SaveClimbRun(const std::filesystem::path& folder, const RunFolder& run);

// Reads such a folder of one run again, by the challenge's rules. Throws InputError with what breaks them.
struct ClimbRun {
  std::map<int, std::map<int64_t, Rigid3>> maps;  // by number: world_from_camera by frame, counted from 1
  double init_seconds = 0, processing_seconds = 0;
};
ClimbRun CheckClimbRun(const std::filesystem::path& folder);

}  // namespace lumen
