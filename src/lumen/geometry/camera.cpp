#include "lumen/geometry/camera.h"

#include <Eigen/QR>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr double kMinDepth = 1e-9;
constexpr int kMaxNewtonSteps = 30;

double ScaleCentre(double c, double s) { return (c + 0.5) * s - 0.5; }

Eigen::Matrix2d Diagonal(double a, double b) { return Eigen::Vector2d(a, b).asDiagonal(); }

// d(x/|x|)/dx
Eigen::Matrix3d NormalizationJacobian(const Eigen::Vector3d& x) {
  const double norm = x.norm();
  const Eigen::Vector3d unit = x / norm;
  return (Eigen::Matrix3d::Identity() - unit * unit.transpose()) / norm;
}

// Unit direction through the point p of the plane z = 1, and its derivative by p.
Eigen::Vector3d DirectionOfPlanePoint(const Eigen::Vector2d& p, Matrix32d* jacobian) {
  const Eigen::Vector3d x(p.x(), p.y(), 1.0);
  if (jacobian != nullptr) *jacobian = NormalizationJacobian(x).leftCols<2>();
  return x.normalized();
}

// Polynomials Σ c_i t^i and their derivatives.
template <size_t N>
double Evaluate(const std::array<double, N>& c, double t) {
  double value = 0;
  for (size_t i = N; i-- > 0;) value = value * t + c[i];
  return value;
}
template <size_t N>
double EvaluateDerivative(const std::array<double, N>& c, double t) {
  double value = 0;
  for (size_t i = N; i-- > 1;) value = value * t + static_cast<double>(i) * c[i];
  return value;
}

}  // namespace

// ---- pinhole

std::optional<Eigen::Vector2d> PinholeCamera::Project(const Eigen::Vector3d& x, Matrix23d* jacobian) const {
  if (!(x.z() > kMinDepth)) return std::nullopt;
  const double inv = 1.0 / x.z();
  if (jacobian != nullptr) {
    *jacobian << fx * inv, 0, -fx * x.x() * inv * inv, 0, fy * inv, -fy * x.y() * inv * inv;
  }
  return Eigen::Vector2d(fx * x.x() * inv + cx, fy * x.y() * inv + cy);
}

std::optional<Eigen::Vector3d> PinholeCamera::Unproject(const Eigen::Vector2d& uv,
                                                        Matrix32d* jacobian) const {
  const Eigen::Vector2d p((uv.x() - cx) / fx, (uv.y() - cy) / fy);
  const Eigen::Vector3d direction = DirectionOfPlanePoint(p, jacobian);
  if (jacobian != nullptr) *jacobian = *jacobian * Diagonal(1.0 / fx, 1.0 / fy);
  return direction;
}

PinholeCamera PinholeCamera::Scaled(double sx, double sy) const {
  return {fx * sx, fy * sy, ScaleCentre(cx, sx), ScaleCentre(cy, sy)};
}

// ---- radial-tangential

namespace {

// Distorted point of a point of the plane z = 1, with derivative.
Eigen::Vector2d DistortRadTan(const std::array<double, 5>& d, const Eigen::Vector2d& p,
                              Eigen::Matrix2d* jacobian) {
  const auto [k1, k2, p1, p2, k3] = d;
  const double x = p.x();
  const double y = p.y();
  const double r2 = x * x + y * y;
  const double radial = 1 + r2 * (k1 + r2 * (k2 + r2 * k3));
  if (jacobian != nullptr) {
    const double slope = k1 + r2 * (2 * k2 + 3 * k3 * r2);  // d radial / d r²
    const double cross = 2 * x * y * slope + 2 * p1 * x + 2 * p2 * y;
    *jacobian << radial + 2 * x * x * slope + 2 * p1 * y + 6 * p2 * x, cross,  //
        cross, radial + 2 * y * y * slope + 6 * p1 * y + 2 * p2 * x;
  }
  return {x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
          y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y};
}

// The polynomial is only trusted where it still grows with the radius: beyond that the picture folds over.
bool RadTanIsMonotone(const std::array<double, 5>& d, double r2) {
  return 1 + r2 * (3 * d[0] + r2 * (5 * d[1] + r2 * 7 * d[4])) > 0;
}

}  // namespace

