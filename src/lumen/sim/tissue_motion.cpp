#include "lumen/sim/tissue_motion.h"

#include <cmath>
#include <numbers>

#include "lumen/base/random.h"

namespace lumen {

using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

constexpr float kTogether = 35;       // mm over which tissue moves alike
constexpr float kMostOfDepth = 0.3F;  // tissue never comes nearer to the camera than the rest of it

// 0 where the depth is not known.
float DepthNear(const DepthImage& depth, const Vector2d& uv) {
  const int x = static_cast<int>(std::lround(uv.x())), y = static_cast<int>(std::lround(uv.y()));
  return depth.Contains(x, y) ? depth(x, y) : 0;
}

void Take(const RgbImage& image, const Vector2d& uv, uint8_t* rgb) {
  const double u = std::clamp(uv.x(), 0.0, image.Width() - 1.001),
               v = std::clamp(uv.y(), 0.0, image.Height() - 1.001);
  const int x = static_cast<int>(u), y = static_cast<int>(v);
  const double a = u - x, b = v - y;
  for (int c = 0; c < 3; ++c) {
    const double top = (1 - a) * image(x, y, c) + a * image(x + 1, y, c);
    const double bottom = (1 - a) * image(x, y + 1, c) + a * image(x + 1, y + 1, c);
    rgb[c] = static_cast<uint8_t>(std::lround((1 - b) * top + b * bottom));
  }
}

}  // namespace

TissueMotion::TissueMotion(double millimetres, uint64_t seed) : millimetres_(millimetres) {
  Random random = Random(seed).Split("tissue motion");
  noise_ = std::make_shared<const NoiseVolume>(random.NextBits());
  breath_ = random.Uniform(2.5, 4.5);
  wave_ = random.Uniform(6, 11);
}

Vector3f TissueMotion::Displacement(const Vector3f& at_rest, double time) const {
  const Vector3f cell = at_rest / kTogether;
  const auto component = [&](float channel) { return noise_->Value(cell + Vector3f(0, 0, channel)); };
  Vector3f way(component(0), component(9.5F), component(18.5F));
  way /= std::max(1.0F, way.norm());
  // Breathing takes all along at once; contraction runs through the organ.
  const double phase = std::numbers::pi * static_cast<double>(noise_->Value(0.5F * cell + Vector3f(5, 5, 5)));
  const double breathing = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * time / breath_);
  const double contraction = std::sin(2 * std::numbers::pi * time / wave_ + phase) - std::sin(phase);
  return static_cast<float>(millimetres_ * (0.6 * breathing + 0.2 * contraction)) * way;
}

// The place at rest whose way leads into a pixel is found by going back by what it overshoots.
TissueMotion::Moved TissueMotion::Move(const RenderedFrame& at_rest, const Camera& camera, const Mask& mask,
                                       const Rigid3& world_from_camera, double time) const {
  constexpr int kRounds = 4;
  const Rigid3 camera_from_world = world_from_camera.Inverse();
  const int width = mask.Width(), height = mask.Height();
  Moved moved{at_rest, Image<float>(width, height, 2)};
  const auto displaced = [&](const Vector2d& uv, float depth) -> Vector3d {
    const auto ray = camera.Unproject(uv);
    if (!ray) return Vector3d::Zero();
    const Vector3d there = *ray * (static_cast<double>(depth) / ray->z());
    const Vector3f way = Displacement((world_from_camera * there).cast<float>(), time);
    const float most = kMostOfDepth * static_cast<float>(there.norm());
    const Vector3f bounded = way * std::min(1.0F, most / std::max(1e-6F, way.norm()));
    return there + camera_from_world.Rotation() * bounded.cast<double>();
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (mask(x, y) == 0) continue;
      const Vector2d pixel(x, y);
      Vector2d source = pixel;
      double z = 0;
      for (int round = 0; round < kRounds; ++round) {
        const float depth = DepthNear(at_rest.depth, source);
        if (!(depth > 0)) break;
        const Vector3d there = displaced(source, depth);
        const auto uv = there.z() > 0 ? camera.Project(there) : std::nullopt;
        if (!uv) break;
        z = there.z();
        source += pixel - *uv;
      }
      if (!(z > 0) || !(DepthNear(at_rest.depth, source) > 0)) continue;
      moved.frame.depth(x, y) = static_cast<float>(z);
      Take(at_rest.image, source, moved.frame.image.Pixel(x, y));
      moved.flow(x, y, 0) = static_cast<float>(pixel.x() - source.x());
      moved.flow(x, y, 1) = static_cast<float>(pixel.y() - source.y());
    }
  }
  return moved;
}

}  // namespace lumen
