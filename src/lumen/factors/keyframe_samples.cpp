#include "lumen/factors/keyframe_samples.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/factors/bilinear.h"

namespace lumen {

namespace {

bool AllFinite(const Image<float>& image) {
  // x · 0 is 0 for every finite x; the sum sees any other without a branch per pixel.
  float sum = 0;
  const float* data = image.Data();
  for (size_t i = 0; i < image.Size(); ++i) sum += data[i] * 0.0F;
  return sum == 0;
}

void SampleCoarseFeatures(const FeaturePyramid& features, int width, KeyframeSamples& samples) {
  const int levels = samples.NumLevels();
  const int channels = samples.FeatureChannels();
  samples.coarse_features.reserve(samples.pixels.size() * static_cast<size_t>((levels - 1) * channels));
  for (const int pixel : samples.pixels) {
    const int x = pixel % width;
    const int y = pixel / width;
    for (int level = 1; level < levels; ++level) {
      const Image<float>& map = features.levels[static_cast<size_t>(level)].values;
      const double scale = 1 << level;
      const auto cell =
          CellAt<double>(AtLevelScale(x, scale), AtLevelScale(y, scale), map.Width(), map.Height());
      const auto weights = cell.Weights();
      for (int c = 0; c < channels; ++c) {
        samples.coarse_features.push_back(static_cast<float>(
            Blend(map.Data() + c, cell.PixelIndex(map.Width()), map.Width(), map.Channels(), weights)));
      }
    }
  }
}

double FeatureVariance(const KeyframeSamples& samples) {
  if (samples.Size() == 0) return 0;
  double variance = 0;
  for (int c = 0; c < samples.FeatureChannels(); ++c) {
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < samples.Size(); ++i) {
      const double value = samples.Features(i, 0)[c];
      sum += value;
      squares += value * value;
    }
    variance += std::max(0.0, squares / samples.Size() - sum * sum / samples.Size() / samples.Size());
  }
  return variance;
}

}  // namespace

void CheckFeatures(const Frame& frame) {
  LUMEN_CHECK(frame.view != nullptr && !frame.features.levels.empty(), "a frame without view or features");
  const Mask& mask = frame.view->mask;
  for (size_t level = 0; level < frame.features.levels.size(); ++level) {
    const Image<float>& map = frame.features.levels[level].values;
    LUMEN_CHECK(map.Width() == mask.Width() >> level && map.Height() == mask.Height() >> level &&
                    map.Width() >= 2 && map.Height() >= 2 &&
                    (frame.features.IsPacked() || map.Channels() % 3 == 0),
                "feature level ", level, " does not fit the view");
    LUMEN_CHECK(AllFinite(map), "feature level ", level, " holds numbers that are not finite");
  }
}

void CheckDepth(const Keyframe& keyframe) {
  LUMEN_CHECK(keyframe.frame != nullptr && keyframe.frame->view != nullptr);
  const DepthBasis& depth = keyframe.depth;
  const Mask& mask = keyframe.frame->view->mask;
  LUMEN_CHECK(SameSize(depth.average, mask) && SameSize(depth.bases, mask), "depth does not fit the view");
  LUMEN_CHECK(AllFinite(depth.average) && AllFinite(depth.bases), "depth holds numbers that are not finite");
  LUMEN_CHECK(depth.mean_square > 0 && std::isfinite(depth.mean_square), "the average depth is zero");
}

std::shared_ptr<const KeyframeSamples> MakeKeyframeSamples(const std::shared_ptr<const Keyframe>& keyframe,
                                                           const std::vector<Eigen::Vector2i>& pixels,
                                                           int most_levels) {
  LUMEN_CHECK(keyframe != nullptr);
  CheckDepth(*keyframe);
  const Frame& frame = *keyframe->frame;
  CheckFeatures(frame);
  auto samples = std::make_shared<KeyframeSamples>();
  samples->keyframe = keyframe;
  samples->levels = std::min(most_levels, frame.features.NumLevels());
  for (const Eigen::Vector2i& pixel : pixels) {
    LUMEN_CHECK(frame.view->mask.Contains(pixel.x(), pixel.y()), "a sample outside the image");
    const Eigen::Vector3d ray = frame.view->camera.RayAtUnitDepth(pixel.x(), pixel.y());
    samples->pixels.push_back(pixel.y() * frame.view->mask.Width() + pixel.x());
    samples->ray_x.push_back(ray.x());
    samples->ray_y.push_back(ray.y());
    if (!frame.view->camera.IsPinhole()) samples->ray_z.push_back(ray.z());
  }
  if (samples->levels > 1) {
    const int width = frame.view->mask.Width();
    if (frame.features.IsPacked()) {
      SampleCoarseFeatures(UnpackFeatures(frame.features, frame.view->mask, samples->levels), width,
                           *samples);
    } else {
      SampleCoarseFeatures(frame.features, width, *samples);
    }
  }
  samples->feature_variance = FeatureVariance(*samples);
  return samples;
}

std::shared_ptr<const KeyframeSamples> MakeKeyframeSamples(const std::shared_ptr<const Keyframe>& keyframe) {
  LUMEN_CHECK(keyframe != nullptr && keyframe->frame != nullptr && keyframe->frame->view != nullptr);
  const Mask& mask = keyframe->frame->view->eroded_mask;
  std::vector<Eigen::Vector2i> pixels;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) != 0) pixels.emplace_back(x, y);
    }
  }
  return MakeKeyframeSamples(keyframe, pixels);
}

}  // namespace lumen