std::optional<Eigen::Vector2d> RadTanCamera::Project(const Eigen::Vector3d& x, Matrix23d* jacobian) const {
  if (!(x.z() > kMinDepth)) return std::nullopt;
  const double inv = 1.0 / x.z();
  const Eigen::Vector2d p = x.head<2>() * inv;
  if (!RadTanIsMonotone(distortion, p.squaredNorm())) return std::nullopt;
  Eigen::Matrix2d distorted_by_plane;
  const Eigen::Vector2d q = DistortRadTan(distortion, p, &distorted_by_plane);
  if (jacobian != nullptr) {
    Matrix23d plane_by_point;
    plane_by_point << inv, 0, -p.x() * inv, 0, inv, -p.y() * inv;
    *jacobian = Diagonal(pinhole.fx, pinhole.fy) * distorted_by_plane * plane_by_point;
  }
  return Eigen::Vector2d(pinhole.fx * q.x() + pinhole.cx, pinhole.fy * q.y() + pinhole.cy);
}

std::optional<Eigen::Vector3d> RadTanCamera::Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian) const {
  const Eigen::Vector2d q((uv.x() - pinhole.cx) / pinhole.fx, (uv.y() - pinhole.cy) / pinhole.fy);
  Eigen::Vector2d p = q;
  Eigen::Matrix2d distorted_by_plane;
  bool converged = false;
  for (int step = 0; step < kMaxNewtonSteps && !converged; ++step) {
    const Eigen::Vector2d residual = DistortRadTan(distortion, p, &distorted_by_plane) - q;
    if (std::abs(distorted_by_plane.determinant()) < 1e-12) return std::nullopt;
    const Eigen::Vector2d delta = distorted_by_plane.inverse() * residual;
    // A bounded step keeps the search on the branch that starts at the centre.
    const double limit = 0.25 * (1.0 + p.norm());
    p -= delta * std::min(1.0, limit / (delta.norm() + 1e-300));
    converged = delta.norm() < 1e-14 * (1.0 + p.norm());
  }
  const double error = (DistortRadTan(distortion, p, &distorted_by_plane) - q).norm();
  if (!(error < 1e-9) || !RadTanIsMonotone(distortion, p.squaredNorm())) return std::nullopt;
  const Eigen::Vector3d direction = DirectionOfPlanePoint(p, jacobian);
  if (jacobian != nullptr) {
    *jacobian = *jacobian * distorted_by_plane.inverse() * Diagonal(1.0 / pinhole.fx, 1.0 / pinhole.fy);
  }
  return direction;
}

// ---- Kannala–Brandt

namespace {

// r(θ) as a polynomial in θ.
std::array<double, 10> KannalaBrandtPolynomial(const std::array<double, 4>& k) {
  return {0, 1, 0, k[0], 0, k[1], 0, k[2], 0, k[3]};
}

// Whether r grows all the way from the axis to θ: a fit may fall and rise again beyond what it was made for.
bool GrowsUpTo(const std::array<double, 10>& polynomial, double theta) {
  constexpr int kSteps = 24;
  for (int i = 1; i <= kSteps; ++i)
    if (!(EvaluateDerivative(polynomial, theta * i / kSteps) > 0)) return false;
  return true;
}

}  // namespace

std::optional<Eigen::Vector2d> KannalaBrandtCamera::Project(const Eigen::Vector3d& x,
                                                            Matrix23d* jacobian) const {
  const double rho2 = x.head<2>().squaredNorm();
  const double rho = std::sqrt(rho2);
  if (!(rho2 + x.z() * x.z() > kMinDepth * kMinDepth)) return std::nullopt;
  const auto polynomial = KannalaBrandtPolynomial(distortion);
  const double theta = std::atan2(rho, x.z());
  const double slope = EvaluateDerivative(polynomial, theta);
  if (!GrowsUpTo(polynomial, theta)) return std::nullopt;
  if (rho < 1e-9 * std::abs(x.z())) {
    if (x.z() <= 0) return std::nullopt;  // straight behind: no direction
    return PinholeCamera(pinhole).Project(x, jacobian);
  }
  const double r = Evaluate(polynomial, theta);
  const double ratio = r / rho;
  if (jacobian != nullptr) {
    // q = r(θ) (x, y)/ρ with dθ/d(x,y) = z (x,y) / (ρ n²), dθ/dz = -ρ / n².
    const double n2 = rho2 + x.z() * x.z();
    const Eigen::Vector2d e = x.head<2>() / rho;
    Matrix23d distorted_by_point;
    distorted_by_point.leftCols<2>() =
        ratio * (Eigen::Matrix2d::Identity() - e * e.transpose()) + (slope * x.z() / n2) * e * e.transpose();
    distorted_by_point.col(2) = -(slope * rho / n2) * e;
    *jacobian = Diagonal(pinhole.fx, pinhole.fy) * distorted_by_point;
  }
  return Eigen::Vector2d(pinhole.fx * ratio * x.x() + pinhole.cx, pinhole.fy * ratio * x.y() + pinhole.cy);
}

