#include "lumen/train/lens.h"

namespace lumen {

namespace {

constexpr double kLeastDepth = 1e-3;

torch::Tensor CameraPart(const torch::Tensor& camera, int k) { return camera.select(1, k).unsqueeze(1); }

// A little is added under the root, so that its derivative at 0 is finite.
torch::Tensor Distance(const torch::Tensor& points) { return (points.square().sum(2) + 1e-12).sqrt(); }

// z of the rays of depth 1 whose x² + y² is r2.
torch::Tensor RayZ(const torch::Tensor& alpha, const torch::Tensor& r2) {
  const torch::Tensor root = (1 + (1 - 2 * alpha) * r2).clamp_min(0).sqrt();
  return (1 - alpha.square() * r2) / (1 - alpha + alpha * root);
}

}  // namespace

torch::Tensor MakeRays(const torch::Tensor& camera, int64_t width, int64_t height) {
  const auto options = camera.options();
  const auto part = [&](int k) { return camera.select(1, k).view({-1, 1, 1}); };
  const torch::Tensor x = (torch::arange(width, options).view({1, 1, -1}) - part(2)) / part(0);
  const torch::Tensor y = (torch::arange(height, options).view({1, -1, 1}) - part(3)) / part(1);
  const torch::Tensor ray_x = x.expand({-1, height, width});
  const torch::Tensor ray_y = y.expand({-1, height, width});
  const torch::Tensor ray_z = RayZ(part(4), x.square() + y.square());
  return torch::stack({ray_x, ray_y, ray_z}, 3).flatten(1, 2);
}

torch::Tensor MakeAngles(const torch::Tensor& camera, int64_t width, int64_t height) {
  const torch::Tensor doubled =
      torch::stack({2 * camera.select(1, 0), 2 * camera.select(1, 1), 2 * camera.select(1, 2) + 0.5,
                    2 * camera.select(1, 3) + 0.5, camera.select(1, 4)},
                   1);
  const torch::Tensor rays = MakeRays(doubled, width, height);
  const torch::Tensor aside = rays.slice(2, 0, 2).norm(2, 2);
  return torch::atan2(aside, rays.select(2, 2)).view({-1, 1, height, width});
}

torch::Tensor DepthOfPoints(const torch::Tensor& camera, const torch::Tensor& points) {
  const torch::Tensor alpha = CameraPart(camera, 4);
  return (1 - alpha) * points.select(2, 2) + alpha * Distance(points);
}

torch::Tensor DepthByPoints(const torch::Tensor& camera, const torch::Tensor& points) {
  const torch::Tensor alpha = CameraPart(camera, 4);
  const torch::Tensor aside = points * (alpha / Distance(points)).unsqueeze(2);
  return torch::cat({aside.slice(2, 0, 2), aside.slice(2, 2, 3) + (1 - alpha).unsqueeze(2)}, 2);
}

torch::Tensor FrontOfPoints(const torch::Tensor& camera, const torch::Tensor& points) {
  const torch::Tensor alpha = CameraPart(camera, 4);
  const torch::Tensor ratio = alpha / (1 - alpha);
  const torch::Tensor reach = torch::minimum(ratio, 1 / ratio.clamp_min(1e-6));
  return points.select(2, 2) + reach * Distance(points);
}

torch::Tensor ProjectPoints(const torch::Tensor& camera, const torch::Tensor& points) {
  const torch::Tensor depth = DepthOfPoints(camera, points).clamp_min(kLeastDepth);
  return torch::stack({CameraPart(camera, 0) * points.select(2, 0) / depth + CameraPart(camera, 2),
                       CameraPart(camera, 1) * points.select(2, 1) / depth + CameraPart(camera, 3)},
                      2);
}

}  // namespace lumen
