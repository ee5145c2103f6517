// Worlds for the room's tests: tubes along z whose radius is known everywhere, and what a camera sees of
// them.
#pragma once

#include <cmath>
#include <functional>

#include "lumen/coverage/coverage.h"

namespace lumen {

// Radius by the place along z and the angle from x towards y.
using TubeShape = std::function<double(double z, double angle)>;
inline TubeShape RoundTube(double radius) {
  return [radius](double, double) { return radius; };
}

// How far an angle is from another, either way round.
inline double AngleBetween(double a, double b) { return std::abs(std::remainder(a - b, 2 * M_PI)); }

inline Eigen::Vector3d TubePoint(const TubeShape& shape, double z, double angle) {
  const double radius = shape(z, angle);
  return {radius * std::cos(angle), radius * std::sin(angle), z};
}

// Its triangles face the axis.
inline TriangleMesh MakeTube(const TubeShape& shape, double from, double to, double step = 0.1) {
  constexpr int kRound = 72;
  const auto rows = static_cast<int>(std::lround((to - from) / step));
  TriangleMesh tube;
  for (int row = 0; row <= rows; ++row)
    for (int k = 0; k < kRound; ++k)
      tube.vertices.push_back(
          TubePoint(shape, from + (to - from) * row / rows, 2 * M_PI * k / kRound).cast<float>());
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < kRound; ++k) {
      const int32_t a = row * kRound + k, b = row * kRound + (k + 1) % kRound;
      tube.triangles.push_back({a, a + kRound, b});
      tube.triangles.push_back({b, a + kRound, b + kRound});
    }
  }
  return tube;
}

// A rectangle whose normal is a × b.
inline TriangleMesh MakePlate(const Eigen::Vector3d& corner, const Eigen::Vector3d& a,
                              const Eigen::Vector3d& b, int steps = 1) {
  TriangleMesh plate;
  for (int j = 0; j <= steps; ++j)
    for (int i = 0; i <= steps; ++i)
      plate.vertices.push_back((corner + a * i / steps + b * j / steps).cast<float>());
  for (int j = 0; j < steps; ++j) {
    for (int i = 0; i < steps; ++i) {
      const int32_t first = j * (steps + 1) + i;
      plate.triangles.push_back({first, first + 1, first + steps + 1});
      plate.triangles.push_back({first + 1, first + steps + 2, first + steps + 1});
    }
  }
  return plate;
}

inline TriangleMesh Together(TriangleMesh a, const TriangleMesh& b) {
  const auto first = static_cast<int32_t>(a.vertices.size());
  a.vertices.insert(a.vertices.end(), b.vertices.begin(), b.vertices.end());
  for (const auto& t : b.triangles) a.triangles.push_back({t[0] + first, t[1] + first, t[2] + first});
  return a;
}

// Only the triangles whose middle is wanted.
inline TriangleMesh Keep(TriangleMesh mesh, const std::function<bool(const Eigen::Vector3d&)>& wanted) {
  const std::vector<WallPiece> pieces = PiecesOf(mesh);
  std::vector<std::array<int32_t, 3>> kept;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (wanted(pieces[i].middle)) kept.push_back(mesh.triangles[i]);
  mesh.triangles = kept;
  return mesh;
}

inline double AngleOf(const Eigen::Vector3d& p) { return std::atan2(p.y(), p.x()); }

// Curves end with their last whole step.
inline ArcCurve AxisOf(float from, float to, float step = 0.1F) {
  const float end = to + 0.3F * step;
  return {{{0, 0, from}, {0, 0, 0.5F * (from + end)}, {0, 0, end}}, step};
}

// On the axis, looking along it; back: towards where z is less, the other way up.
inline Rigid3 PoseOnAxis(double z, bool back = false) {
  const Eigen::Matrix3d rotation =
      back ? ExpSO3({M_PI, 0, 0}).toRotationMatrix() : Eigen::Matrix3d(Eigen::Matrix3d::Identity());
  return {rotation, {0, 0, z}};
}

inline DepthView RenderView(const TriangleTree& world, const Camera& camera, const Rigid3& pose) {
  DepthView view;
  view.camera = *camera.AsUnified();
  view.world_from_camera = pose;
  view.depth = DepthImage(camera.Width(), camera.Height());
  for (int v = 0; v < camera.Height(); ++v) {
    for (int u = 0; u < camera.Width(); ++u) {
      const Eigen::Vector3d ray = view.camera.RayAtUnitDepth(u, v);
      const Eigen::Vector3d turned = pose.Rotation() * ray;
      const auto distance = world.FindFirst(pose.Translation(), turned.normalized());
      if (distance) view.depth(u, v) = static_cast<float>(*distance / ray.norm());
    }
  }
  return view;
}

inline ViewList RenderViews(const TriangleTree& world, const Camera& camera,
                            const std::vector<Rigid3>& poses) {
  std::vector<DepthView> views;
  for (const Rigid3& pose : poses) views.push_back(RenderView(world, camera, pose));
  return {static_cast<int>(views.size()), [views](int i) { return views[static_cast<size_t>(i)]; }};
}

}  // namespace lumen
