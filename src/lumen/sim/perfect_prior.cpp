#include "lumen/sim/perfect_prior.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/random.h"
#include "lumen/image/mask.h"
#include "lumen/image/pyramid.h"

namespace lumen {

namespace {

constexpr int kOrders = 4;  // of the depth bases along each axis
constexpr int kHalf = PerfectPriors::kChannels / 2;

// Wave vectors, wavelengths spread evenly on a log scale from short to long (mm). Directions come in
// perpendicular threes, so that every way along a wall changes some of the shorter waves.
Eigen::Matrix<float, kHalf, 3> DrawWaves(Random random, double shortest, double longest) {
  Eigen::Matrix<float, kHalf, 3> waves;
  Eigen::Matrix3d directions = Eigen::Matrix3d::Identity();
  for (int i = 0; i < kHalf; ++i) {
    if (i % 3 == 0) {
      const Eigen::Vector3d turn{random.Normal(), random.Normal(), random.Normal()};
      directions = ExpSO3(2 * turn).toRotationMatrix();
    }
    const double wavelength = shortest * std::pow(longest / shortest, static_cast<double>(i) / (kHalf - 1));
    waves.row(i) = (directions.col(i % 3) * 2 * M_PI / wavelength).cast<float>().transpose();
  }
  return waves;
}

}  // namespace

PerfectPriors::PerfectPriors(std::shared_ptr<const SimulatedSequence> sequence,
                             const PerfectPriorOptions& options)
    : sequence_(std::move(sequence)),
      options_(options),
      renderer_(sequence_->SharedScene(),
                sequence_->View().Resized(sequence_->View().Width() / 2, sequence_->View().Height() / 2),
                sequence_->FrameRenderer().Look()) {
  LUMEN_CHECK(options.levels >= 1 && options.scale_spread >= 0);
  // Detail has the size of the organ's: the clearance a camera keeps tells it.
  const double unit = sequence_->Scene().Clearance();
  const Random random = Random(sequence_->Scene().Seed()).Split("perfect prior");
  feature_waves_ = DrawWaves(random.Split("features"), 8 * unit, 40 * unit);
  descriptor_waves_ = DrawWaves(random.Split("descriptors"), 5 * unit, 40 * unit);
}

double PerfectPriors::TrueScale(int64_t index) const {
  Random random = Random(sequence_->Scene().Seed()).Split("scale").Split(static_cast<uint64_t>(index));
  return 10 * std::exp(options_.scale_spread * random.Normal());
}

// cos and sin of each wave at each pixel's point of the wall, as a unit vector.
Image<float> PerfectPriors::SurfaceWaves(const DepthImage& depth, const Rigid3& world_from_camera,
                                         const Waves& waves) const {
  Image<float> map(depth.Width(), depth.Height(), kChannels);
  const float amplitude = 1 / std::sqrt(static_cast<float>(kHalf));
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      if (FeatureMask()(x, y) == 0) continue;
      const Eigen::Vector3d ray = *FeatureView().Unproject({x, y});
      const Eigen::Vector3f point = (world_from_camera * (ray * (depth(x, y) / ray.z()))).cast<float>();
      float* values = map.Pixel(x, y);
      for (int i = 0; i < kHalf; ++i) {
        const float phase = waves.row(i).dot(point);
        values[2 * i] = amplitude * std::cos(phase);
        values[2 * i + 1] = amplitude * std::sin(phase);
      }
    }
  }
  return map;
}

FeaturePyramid PerfectPriors::ComputeFeatures(const InputFrame& frame) {
  const Rigid3& pose = sequence_->Pose(static_cast<int>(frame.index));
  const DepthImage depth = renderer_.RenderDepth(pose);
  return MakeFeaturePyramid(SurfaceWaves(depth, pose, feature_waves_),
                            SurfaceWaves(depth, pose, descriptor_waves_), FeatureMask(), options_.levels);
}

Image<float> PerfectPriors::ComputeAverageDepth(const InputFrame& frame) {
  DepthImage depth = ViewDepthOfZ(renderer_.RenderDepth(sequence_->Pose(static_cast<int>(frame.index))),
                                  *FeatureView().AsUnified());
  const auto scale = static_cast<float>(1 / TrueScale(frame.index));
  for (size_t i = 0; i < depth.Size(); ++i) depth.Data()[i] *= scale;
  return depth;
}

DepthBasis PerfectPriors::ComputeDepthBasis(const InputFrame& frame) {
  Image<float> average = ComputeAverageDepth(frame);
  // Cosines of low order, as large as the depth itself: enough to bend any depth map slowly, independent of
  // each other, and a code means the same whatever the frame's unit.
  double sum = 0;
  for (size_t i = 0; i < average.Size(); ++i) sum += average.Data()[i];
  const double size = sum / std::max<double>(1, static_cast<double>(CountMask(FeatureMask())));
  static_assert(kOrders * kOrders == kChannels);
  Image<float> bases(average.Width(), average.Height(), kChannels);
  for (int y = 0; y < average.Height(); ++y) {
    for (int x = 0; x < average.Width(); ++x) {
      const double u = M_PI * (x + 0.5) / average.Width();
      const double v = M_PI * (y + 0.5) / average.Height();
      for (int i = 0; i < kChannels; ++i) {
        const int row = i / kOrders;
        const int column = i % kOrders;
        bases(x, y, i) = static_cast<float>(size * std::cos(column * u) * std::cos(row * v));
      }
    }
  }
  return MakeDepthBasis(std::move(average), std::move(bases), FeatureMask());
}

}  // namespace lumen
