// A colon: a bending tube, three-cornered in section, with crescent-shaped folds between its pouches and
// now and then a polyp.
#include <algorithm>
#include <cmath>

#include "lumen/geometry/curve.h"
#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/noise.h"

namespace lumen {

using Eigen::Vector2f;
using Eigen::Vector3f;

namespace {

struct Fold {
  float s;          // where it stands along the axis
  float depth;      // how far it reaches into the lumen
  float width;      // half thickness
  Vector2f middle;  // unit vector to the middle of its crescent
  float reach;      // cosine of the angle from there at which it has faded out
  Vector2f lean;    // shift along the axis per unit of direction, mm
};

struct Sphere {
  Vector3f centre;
  float radius;
};

constexpr float kStep = 12;  // mm between the points an axis is drawn through

ArcCurve DrawAxis(Random random) {
  const float length = UniformFloat(random, 320, 380);
  const float swing = UniformFloat(random, 0.5, 0.85);
  const float wavelength = UniformFloat(random, 150, 210);
  const float pitch = UniformFloat(random, 0.2, 0.5);
  const float phase = UniformFloat(random, 0, 6.28);
  const float pitch_phase = UniformFloat(random, 0, 6.28);
  std::vector<Vector3f> points = {Vector3f::Zero()};
  for (float s = 0; s < length; s += kStep) {
    // The heading swings but never turns back, so the tube cannot run into itself.
    const float yaw = swing * std::sin(6.2832F * s / wavelength + phase);
    const float lift = pitch * std::sin(6.2832F * s / (1.37F * wavelength) + pitch_phase);
    points.emplace_back(points.back() + kStep * Vector3f(std::sin(yaw) * std::cos(lift), std::sin(lift),
                                                         std::cos(yaw) * std::cos(lift)));
  }
  return {points, 1.0F};
}

class ColonShape : public AnatomyShape {
 public:
  explicit ColonShape(const Random& seed);

  float Value(const Vector3f& p) const override;
  Eigen::AlignedBox3f Bounds() const override { return BoxAround(axis_.Curve(), 1.35F * radius_ + 3); }
  float Voxel() const override { return 0.5F; }
  float Clearance() const override { return 2.5F; }
  Vector3f Entry() const override { return axis_.Curve().At(14).position; }
  std::vector<Vector3f> Goals() const override {
    return {axis_.Curve().At(axis_.Curve().Length() - 16).position};
  }

 private:
  void DrawFolds(Random random);
  void DrawPolyps(Random random);
  float Radius(float s, const Vector2f& direction) const;
  // How far the folds reach inwards, and how steep their flanks are hereabouts.
  float FoldHeight(float s, const Vector2f& direction, float* steepness) const;

