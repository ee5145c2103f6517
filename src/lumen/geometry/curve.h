// Curves by arc length: the axis of a hollow organ, the way of an endoscope. Each point carries a
// frame that does not spin about the tangent.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

namespace lumen {

struct CurvePoint {
  Eigen::Vector3f position, tangent, normal, binormal;
};

class ArcCurve {
 public:
  ArcCurve() = default;
  // A smooth curve through the points (Catmull–Rom), sampled every `step`.
  ArcCurve(const std::vector<Eigen::Vector3f>& through, float step);

  float Length() const { return step_ * static_cast<float>(points_.size() - 1); }
  float Step() const { return step_; }
  const std::vector<CurvePoint>& Points() const { return points_; }
  // `s` is clamped to the curve.
  CurvePoint At(float s) const;

 private:
  float step_ = 1;
  std::vector<CurvePoint> points_;
};

// Finds the nearest point of a curve quickly: a grid of hints, then a walk along the samples.
class CurveLocator {
 public:
  struct Place {
    float s = 0;                // arc length of the foot point, beyond the ends by the overshoot
    Eigen::Vector2f direction;  // unit vector across the tangent, in (normal, binormal)
    float radius = 0;           // distance from the tangent line
    float overshoot = 0;        // along the tangent beyond an end of the curve, else 0
  };

  CurveLocator(const ArcCurve& curve, float reach);
  Place Locate(const Eigen::Vector3f& p) const;
  const ArcCurve& Curve() const { return curve_; }

 private:
  size_t Hint(const Eigen::Vector3f& p) const;

  ArcCurve curve_;
  float cell_ = 0;
  Eigen::Vector3f origin_;
  Eigen::Vector3i size_;
  std::vector<int> hints_;
};

// The box of all points of a curve, grown by `margin` on every side.
Eigen::AlignedBox3f BoxAround(const ArcCurve& curve, float margin);

}  // namespace lumen