std::optional<Eigen::Vector3d> KannalaBrandtCamera::Unproject(const Eigen::Vector2d& uv,
                                                              Matrix32d* jacobian) const {
  const Eigen::Vector2d q((uv.x() - pinhole.cx) / pinhole.fx, (uv.y() - pinhole.cy) / pinhole.fy);
  const double r = q.norm();
  if (r < 1e-9) return pinhole.Unproject(uv, jacobian);
  const auto polynomial = KannalaBrandtPolynomial(distortion);
  double theta = std::min(r, M_PI);
  for (int step = 0; step < kMaxNewtonSteps; ++step) {
    const double slope = EvaluateDerivative(polynomial, theta);
    if (!(slope > 1e-9)) return std::nullopt;
    const double delta = (Evaluate(polynomial, theta) - r) / slope;
    theta -= std::clamp(delta, -0.3, 0.3);
    if (std::abs(delta) < 1e-15) break;
  }
  const double slope = EvaluateDerivative(polynomial, theta);
  if (!(std::abs(Evaluate(polynomial, theta) - r) < 1e-9) || theta <= 0 || theta > M_PI ||
      !GrowsUpTo(polynomial, theta)) {
    return std::nullopt;
  }
  const Eigen::Vector2d e = q / r;
  const double s = std::sin(theta);
  const double c = std::cos(theta);
  if (jacobian != nullptr) {
    // direction = (sin θ e, cos θ), dθ/dq = eᵀ / slope, de/dq = (I - e eᵀ) / r.
    Matrix32d direction_by_plane;
    direction_by_plane.topRows<2>() =
        (c / slope) * e * e.transpose() + (s / r) * (Eigen::Matrix2d::Identity() - e * e.transpose());
    direction_by_plane.row(2) = -(s / slope) * e.transpose();
    *jacobian = direction_by_plane * Diagonal(1.0 / pinhole.fx, 1.0 / pinhole.fy);
  }
  return Eigen::Vector3d(s * e.x(), s * e.y(), c);
}

// ---- omnidirectional

namespace {

std::array<double, 5> OmniPolynomial(const std::array<double, 4>& a) { return {a[0], 0, a[1], a[2], a[3]}; }

Eigen::Matrix2d OmniAffine(const std::array<double, 3>& affine) {
  return (Eigen::Matrix2d() << affine[0], affine[1], affine[2], 1.0).finished();
}

// Radius r at which the ray's slope f(r) / r equals z / ρ: the smallest root of f(r) ρ - z r > 0 → 0.
std::optional<double> OmniRadius(const std::array<double, 5>& f, double rho, double z) {
  // f(0) = a0 > 0, so g(r) = ρ f(r) - z r starts positive; step outwards to its first sign change.
  const double norm = std::hypot(rho, z);
  const auto g = [&](double r) { return (rho * Evaluate(f, r) - z * r) / norm; };
  const double step = f[0] / 64;
  double low = 0;
  double high = step;
  while (g(high) > 0) {
    low = high;
    high += step;
    if (high > 16 * f[0]) return std::nullopt;
  }
  double r = 0.5 * (low + high);
  for (int i = 0; i < 100; ++i) {
    const double value = g(r);
    (value > 0 ? low : high) = r;
    const double newton = r - value / ((rho * EvaluateDerivative(f, r) - z) / norm);
    const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
    if (std::abs(next - r) < 1e-13 * f[0]) return next;
    r = next;
  }
  return r;
}

}  // namespace

