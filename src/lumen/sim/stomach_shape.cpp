// A stomach: the end of the gullet, a wide J-shaped bag, flattened from front to back, with winding rugae
// that fade towards the outlet.
#include <algorithm>
#include <cmath>

#include "lumen/geometry/curve.h"
#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/noise.h"

namespace lumen {

using Eigen::Vector3f;

namespace {

ArcCurve DrawBagAxis(Random random) {
  // In the plane of the J, seen from the front: down the body, then sideways up to the outlet.
  const float length = UniformFloat(random, 80, 105);
  const float hook = UniformFloat(random, 55, 80);
  const float rise = UniformFloat(random, 5, 30);
  const float sway = UniformFloat(random, -12, 12);
  const std::vector<Vector3f> through = {{0, 0, 0},
                                         {-8, sway, 0.5F * length},
                                         {-2, sway, 0.85F * length},
                                         {0.4F * hook, 0.5F * sway, length + 10},
                                         {hook, 0, length + 10 - rise}};
  return {through, 1.0F};
}

class StomachShape : public AnatomyShape {
 public:
  explicit StomachShape(const Random& seed);

  float Value(const Vector3f& p) const override;
  Eigen::AlignedBox3f Bounds() const override {
    Eigen::AlignedBox3f box = BoxAround(axis_.Curve(), 1.1F * body_radius_ + 4);
    box.extend(gullet_ + Vector3f::Constant(-12));
    box.extend(gullet_ + Vector3f::Constant(12));
    return box;
  }
  float Voxel() const override { return 0.6F; }
  float Clearance() const override { return 2.5F; }
  Vector3f Entry() const override { return gullet_ + 5 * (mouth_ - gullet_).normalized(); }
  std::vector<Vector3f> Goals() const override {
    const float length = axis_.Curve().Length();
    return {axis_.Curve().At(length - 8).position, axis_.Curve().At(0.55F * length).position};
  }

 private:
  float Radius(float s) const;
  float Gullet(const Vector3f& p) const;

  CurveLocator axis_;
  float body_radius_, outlet_radius_, flatness_;
  float ruga_height_, ruga_pitch_, ruga_length_;
  Vector3f gullet_, mouth_;
  float gullet_radius_;
  NoiseVolume noise_;
};

StomachShape::StomachShape(const Random& seed)
    : axis_(DrawBagAxis(seed.Split("axis")), 44), noise_(seed.Split("noise").NextBits()) {
  Random random = seed.Split("bag");
  body_radius_ = UniformFloat(random, 26, 36);
  outlet_radius_ = UniformFloat(random, 10, 15);
  flatness_ = UniformFloat(random, 0.68, 0.92);
  ruga_height_ = UniformFloat(random, 3.0, 6.5);
  ruga_pitch_ = UniformFloat(random, 2.6, 4.2);
  ruga_length_ = UniformFloat(random, 26, 45);
  gullet_radius_ = UniformFloat(random, 7, 9);
  mouth_ = {UniformFloat(random, 4, 12), 0, UniformFloat(random, -8, 2)};
  gullet_ = mouth_ + Vector3f{UniformFloat(random, 8, 24), UniformFloat(random, -6, 6), -body_radius_ - 22};
}

// Wide in the body, closing to the outlet; the dome at the top closes it at the other end.
float StomachShape::Radius(float s) const {
  const float share = s / axis_.Curve().Length();
  const float taper = SmoothStep(0.35F, 0.9F, share);
  return body_radius_ + (outlet_radius_ - body_radius_) * taper;
}

float StomachShape::Gullet(const Vector3f& p) const {
  const Vector3f along = mouth_ - gullet_;
  const float t = std::clamp((p - gullet_).dot(along) / along.squaredNorm(), 0.0F, 1.0F);
  return gullet_radius_ - (p - gullet_ - t * along).norm();
}

float StomachShape::Value(const Vector3f& p) const {
  const CurveLocator::Place place = axis_.Locate(p);
  const float length = axis_.Curve().Length();
  const float share = std::clamp(place.s / length, 0.0F, 1.0F);
  // Flattened along the binormal, and rounded beyond the ends of the axis.
  const Vector3f local(place.direction.x() * place.radius, place.direction.y() * place.radius / flatness_,
                       place.overshoot);
  const float reach = local.norm();
  const float radius = Radius(std::clamp(place.s, 0.0F, length));
  // Rugae: ridges of a noise that is long along the axis and short across it.
  const Vector3f where(ruga_pitch_ * place.direction.x(), ruga_pitch_ * place.direction.y(),
                       place.s / ruga_length_);
  const Vector3f wander = where + 0.35F * noise_.Value(p / 19.0F) * Vector3f::Ones();
  const float value = noise_.Value(wander);
  const float x = value / 0.6F;
  const float bell = 1 / ((1 + x * x) * (1 + x * x));
  const float height =
      ruga_height_ * (1 - SmoothStep(0.45F, 0.85F, share)) * SmoothStep(0.1F, 0.5F, place.radius / radius);
  // The flanks' steepness hereabouts, smooth across the crest.
  const float steepness = 1.6F * height * bell / 0.6F * ruga_pitch_ / std::max(8.0F, reach);
  const float wall = radius - height * bell + 0.8F * noise_.Value(p / 11.0F) - reach;
  const float bag = wall * (1 - 0.5F * (1 - flatness_)) / std::sqrt(1 + steepness * steepness);
  return SmoothMax(bag, Gullet(p) + 0.3F * noise_.Value(p / 5.0F), 5.0F);
}

}  // namespace

std::unique_ptr<AnatomyShape> MakeStomachShape(const Random& random) {
  return std::make_unique<StomachShape>(random);
}

}  // namespace lumen