  CurveLocator axis_;
  float radius_, unevenness_, corners_, twist_, phase_;
  std::vector<Fold> folds_;
  std::vector<size_t> first_fold_;  // per mm of axis: the first fold that can matter there
  std::vector<Sphere> polyps_;
  NoiseVolume noise_;
};

constexpr float kFoldReach = 16;  // mm along the axis beyond which a fold is not felt

ColonShape::ColonShape(const Random& seed)
    : axis_(DrawAxis(seed.Split("axis")), 34), noise_(seed.Split("noise").NextBits()) {
  Random random = seed.Split("tube");
  radius_ = UniformFloat(random, 13, 21);
  unevenness_ = UniformFloat(random, 0.05, 0.14);
  corners_ = UniformFloat(random, 0.02, 0.13);
  twist_ = UniformFloat(random, -0.01, 0.01);
  phase_ = UniformFloat(random, 0, 6.28);
  DrawFolds(seed.Split("folds"));
  DrawPolyps(seed.Split("polyps"));
}

void ColonShape::DrawFolds(Random random) {
  const float length = axis_.Curve().Length();
  const float spacing = UniformFloat(random, 13, 26);
  const float depth = UniformFloat(random, 0.2, 0.46) * radius_;
  const float width = UniformFloat(random, 2.4, 4.2);
  for (float s = 5; s < length; s += spacing * UniformFloat(random, 0.6, 1.4)) {
    const float angle = UniformFloat(random, 0, 6.28);
    const float lean = UniformFloat(random, 0, 5);
    const float lean_angle = UniformFloat(random, 0, 6.28);
    const float reach = depth * UniformFloat(random, 0.55, 1.2);
    // A fold steeper than this could not be resolved.
    const float half = std::max(width * UniformFloat(random, 0.8, 1.4), reach / 2.8F);
    folds_.push_back({s,
                      reach,
                      half,
                      {std::cos(angle), std::sin(angle)},
                      UniformFloat(random, -1.3, -0.1),
                      {lean * std::cos(lean_angle), lean * std::sin(lean_angle)}});
  }
  for (float s = 0; s <= length + 1; s += 1) {
    const auto near =
        std::find_if(folds_.begin(), folds_.end(), [&](const Fold& fold) { return fold.s > s - kFoldReach; });
    first_fold_.push_back(static_cast<size_t>(near - folds_.begin()));
  }
}

void ColonShape::DrawPolyps(Random random) {
  const auto count = random.UniformInt(0, 5);
  for (int64_t i = 0; i < count; ++i) {
    const CurvePoint at = axis_.Curve().At(UniformFloat(random, 30, axis_.Curve().Length() - 20));
    const float angle = UniformFloat(random, 0, 6.28);
    const float size = UniformFloat(random, 2, 4.5);
    polyps_.push_back({at.position + (radius_ - 0.2F * size) *
                                         (std::cos(angle) * at.normal + std::sin(angle) * at.binormal),
                       size});
  }
}

float ColonShape::Radius(float s, const Vector2f& direction) const {
  const float turn = twist_ * s + phase_;
  const float c = direction.x() * std::cos(turn) + direction.y() * std::sin(turn);
  const float three_cornered = 4 * c * c * c - 3 * c;  // cos 3θ
  return radius_ * (1 + corners_ * three_cornered + unevenness_ * noise_.Value({s / 40, 0.5F, 0.5F}));
}

float ColonShape::FoldHeight(float s, const Vector2f& direction, float* steepness) const {
  float height = 0;
  const auto mm = static_cast<size_t>(std::clamp(s, 0.0F, static_cast<float>(first_fold_.size() - 1)));
  for (size_t i = first_fold_[mm]; i < folds_.size() && folds_[i].s < s + kFoldReach; ++i) {
    const Fold& fold = folds_[i];
    const float share = SmoothStep(fold.reach, fold.reach + 0.9F, direction.dot(fold.middle));
    const float x = (s - fold.s - fold.lean.dot(direction)) / fold.width;
    const float bell = 1 / (1 + x * x);
    height += fold.depth * share * bell * bell;
    *steepness += fold.depth * share * bell / fold.width;
  }
  return height;
}

float ColonShape::Value(const Vector3f& p) const {
  const CurveLocator::Place place = axis_.Locate(p);
  float steepness = 0;
  const float fold = FoldHeight(place.s, place.direction, &steepness);
  const float ripple = 0.6F * noise_.Value(p / 7.0F) + 0.25F * noise_.Value(p / 2.9F + Vector3f(7, 3, 5));
  const float wall = Radius(place.s, place.direction) - fold + ripple - place.radius;
  // On a flank the wall is nearer than along the radius. The flank's steepness as a whole is used, not the
  // slope at the point: that vanishes at the crest, and the jump would show as teeth.
  float air = wall / std::sqrt(1 + steepness * steepness);
  const float ends = std::min(place.s, axis_.Curve().Length() - place.s);
  air = SmoothMin(air, ends, 12.0F);
  for (const Sphere& polyp : polyps_) air = SmoothMin(air, (p - polyp.centre).norm() - polyp.radius, 1.5F);
  return air;
}

}  // namespace

std::unique_ptr<AnatomyShape> MakeColonShape(const Random& random) {
  return std::make_unique<ColonShape>(random);
}

}  // namespace lumen