std::optional<Eigen::Vector2d> OmniCamera::Project(const Eigen::Vector3d& x, Matrix23d* jacobian) const {
  const auto f = OmniPolynomial(polynomial);
  const double rho = x.head<2>().norm();
  if (!(x.norm() > kMinDepth) || !(f[0] > 0)) return std::nullopt;
  const Eigen::Matrix2d a = OmniAffine(affine);
  const Eigen::Vector2d centre(cx, cy);
  if (rho < 1e-9 * std::abs(x.z())) {
    if (x.z() <= 0) return std::nullopt;
    if (jacobian != nullptr) {
      Matrix23d plane;  // near the axis p = a0 (x, y) / z
      plane << f[0] / x.z(), 0, 0, 0, f[0] / x.z(), 0;
      *jacobian = a * plane;
    }
    return centre + a * (x.head<2>() * (f[0] / x.z()));
  }
  const auto r = OmniRadius(f, rho, x.z());
  if (!r) return std::nullopt;
  const Eigen::Vector2d e = x.head<2>() / rho;
  if (jacobian != nullptr) {
    // Implicit: ρ f(r) = z r, so dr = (r dz - f dρ) / (ρ f' - z).
    const double denominator = rho * EvaluateDerivative(f, *r) - x.z();
    const double dr_drho = -Evaluate(f, *r) / denominator;
    const double dr_dz = *r / denominator;
    Matrix23d plane;
    plane.leftCols<2>() =
        (*r / rho) * (Eigen::Matrix2d::Identity() - e * e.transpose()) + dr_drho * e * e.transpose();
    plane.col(2) = dr_dz * e;
    *jacobian = a * plane;
  }
  return centre + a * (*r * e);
}

std::optional<Eigen::Vector3d> OmniCamera::Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian) const {
  const auto f = OmniPolynomial(polynomial);
  const Eigen::Matrix2d inverse = OmniAffine(affine).inverse();
  const Eigen::Vector2d p = inverse * (uv - Eigen::Vector2d(cx, cy));
  const double r = p.norm();
  const Eigen::Vector3d ray(p.x(), p.y(), Evaluate(f, r));
  if (!(ray.norm() > 0)) return std::nullopt;
  if (jacobian != nullptr) {
    Matrix32d ray_by_plane = Matrix32d::Zero();
    ray_by_plane.topRows<2>().setIdentity();
    if (r > 0) ray_by_plane.row(2) = EvaluateDerivative(f, r) / r * p.transpose();
    *jacobian = NormalizationJacobian(ray) * ray_by_plane * inverse;
  }
  return ray.normalized();
}

OmniCamera OmniCamera::Scaled(double sx, double sy) const {
  LUMEN_CHECK(std::abs(sx - sy) < 1e-2 * sx, "an omnidirectional camera keeps its aspect ratio");
  const double s = sx;
  return {ScaleCentre(cx, s),
          ScaleCentre(cy, s),
          {polynomial[0] * s, polynomial[1] / s, polynomial[2] / (s * s), polynomial[3] / (s * s * s)},
          affine};
}

// ---- unified

Eigen::RowVector3d UnifiedCamera::DepthJacobian(const Eigen::Vector3d& x) const {
  if (IsPinhole()) return Eigen::RowVector3d::UnitZ();
  return (1 - alpha) * Eigen::RowVector3d::UnitZ() + alpha * x.transpose() / x.norm();
}

std::optional<Eigen::Vector2d> UnifiedCamera::Project(const Eigen::Vector3d& x, Matrix23d* jacobian) const {
  if (!IsBefore(x, kMinDepth)) return std::nullopt;
  const double inverse = 1.0 / Depth(x);
  const Eigen::Vector2d p = x.head<2>() * inverse;
  if (jacobian != nullptr) {
    const Matrix23d plane_by_point =
        inverse * (Matrix23d(Eigen::Matrix3d::Identity().topRows<2>()) - p * DepthJacobian(x));
    *jacobian = Diagonal(fx, fy) * plane_by_point;
  }
  return Eigen::Vector2d(fx * p.x() + cx, fy * p.y() + cy);
}

bool UnifiedCamera::Sees(double u, double v) const {
  const double x = (u - cx) / fx;
  const double y = (v - cy) / fy;
  return alpha <= 0.5 || (2 * alpha - 1) * (x * x + y * y) < 1;
}

// From (1 - α) z + α |ray| = 1.
Eigen::RowVector2d UnifiedCamera::RayZJacobian(const Eigen::Vector3d& ray) const {
  if (IsPinhole()) return Eigen::RowVector2d::Zero();
  return -alpha / ((1 - alpha) * ray.norm() + alpha * ray.z()) * ray.head<2>().transpose();
}

