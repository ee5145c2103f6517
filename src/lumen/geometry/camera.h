// Camera models. Axes are OpenCV's (x right, y down, z forward), pixel centres lie at integer
// coordinates. Every model offers the same two verbs, each with an optional Jacobian:
//   Project(x)    pixel of a point in the camera's frame; nothing where the model cannot see it
//   Unproject(uv) unit direction seen by a pixel; nothing where the model has no answer
// `Camera` holds any of them together with the image size.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "lumen/geometry/so3.h"

namespace lumen {

struct PinholeCamera {
  double fx = 1, fy = 1, cx = 0, cy = 0;

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;
  PinholeCamera Scaled(double sx, double sy) const;
  friend bool operator==(const PinholeCamera&, const PinholeCamera&) = default;
};

// OpenCV's radial-tangential model: k1, k2, p1, p2, k3.
struct RadTanCamera {
  PinholeCamera pinhole;
  std::array<double, 5> distortion{};

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;
  RadTanCamera Scaled(double sx, double sy) const { return {pinhole.Scaled(sx, sy), distortion}; }
  friend bool operator==(const RadTanCamera&, const RadTanCamera&) = default;
};

// Kannala–Brandt with four coefficients (OpenCV's fisheye): r = θ + k1 θ³ + k2 θ⁵ + k3 θ⁷ + k4 θ⁹.
struct KannalaBrandtCamera {
  PinholeCamera pinhole;
  std::array<double, 4> distortion{};

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;
  KannalaBrandtCamera Scaled(double sx, double sy) const { return {pinhole.Scaled(sx, sy), distortion}; }
  friend bool operator==(const KannalaBrandtCamera&, const KannalaBrandtCamera&) = default;
};

// Scaramuzza's omnidirectional model: the ray of a pixel is (p, a0 + a2 r² + a3 r³ + a4 r⁴) with
// p = A⁻¹ (uv - centre), r = |p|, A = [c d; e 1].
struct OmniCamera {
  double cx = 0, cy = 0;
  std::array<double, 4> polynomial{};     // a0, a2, a3, a4
  std::array<double, 3> affine{1, 0, 0};  // c, d, e

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;
  OmniCamera Scaled(double sx, double sy) const;  // needs sx = sy
  friend bool operator==(const OmniCamera&, const OmniCamera&) = default;
};

// The unified model (Geyer and Daniilidis; Barreto): what everything behind the rectification works with. Its
// measure of depth is ζ(x) = (1 - α) z + α |x|, and a pixel is f (x, y) / ζ + c: a pinhole whose depth turns
// from z towards the distance. α = 0 is the pinhole; at α = 0.62 pixels per angle are even within 6 % up to
// 80° off the axis. Both directions have a closed form.
struct UnifiedCamera {
  double fx = 1, fy = 1, cx = 0, cy = 0;
  double alpha = 0;  // 0 … 1

  UnifiedCamera() = default;
  UnifiedCamera(double focal_x, double focal_y, double centre_x, double centre_y, double a = 0)
      : fx(focal_x), fy(focal_y), cx(centre_x), cy(centre_y), alpha(a) {}
  UnifiedCamera(const PinholeCamera& pinhole)  // NOLINT(google-explicit-constructor): it is one
      : UnifiedCamera(pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy) {}

  bool IsPinhole() const { return alpha == 0; }
  // ζ of a point: what this camera calls its depth; z for a pinhole.
  double Depth(const Eigen::Vector3d& x) const {
    return IsPinhole() ? x.z() : (1 - alpha) * x.z() + alpha * x.norm();
  }
  // (α x / |x| + (1 - α) e_z)ᵀ
  Eigen::RowVector3d DepthJacobian(const Eigen::Vector3d& x) const;
  // Whether the point lies by more than `margin` on the side that is seen: z > margin for a pinhole.
  bool IsBefore(const Eigen::Vector3d& x, double margin) const {
    return IsPinhole() ? x.z() > margin : x.z() + Reach() * x.norm() > margin;
  }
  // How far it sees behind the plane z = 0, as -cos of the largest angle off the axis.
  double Reach() const { return alpha <= 0.5 ? alpha / (1 - alpha) : (1 - alpha) / alpha; }

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;
  // The point of depth ζ = 1 that a pixel sees; the ray of the paper's equations. Not finite beyond the
  // pixels the model can have (see Sees).
  Eigen::Vector3d RayAtUnitDepth(double u, double v) const {
    const double x = (u - cx) / fx;
    const double y = (v - cy) / fy;
    return {x, y, IsPinhole() ? 1.0 : RayZ(x * x + y * y)};
  }
  // d ray.z / d(x, y) at a ray of unit depth; its x and y grow by 1 / f a pixel.
  Eigen::RowVector2d RayZJacobian(const Eigen::Vector3d& ray) const;
  bool Sees(double u, double v) const;
  UnifiedCamera Scaled(double sx, double sy) const;
  // Level k of a pyramid that halves the size each time.
  UnifiedCamera AtLevel(int level) const { return Scaled(1.0 / (1 << level), 1.0 / (1 << level)); }
  friend bool operator==(const UnifiedCamera&, const UnifiedCamera&) = default;

 private:
  double RayZ(double r2) const {
    return (1 - alpha * alpha * r2) / (1 - alpha + alpha * std::sqrt(1 + (1 - 2 * alpha) * r2));
  }
};

// The Kannala–Brandt camera nearest to a unified one, up to 85° off the axis.
KannalaBrandtCamera FitKannalaBrandt(const UnifiedCamera& camera);

class Camera {
 public:
  using Model = std::variant<PinholeCamera, RadTanCamera, KannalaBrandtCamera, OmniCamera, UnifiedCamera>;

  Camera() = default;
  Camera(Model model, int width, int height) : model_(model), width_(width), height_(height) {}
  // A pinhole with square pixels and the centre in the middle, from its horizontal field of view.
  static Camera FromFieldOfView(double horizontal_degrees, int width, int height);

  // What a lens of this field of view most likely is: beyond 100° pixels per angle are even.
  static Camera GuessFromFieldOfView(double horizontal_degrees, int width, int height);
  static bool IsFisheyeAngle(double horizontal_degrees) { return horizontal_degrees > 100; }

  int Width() const { return width_; }
  int Height() const { return height_; }
  const Model& GetModel() const { return model_; }
  std::string ModelName() const;  // "pinhole", "radtan", "kannala_brandt", "omni", "unified"
  const PinholeCamera* AsPinhole() const { return std::get_if<PinholeCamera>(&model_); }
  // A pinhole or unified camera, if that is what this is: what everything behind the rectification works
  // with.
  std::optional<UnifiedCamera> AsUnified() const;

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;

  Camera Resized(int width, int height) const;  // follows the half-pixel rule
  Camera AtLevel(int level) const { return Resized(width_ >> level, height_ >> level); }
  friend bool operator==(const Camera&, const Camera&) = default;

 private:
  Model model_;
  int width_ = 0;
  int height_ = 0;
};

}  // namespace lumen
