// How far is a path from the true one, after the similarity that fits best? Of any system; TUM, KITTI or
// COLMAP.
//   example_grade_trajectory ESTIMATE TRUTH
#include <cstdio>

#include "lumen/eval/trajectory_error.h"
#include "lumen/io/trajectory_file.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: example_grade_trajectory ESTIMATE TRUTH\n");
    return 2;
  }
  try {
    const lumen::TrajectoryErrors errors =
        lumen::ComputeTrajectoryErrors(lumen::LoadTrajectory(argv[1]), lumen::LoadTrajectory(argv[2]));
    if (errors.status != lumen::TrajectoryStatus::kGood) {
      std::fprintf(stderr, "cannot be graded: %s\n", errors.reason.c_str());
      return 1;
    }
    std::printf("poses            %zu\n", errors.poses.size());
    std::printf("path             %.3f\n", errors.path_length);
    std::printf("ATE, translation %.4f\n", errors.ate_translation);
    std::printf("ATE, rotation    %.3f degrees\n", errors.ate_rotation_degrees);
    if (errors.relative) std::printf("drift            %.2f %%\n", errors.relative->drift_percent);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_grade_trajectory: %s\n", error.what());
    return 1;
  }
}
