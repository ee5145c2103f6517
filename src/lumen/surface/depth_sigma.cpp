#include "lumen/surface/depth_sigma.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lumen/base/error.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

namespace {

// log sigma is linear in the logarithms of what is known.
struct Model {
  float constant = 0.69F;
  float spread = 0.46F, views = -0.74F, finer = -0.31F;
  float edge = 0.155F;
  float deeper = 0.44F, deeper_squared = 0.16F;  // of log (depth / the view's median)
  // So that none of the logarithms runs away.
  float least_spread = 0.004F, least_finer = 0.05F, least_edge = 0.02F;
  float border = 0.3F;  // counts as such an edge
};

// log of largest over smallest depth within `reach` of each pixel; `border` where some are unknown.
Image<float> MeasureEdges(const DepthImage& depth, int reach, float border) {
  const int width = depth.Width(), height = depth.Height();
  // One direction after the other.
  Image<float> low(width, height), high(width, height), edges(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float* row = depth.Pixel(0, y);
      const auto [least, most] =
          std::minmax_element(row + std::max(0, x - reach), row + std::min(width, x + reach + 1));
      low(x, y) = *least;
      high(x, y) = *most;
    }
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float least = low(x, y), most = high(x, y);
      for (int v = std::max(0, y - reach); v <= std::min(height - 1, y + reach); ++v) {
        least = std::min(least, low(x, v));
        most = std::max(most, high(x, v));
      }
      edges(x, y) = least > 0 ? std::log(most / least) : border;
    }
  }
  return edges;
}

float MedianLog(const DepthImage& depth) {
  std::vector<float> known;
  for (size_t i = 0; i < depth.Size(); ++i) {
    if (depth.Data()[i] > 0) known.push_back(depth.Data()[i]);
  }
  if (known.empty()) return 0;
  return std::log(MedianOf(known));
}

}  // namespace

Image<float> EstimateDepthSigma(const DepthImage& depth, const DepthEvidence& evidence) {
  constexpr Model kModel;
  constexpr int kWidthPerReach = 80;  // the same part of a view whatever its size
  LUMEN_CHECK(depth.Size() == evidence.spread.Size());
  const Image<float> edges = MeasureEdges(depth, std::max(1, depth.Width() / kWidthPerReach), kModel.border);
  const float median = MedianLog(depth);
  Image<float> sigma(depth.Width(), depth.Height());
  for (size_t i = 0; i < depth.Size(); ++i) {
    if (!(depth.Data()[i] > 0)) continue;
    const float deeper = std::log(depth.Data()[i]) - median;
    sigma.Data()[i] =
        std::exp(kModel.constant + kModel.spread * std::log(evidence.spread.Data()[i] + kModel.least_spread) +
                 kModel.views * std::log(evidence.views.Data()[i]) +
                 kModel.finer * std::log(evidence.finer.Data()[i] + kModel.least_finer) +
                 kModel.edge * std::log(edges.Data()[i] + kModel.least_edge) + kModel.deeper * deeper +
                 kModel.deeper_squared * deeper * deeper);
  }
  return sigma;
}

}  // namespace lumen
