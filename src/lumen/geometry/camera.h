// Camera models. Axes are OpenCV's (x right, y down, z forward), pixel centres lie at integer
// coordinates. Every model offers the same two verbs, each with an optional Jacobian:
//   Project(x)    pixel of a point in the camera's frame; nothing where the model cannot see it
//   Unproject(uv) unit direction seen by a pixel; nothing where the model has no answer
// `Camera` holds any of them together with the image size.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>

#include "lumen/geometry/so3.h"

namespace lumen {

struct PinholeCamera {
  double fx = 1, fy = 1, cx = 0, cy = 0;

  std::optional<Eigen::Vector2d> Project(const Eigen::Vector3d& x, Matrix23d* jacobian = nullptr) const;
  std::optional<Eigen::Vector3d> Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian = nullptr) const;
  // The point at depth 1 along z; the ray of the paper's equations.
  Eigen::Vector3d RayAtUnitDepth(double u, double v) const { return {(u - cx) / fx, (v - cy) / fy, 1.0}; }
  PinholeCamera Scaled(double sx, double sy) const;
  // Level k of a pyramid that halves the size each time.
  PinholeCamera AtLevel(int level) const { return Scaled(1.0 / (1 << level), 1.0 / (1 << level)); }
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

class Camera {
 public:
  using Model = std::variant<PinholeCamera, RadTanCamera, KannalaBrandtCamera, OmniCamera>;

  Camera() = default;
  Camera(Model model, int width, int height) : model_(model), width_(width), height_(height) {}
  // A pinhole with square pixels and the centre in the middle, from its horizontal field of view.
  static Camera FromFieldOfView(double horizontal_degrees, int width, int height);

  int Width() const { return width_; }
  int Height() const { return height_; }
  const Model& GetModel() const { return model_; }
  std::string ModelName() const;  // "pinhole", "radtan", "kannala_brandt", "omni"
  // The pinhole, if that is what this is: what everything behind the undistortion works with.
  const PinholeCamera* AsPinhole() const { return std::get_if<PinholeCamera>(&model_); }

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
