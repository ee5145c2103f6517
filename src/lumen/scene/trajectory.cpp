#include "lumen/scene/trajectory.h"

namespace lumen {

double PathLength(const Trajectory& trajectory) {
  double length = 0;
  for (size_t i = 1; i < trajectory.size(); ++i) {
    length +=
        (trajectory[i].world_from_camera.Translation() - trajectory[i - 1].world_from_camera.Translation())
            .norm();
  }
  return length;
}

}  // namespace lumen
