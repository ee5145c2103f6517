// Tissue that breathes and contracts: every place of the wall goes to and fro by up to so many millimetres,
// neighbours together. What a frame shows of it is made from the frame at rest: each pixel takes what moves
// into it, picture and depth alike. The camera's own path, and the surface that files hold, are those at
// rest.
#pragma once

#include <memory>

#include "lumen/sim/noise.h"
#include "lumen/sim/renderer.h"

namespace lumen {

class TissueMotion {
 public:
  TissueMotion(double millimetres, uint64_t seed);

  // How far what rests there has gone from it, in mm; at most `millimetres`, and 0 at time 0.
  Eigen::Vector3f Displacement(const Eigen::Vector3f& at_rest, double time) const;
  // What the camera sees of a frame then, and how far each pixel's place has gone, in pixels (2 channels).
  struct Moved {
    RenderedFrame frame;
    Image<float> flow;
  };
  Moved Move(const RenderedFrame& at_rest, const Camera& camera, const Mask& mask,
             const Rigid3& world_from_camera, double time) const;

 private:
  double millimetres_;
  std::shared_ptr<const NoiseVolume> noise_;
  double breath_, wave_;  // seconds
};

}  // namespace lumen
