#include "lumen/sim/varied_shape.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>

#include "lumen/sim/noise.h"

namespace lumen {

using Eigen::Matrix3f;
using Eigen::Vector3f;

namespace {

constexpr int kShiftWaves = 2;     // of the shift, long and short
constexpr int kUnwarpRounds = 40;  // of a fixed point that moves by less than half each time
constexpr int kPlacingTries = 1500;
constexpr float kEntryRoom = 1.8F;  // clearances of room that the entry needs, its grid being coarse

Vector3f DrawDirection(Random& random) {
  const Vector3f v{static_cast<float>(random.Normal()), static_cast<float>(random.Normal()),
                   static_cast<float>(random.Normal())};
  return v.norm() > 1e-6F ? Vector3f(v.normalized()) : Vector3f(Vector3f::UnitZ());
}

// Where the shape's own points come from: x ↦ centre + A (x − centre) + smooth shifts.
class SmoothMap {
 public:
  SmoothMap(const Eigen::AlignedBox3f& box, float strength, Random random)
      : noise_(random.NextBits()), centre_(box.center()) {
    const float angle = UniformFloat(random, 0, 3.1);
    const Matrix3f turn = Eigen::AngleAxisf(angle, DrawDirection(random)).toRotationMatrix();
    const float size = strength * UniformFloat(random, -0.25, 0.25);
    Vector3f stretch;
    for (int axis = 0; axis < 3; ++axis)
      stretch[axis] = std::exp(size + strength * UniformFloat(random, -0.6, 0.6));
    linear_ = turn * stretch.asDiagonal() * turn.transpose();
    inverse_ = linear_.inverse();
    volume_ = stretch.prod();
    largest_ = stretch.maxCoeff();
    float length = box.sizes().minCoeff() * UniformFloat(random, 0.25, 0.7);
    for (Wave& wave : waves_) {
      wave.frequency = 1 / length;
      wave.height = strength * length * UniformFloat(random, 0.08, 0.3);
      length *= UniformFloat(random, 0.3, 0.5);
    }
  }

  Vector3f Shift(const Vector3f& p, Matrix3f* slope) const {
    Vector3f shift = Vector3f::Zero();
    for (int w = 0; w < kShiftWaves; ++w) {
      const Wave& wave = waves_[static_cast<size_t>(w)];
      for (int axis = 0; axis < 3; ++axis) {
        // Parts of one repeating noise that are far from each other.
        const Vector3f apart = Vector3f(9.7F, 10.3F, 11.1F) * static_cast<float>(axis + 3 * w);
        Vector3f gradient;
        shift[axis] += wave.height * noise_.Value(wave.frequency * p + apart, slope ? &gradient : nullptr);
        if (slope != nullptr) slope->row(axis) += wave.height * wave.frequency * gradient.transpose();
      }
    }
    return shift;
  }
  Vector3f Apply(const Vector3f& p, Matrix3f* slope) const {
    if (slope != nullptr) *slope = linear_;
    return centre_ + linear_ * (p - centre_) + Shift(p, slope);
  }
  Vector3f Invert(const Vector3f& q) const {
    Vector3f p = centre_ + inverse_ * (q - centre_);
    for (int i = 0; i < kUnwarpRounds; ++i)
      p = 0.5F * (p + centre_ + inverse_ * (q - centre_ - Shift(p, nullptr)));
    return p;
  }
  Eigen::AlignedBox3f InvertBox(const Eigen::AlignedBox3f& box) const {
    Eigen::AlignedBox3f result;
    for (int corner = 0; corner < 8; ++corner)
      result.extend(Vector3f(
          centre_ + inverse_ * (box.corner(static_cast<Eigen::AlignedBox3f::CornerType>(corner)) - centre_)));
    float reach = 0;
    for (const Wave& wave : waves_) reach += wave.height;
    const Vector3f margin = Vector3f::Constant(0.5F * reach * inverse_.norm());
    return {result.min() - margin, result.max() + margin};
  }
  float Volume() const { return volume_; }
  float Largest() const { return largest_; }

 private:
  struct Wave {
    float frequency = 0, height = 0;
  };
  NoiseVolume noise_;
  Vector3f centre_;
  Matrix3f linear_, inverse_;
  float volume_ = 1, largest_ = 1;
  std::array<Wave, kShiftWaves> waves_;
};

// A round rod that grows thicker or thinner along its way.
struct Body {
  Vector3f root, axis;  // from the wall to the tip
  float root_radius, tip_radius, blend;

