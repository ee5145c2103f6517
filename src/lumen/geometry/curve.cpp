#include "lumen/geometry/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/error.h"
#include "lumen/geometry/grid.h"

namespace lumen {

using Eigen::Vector2f;
using Eigen::Vector3f;

namespace {

Vector3f CatmullRom(const Vector3f (&p)[4], float t) {
  return 0.5F * (2 * p[1] + t * (p[2] - p[0]) + t * t * (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3]) +
                 t * t * t * (3 * (p[1] - p[2]) + p[3] - p[0]));
}

std::vector<Vector3f> SampleDensely(const std::vector<Vector3f>& through, float step) {
  std::vector<Vector3f> dense;
  const auto at = [&](size_t i) { return through[std::min(i, through.size() - 1)]; };
  for (size_t i = 0; i + 1 < through.size(); ++i) {
    const Vector3f p[4] = {i == 0 ? Vector3f(2 * at(0) - at(1)) : at(i - 1), at(i), at(i + 1),
                           i + 2 < through.size() ? at(i + 2) : Vector3f(2 * at(i + 1) - at(i))};
    const int pieces = std::max(2, static_cast<int>(std::ceil((p[2] - p[1]).norm() / (0.25F * step))));
    for (int k = 0; k < pieces; ++k)
      dense.push_back(CatmullRom(p, static_cast<float>(k) / static_cast<float>(pieces)));
  }
  dense.push_back(through.back());
  return dense;
}

// Points every `step` along a polyline; the last stretch, shorter than a step, is dropped.
std::vector<Vector3f> Resample(const std::vector<Vector3f>& line, float step) {
  std::vector<Vector3f> points = {line.front()};
  float walked = 0;  // since the last point put down
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const Vector3f edge = line[i + 1] - line[i];
    const float length = edge.norm();
    float along = step - walked;
    for (; along <= length; along += step) points.emplace_back(line[i] + edge * (along / length));
    walked = length - (along - step);
  }
  if (points.size() < 2) points.push_back(line.back());
  return points;
}

}  // namespace

ArcCurve::ArcCurve(const std::vector<Vector3f>& through, float step) : step_(step) {
  LUMEN_CHECK(through.size() >= 2 && step > 0);
  const std::vector<Vector3f> positions = Resample(SampleDensely(through, step), step);
  for (size_t i = 0; i < positions.size(); ++i) {
    const size_t before = i == 0 ? 0 : i - 1;
    const size_t after = std::min(i + 1, positions.size() - 1);
    const Vector3f tangent = (positions[after] - positions[before]).normalized();
    // The first frame stands on the image's x axis (or y, if the curve runs along x); each next one is the
    // one before, turned as little as possible.
    Vector3f across = i > 0                          ? points_.back().normal
                      : std::abs(tangent.x()) < 0.9F ? Vector3f(Vector3f::UnitX())
                                                     : Vector3f(Vector3f::UnitY());
    across = (across - tangent * tangent.dot(across)).normalized();
    points_.push_back({positions[i], tangent, across, tangent.cross(across)});
  }
}

CurvePoint ArcCurve::At(float s) const {
  const float index = std::clamp(s / step_, 0.0F, static_cast<float>(points_.size() - 1));
  const size_t i = std::min(static_cast<size_t>(index), points_.size() - 2);
  const float t = index - static_cast<float>(i);
  const CurvePoint& a = points_[i];
  const CurvePoint& b = points_[i + 1];
  const Vector3f tangent = (a.tangent + t * (b.tangent - a.tangent)).normalized();
  Vector3f normal = a.normal + t * (b.normal - a.normal);
  normal = (normal - tangent * tangent.dot(normal)).normalized();
  return {a.position + t * (b.position - a.position), tangent, normal, tangent.cross(normal)};
}

Eigen::AlignedBox3f BoxAround(const ArcCurve& curve, float margin) {
  Eigen::AlignedBox3f box;
  for (const CurvePoint& point : curve.Points()) box.extend(point.position);
  box.min().array() -= margin;
  box.max().array() += margin;
  return box;
}

CurveLocator::CurveLocator(const ArcCurve& curve, float reach) : curve_(curve), cell_(0.25F * reach) {
  const Eigen::AlignedBox3f box = BoxAround(curve_, reach);
  origin_ = box.min();
  // A curve that is very long for its reach has coarser hints rather than billions of them.
  constexpr double kMostCells = 1 << 25;
  LUMEN_CHECK(reach > 0, "reach is ", reach);
  const double cells = (box.sizes().cast<double>() / cell_).array().ceil().prod();
  if (cells > kMostCells) cell_ *= static_cast<float>(std::cbrt(cells / kMostCells));
  size_ = (box.sizes() / cell_).array().ceil().cast<int>().max(1);
  hints_.resize(static_cast<size_t>(size_.prod()));
  const std::vector<CurvePoint>& points = curve_.Points();
  ForEachCell(size_, [&](const Eigen::Vector3i& cell) {
    const Vector3f centre = origin_ + cell_ * (cell.cast<float>().array() + 0.5F).matrix();
    float best = std::numeric_limits<float>::infinity();
    // Every fourth sample is enough: the walk does the rest.
    for (size_t i = 0; i < points.size(); i += 4) {
      const float distance = (points[i].position - centre).squaredNorm();
      if (distance >= best) continue;
      best = distance;
      hints_[FlatIndex(cell, size_)] = static_cast<int>(i);
    }
  });
}

size_t CurveLocator::Hint(const Vector3f& p) const {
  return static_cast<size_t>(hints_[FlatIndex(NearestCell((p - origin_) / cell_, size_), size_)]);
}

CurveLocator::Place CurveLocator::Locate(const Vector3f& p) const {
  const std::vector<CurvePoint>& points = curve_.Points();
  const auto squared = [&](size_t k) { return (points[k].position - p).squaredNorm(); };
  size_t i = Hint(p);
  float best = squared(i);
  for (float next; i + 1 < points.size() && (next = squared(i + 1)) < best; ++i) best = next;
  for (float next; i > 0 && (next = squared(i - 1)) < best; --i) best = next;

  // Between samples the foot point follows from the tangents: where (p - c(s)) · t(s) crosses zero.
  const auto along = [&](size_t k) { return (p - points[k].position).dot(points[k].tangent); };
  const float here = along(i);
  const size_t other = here >= 0 ? std::min(i + 1, points.size() - 1) : (i == 0 ? 0 : i - 1);
  float share = 0;
  if (other != i) {
    const float there = along(other);
    if (here != there) share = std::clamp(here / (here - there), 0.0F, 1.0F);
  }
  const float step = curve_.Step();
  const float signed_share = other > i ? share : -share;
  Place place;
  const CurvePoint& a = points[i];
  const CurvePoint& b = points[other];
  const Vector3f offset = p - (a.position + share * (b.position - a.position));
  const Vector3f normal = a.normal + share * (b.normal - a.normal);
  const Vector3f binormal = a.binormal + share * (b.binormal - a.binormal);
  place.overshoot = other == i ? here : 0.0F;
  place.s = step * (static_cast<float>(i) + signed_share) + place.overshoot;
  const Vector2f across(offset.dot(normal), offset.dot(binormal));
  place.radius = across.norm();
  place.direction = place.radius > 1e-6F ? Vector2f(across / place.radius) : Vector2f(1, 0);
  return place;
}

}  // namespace lumen