std::optional<Eigen::Vector3d> UnifiedCamera::Unproject(const Eigen::Vector2d& uv,
                                                        Matrix32d* jacobian) const {
  if (!Sees(uv.x(), uv.y())) return std::nullopt;
  const Eigen::Vector3d ray = RayAtUnitDepth(uv.x(), uv.y());
  if (jacobian != nullptr) {
    Matrix32d ray_by_plane;
    ray_by_plane << Eigen::Matrix2d::Identity(), RayZJacobian(ray);
    *jacobian = NormalizationJacobian(ray) * ray_by_plane * Diagonal(1.0 / fx, 1.0 / fy);
  }
  return ray.normalized();
}

UnifiedCamera UnifiedCamera::Scaled(double sx, double sy) const {
  return {fx * sx, fy * sy, ScaleCentre(cx, sx), ScaleCentre(cy, sy), alpha};
}

KannalaBrandtCamera FitKannalaBrandt(const UnifiedCamera& camera) {
  // Least squares of r(θ) - θ over θ³ … θ⁹, evenly over the angles.
  constexpr int kAngles = 170;
  Eigen::Matrix<double, kAngles, 4> powers;
  Eigen::Matrix<double, kAngles, 1> radii;
  const UnifiedCamera unit(1, 1, 0, 0, camera.alpha);
  for (int i = 0; i < kAngles; ++i) {
    const double theta = (i + 1) * 0.5 * M_PI / 180;
    const double t2 = theta * theta;
    powers.row(i) << theta * t2, theta * t2 * t2, theta * t2 * t2 * t2, theta * t2 * t2 * t2 * t2;
    radii[i] = unit.Project({std::sin(theta), 0, std::cos(theta)})->x() - theta;
  }
  const Eigen::Vector4d k = powers.colPivHouseholderQr().solve(radii);
  return {{camera.fx, camera.fy, camera.cx, camera.cy}, {k[0], k[1], k[2], k[3]}};
}

// ---- any of them

Camera Camera::GuessFromFieldOfView(double horizontal_degrees, int width, int height) {
  if (!IsFisheyeAngle(horizontal_degrees)) return FromFieldOfView(horizontal_degrees, width, height);
  const double f = 0.5 * width / (0.5 * horizontal_degrees * M_PI / 180.0);
  return {KannalaBrandtCamera{{f, f, 0.5 * (width - 1), 0.5 * (height - 1)}, {}}, width, height};
}

Camera Camera::FromFieldOfView(double horizontal_degrees, int width, int height) {
  LUMEN_CHECK(horizontal_degrees > 0 && horizontal_degrees < 180 && width > 0 && height > 0);
  const double f = 0.5 * width / std::tan(0.5 * horizontal_degrees * M_PI / 180.0);
  return {PinholeCamera{f, f, 0.5 * (width - 1), 0.5 * (height - 1)}, width, height};
}

std::string Camera::ModelName() const {
  static constexpr const char* kNames[] = {"pinhole", "radtan", "kannala_brandt", "omni", "unified"};
  return kNames[model_.index()];
}

std::optional<UnifiedCamera> Camera::AsUnified() const {
  if (const auto* pinhole = std::get_if<PinholeCamera>(&model_)) return UnifiedCamera(*pinhole);
  if (const auto* unified = std::get_if<UnifiedCamera>(&model_)) return *unified;
  return std::nullopt;
}

std::optional<Eigen::Vector2d> Camera::Project(const Eigen::Vector3d& x, Matrix23d* jacobian) const {
  return std::visit([&](const auto& model) { return model.Project(x, jacobian); }, model_);
}

std::optional<Eigen::Vector3d> Camera::Unproject(const Eigen::Vector2d& uv, Matrix32d* jacobian) const {
  return std::visit([&](const auto& model) { return model.Unproject(uv, jacobian); }, model_);
}

Camera Camera::Resized(int width, int height) const {
  LUMEN_CHECK(width > 0 && height > 0 && width_ > 0 && height_ > 0);
  const double sx = static_cast<double>(width) / width_;
  const double sy = static_cast<double>(height) / height_;
  return {std::visit([&](const auto& model) { return Model(model.Scaled(sx, sy)); }, model_), width, height};
}

}  // namespace lumen