  float Distance(const Vector3f& p) const {
    const float along = std::clamp((p - root).dot(axis) / axis.squaredNorm(), 0.0F, 1.0F);
    const float radius = root_radius + along * (tip_radius - root_radius);
    const float slope = (tip_radius - root_radius) / axis.norm();
    return ((p - root - along * axis).norm() - radius) / std::sqrt(1 + slope * slope);
  }
};

class VariedShape : public AnatomyShape {
 public:
  VariedShape(std::shared_ptr<const AnatomyShape> inner, float strength, const Random& random)
      : inner_(std::move(inner)), map_(inner_->Bounds(), strength, random.Split("map")) {
    DrawBodies(strength, random.Split("bodies"));
    entry_ = map_.Invert(inner_->Entry());
    clearance_ = inner_->Clearance() / std::max(1.0F, map_.Largest());
  }

  bool HasEntry() const { return Value(entry_) > kEntryRoom * clearance_; }

  // A distance in the shape's own space is at least that much over the map's stretch out here.
  float Value(const Vector3f& p) const override {
    Matrix3f slope;
    const Vector3f q = map_.Apply(p, &slope);
    float air = inner_->Value(q);
    for (const Body& body : bodies_) air = SmoothMin(air, body.Distance(q), body.blend);
    const Matrix3f size = slope.cwiseAbs();
    return air / std::sqrt(size.colwise().sum().maxCoeff() * size.rowwise().sum().maxCoeff());
  }
  Eigen::AlignedBox3f Bounds() const override { return map_.InvertBox(inner_->Bounds()); }
  // As many voxels as the shape itself has.
  float Voxel() const override { return inner_->Voxel() / std::cbrt(map_.Volume()); }
  float Clearance() const override { return clearance_; }
  Vector3f Entry() const override { return entry_; }
  std::vector<Vector3f> Goals() const override {
    std::vector<Vector3f> goals;
    for (const Vector3f& goal : inner_->Goals()) goals.push_back(map_.Invert(goal));
    return goals;
  }

 private:
  void DrawBodies(float strength, Random random);

  std::shared_ptr<const AnatomyShape> inner_;
  SmoothMap map_;
  std::vector<Body> bodies_;
  Vector3f entry_;
  float clearance_;
};

// Bodies grow where a look from a random place in the air meets the wall, about back along it, and leave
// some of the air between.
void VariedShape::DrawBodies(float strength, Random random) {
  const auto wanted = static_cast<size_t>(std::lround(strength * UniformFloat(random, 0, 14)));
  const Eigen::AlignedBox3f box = inner_->Bounds();
  for (int i = 0; i < kPlacingTries && bodies_.size() < wanted; ++i) {
    const Vector3f share{UniformFloat(random, 0, 1), UniformFloat(random, 0, 1), UniformFloat(random, 0, 1)};
    const Vector3f p = box.min() + share.cwiseProduct(box.sizes());
    const float room = inner_->Value(p);
    if (room < 0.8F * inner_->Clearance()) continue;
    const Vector3f direction = DrawDirection(random);
    float away = room;
    for (int step = 0; step < 60; ++step) {
      const float left = inner_->Value(p + away * direction);
      if (left < 0.1F * inner_->Clearance()) break;
      away += 0.7F * left;
    }
    const float length = std::min(away, 8 * room) * UniformFloat(random, 0.4, 1.1);
    Body body;
    body.root = p + away * direction;
    const float aside = 0.5F * UniformFloat(random, 0, 1);
    body.axis = -length * (direction + aside * DrawDirection(random)).normalized();
    body.tip_radius = room * UniformFloat(random, 0.3, 1.2);
    body.root_radius = body.tip_radius * UniformFloat(random, 0.4, 2.0);
    body.blend = body.tip_radius * UniformFloat(random, 0.2, 0.8);
    if (body.Distance(inner_->Entry()) < 2 * kEntryRoom * inner_->Clearance()) continue;
    bodies_.push_back(body);
  }
}

}  // namespace

std::unique_ptr<AnatomyShape> VaryShape(std::unique_ptr<AnatomyShape> shape, float strength,
                                        const Random& random) {
  const std::shared_ptr<const AnatomyShape> inner = std::move(shape);
  for (; strength > 0.05F; strength *= 0.6F) {
    auto varied = std::make_unique<VariedShape>(inner, strength, random);
    if (varied->HasEntry()) return varied;
  }
  return std::make_unique<VariedShape>(inner, 0.0F, random);
}

}  // namespace lumen
