// UnifiedCamera (geometry/camera.h) on batches of tensors; a test holds the two together. Cameras are (B, 5):
// fx, fy, cx, cy, alpha.
#pragma once

#include <torch/torch.h>

namespace lumen {

// Rays at depth 1 for all pixels of maps of this size: (B, H·W, 3).
torch::Tensor MakeRays(const torch::Tensor& camera, int64_t width, int64_t height);
// How far off the axis each pixel of pictures of twice the maps' size looks, in radians: (B, 1, H, W).
torch::Tensor MakeAngles(const torch::Tensor& camera, int64_t width, int64_t height);

// Of points (B, N, 3), as the camera measures it: (B, N); and its derivative (B, N, 3).
torch::Tensor DepthOfPoints(const torch::Tensor& camera, const torch::Tensor& points);
torch::Tensor DepthByPoints(const torch::Tensor& camera, const torch::Tensor& points);
// How far they lie on the side that is seen: (B, N); z for a pinhole.
torch::Tensor FrontOfPoints(const torch::Tensor& camera, const torch::Tensor& points);
// Pixels of points → (B, N, 2); depths at least a small positive number.
torch::Tensor ProjectPoints(const torch::Tensor& camera, const torch::Tensor& points);

}  // namespace lumen
