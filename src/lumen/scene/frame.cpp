#include "lumen/scene/frame.h"

#include <algorithm>
#include <cmath>

#include "lumen/image/mask.h"
#include "lumen/image/pyramid.h"

namespace lumen {

FeaturePyramid MakeFeaturePyramid(Image<float> features, Image<float> descriptors, const Mask& mask,
                                  int levels) {
  FeaturePyramid pyramid;
  Mask level_mask = mask;
  for (Image<float>& level : MakeMaskedPyramid(std::move(features), mask, levels)) {
    pyramid.levels.push_back({InterleaveGradients(level, level_mask)});
    level_mask = DownsampleMask(level_mask);
  }
  pyramid.descriptors = std::move(descriptors);
  return pyramid;
}

Image<float> FinestFeatures(const FeaturePyramid& features) {
  const FeatureLevel& level = features.levels[0];
  if (!level.has_gradients) return level.values;
  Image<float> map(level.values.Width(), level.values.Height(), level.FeatureChannels());
  for (int y = 0; y < map.Height(); ++y) {
    for (int x = 0; x < map.Width(); ++x)
      std::copy_n(level.values.Pixel(x, y), map.Channels(), map.Pixel(x, y));
  }
  return map;
}

FeaturePyramid PackFeatures(const FeaturePyramid& features) {
  if (features.IsPacked() || features.levels.empty()) return features;
  FeaturePyramid packed;
  packed.levels.push_back({FinestFeatures(features), false});
  packed.descriptors = features.descriptors;
  packed.packed_levels = static_cast<int>(features.levels.size());
  return packed;
}

FeaturePyramid UnpackFeatures(const FeaturePyramid& packed, const Mask& mask, int levels) {
  LUMEN_CHECK(packed.IsPacked() && levels <= packed.packed_levels);
  return MakeFeaturePyramid(packed.levels[0].values, {}, mask, levels);
}

std::shared_ptr<const Frame> PackFrame(const std::shared_ptr<const Frame>& frame) {
  if (frame->features.IsPacked()) return frame;
  return std::make_shared<const Frame>(
      Frame{frame->index, frame->time, frame->image, PackFeatures(frame->features), frame->view});
}

std::shared_ptr<const Frame> UnpackFrame(const std::shared_ptr<const Frame>& frame) {
  if (!frame->features.IsPacked()) return frame;
  FeaturePyramid features = UnpackFeatures(frame->features, frame->view->mask, frame->features.packed_levels);
  features.descriptors = frame->features.descriptors;
  return std::make_shared<const Frame>(
      Frame{frame->index, frame->time, frame->image, std::move(features), frame->view});
}

float DepthBasis::DepthAt(int x, int y, double log_scale, const Eigen::VectorXd& code) const {
  const float* basis = bases.Pixel(x, y);
  double depth = average(x, y);
  for (int i = 0; i < NumBases(); ++i) depth += code[i] * basis[i];
  return static_cast<float>(std::exp(log_scale) * depth);
}

DepthBasis MakeDepthBasis(Image<float> average, Image<float> bases, ImageView<const uint8_t> mask) {
  LUMEN_CHECK((bases.Empty() || SameSize(average, bases)) && SameSize(average, mask));
  double sum = 0;
  int64_t count = 0;
  for (int y = 0; y < average.Height(); ++y) {
    for (int x = 0; x < average.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      sum += static_cast<double>(average(x, y)) * average(x, y);
      ++count;
    }
  }
  DepthBasis basis{std::move(average), std::move(bases)};
  basis.mean_square = count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : 0.0F;
  return basis;
}

DepthImage ComputeDepth(const DepthBasis& basis, double log_scale, const Eigen::VectorXd& code) {
  LUMEN_CHECK(code.size() == basis.NumBases(), code.size(), " codes for ", basis.NumBases(), " bases");
  DepthImage depth(basis.average.Width(), basis.average.Height());
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) depth(x, y) = basis.DepthAt(x, y, log_scale, code);
  }
  return depth;
}

Mask FeatureMask(ImageView<const uint8_t> input_mask) {
  Mask mask(input_mask.Width() / 2, input_mask.Height() / 2);
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      mask(x, y) = std::min(std::min(input_mask(2 * x, 2 * y), input_mask(2 * x + 1, 2 * y)),
                            std::min(input_mask(2 * x, 2 * y + 1), input_mask(2 * x + 1, 2 * y + 1)));
    }
  }
  return mask;
}

std::shared_ptr<const View> MakeView(const Camera& input_camera, const Mask& input_mask, int erosion) {
  LUMEN_CHECK(input_camera.AsUnified() && SameSize(input_camera, input_mask));
  View view;
  view.camera = input_camera.AsUnified()->Scaled(0.5, 0.5);
  view.mask = FeatureMask(input_mask);
  view.eroded_mask = ErodeMask(view.mask, erosion);
  return std::make_shared<const View>(std::move(view));
}

namespace {

// Multiplies each pixel by `factor` of the z of its ray at unit depth; rays across or backwards have no z.
template <typename Factor>
DepthImage ScaleByRay(DepthImage depth, const UnifiedCamera& camera, const Factor& factor) {
  if (camera.IsPinhole()) return depth;
  constexpr double kLeastForward = 1e-3;
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      const double z = camera.Sees(x, y) ? camera.RayAtUnitDepth(x, y).z() : 0;
      depth(x, y) = z > kLeastForward ? static_cast<float>(depth(x, y) * factor(z)) : 0;
    }
  }
  return depth;
}

}  // namespace

DepthImage ViewDepthOfZ(DepthImage z, const UnifiedCamera& camera) {
  return ScaleByRay(std::move(z), camera, [](double ray_z) { return 1 / ray_z; });
}

DepthImage ZOfViewDepth(DepthImage depth, const UnifiedCamera& camera) {
  return ScaleByRay(std::move(depth), camera, [](double ray_z) { return ray_z; });
}

std::shared_ptr<const Keyframe> KeepDepthOnly(const Keyframe& keyframe, const Eigen::VectorXd& code) {
  DiskMemory& disk = DiskMemory::Instance();
  const Frame& from = *keyframe.frame;
  const auto frame =
      std::make_shared<const Frame>(Frame{from.index, from.time, from.image.On(disk), {}, from.view});
  return std::make_shared<const Keyframe>(
      Keyframe{frame,
               {ComputeDepth(keyframe.depth, 0, code).On(disk), {}, keyframe.depth.mean_square},
               keyframe.fine.On(disk)});
}

Sim3 PlaceOf(const KeyframeState& state) {
  return {std::exp(state.log_scale), state.world_from_camera.Rotation(),
          state.world_from_camera.Translation()};
}

KeyframeState StateAt(const Sim3& place, Eigen::VectorXd code) {
  return {Rigid3(place.Rotation(), place.Translation()), std::log(place.Scale()), std::move(code)};
}

double RelativeBasisSize(const Keyframe& keyframe) {
  const Image<float>& bases = keyframe.depth.bases;
  const Mask& mask = keyframe.frame->view->mask;
  double sum = 0;
  int64_t count = 0;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      for (int i = 0; i < bases.Channels(); ++i) sum += static_cast<double>(bases(x, y, i)) * bases(x, y, i);
      count += bases.Channels();
    }
  }
  return count == 0 ? 1 : sum / static_cast<double>(count) / keyframe.depth.mean_square;
}

}  // namespace lumen
