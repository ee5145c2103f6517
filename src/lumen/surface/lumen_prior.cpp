#include "lumen/surface/lumen_prior.h"

#include <algorithm>
#include <limits>

namespace lumen {

using Eigen::Vector3d;

namespace {

constexpr size_t kPathPoints = 48, kSights = 120;

// Evenly along the way it is stored.
template <typename T>
std::vector<T> Thin(const std::vector<T>& all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<T> some;
  for (size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

}  // namespace

LumenPrior::LumenPrior(const SurfacePoints& surface, const RegistrationHints& hints,
                       const TriangleTree& model)
    : model_(model), radius_(ComputeRadius(surface)), path_(Thin(hints.path, kPathPoints)) {
  if (hints.start && !hints.path.empty()) {
    begin_ = hints.path.front();
    start_ = *hints.start;
  }
  std::vector<Sight> sights;
  std::vector<Vector3d> places;
  for (size_t i = 0; i < surface.Size(); ++i) {
    if (surface.seen_from[i] == surface.points[i]) continue;
    sights.push_back({surface.seen_from[i], surface.points[i]});
    places.push_back(surface.seen_from[i]);
  }
  sights_ = Thin(sights, kSights);
  if (path_.empty()) path_ = Thin(places, kPathPoints);
}

bool LumenPrior::Begins(const Sim3& model_from_surface) const {
  const double slack = 0.1 * radius_ * model_from_surface.Scale();
  return start_.exteriorDistance(model_from_surface * *begin_) <= slack;
}

bool LumenPrior::MayBeginIn(const SurfacePoints& part) const {
  if (!begin_) return true;
  constexpr double kWidest = 40;  // mm from the wall, in the widest of organs
  return std::any_of(part.points.begin(), part.points.end(),
                     [&](const Vector3d& p) { return start_.exteriorDistance(p) < kWidest; });
}

double LumenPrior::ShareInside(const Sim3& model_from_surface) const {
  if (path_.empty()) return 1;
  const double slack = 0.05 * radius_ * model_from_surface.Scale();
  double inside = 0;
  for (const Vector3d& place : path_) {
    const Vector3d p = model_from_surface * place;
    const auto hit = model_.FindNearest(p, std::numeric_limits<float>::max());
    if (!hit) continue;
    const double side = (p - hit->point).dot(hit->normal);
    inside += side >= 0 ? 1 : side > -slack ? 0.5 : 0;
  }
  return inside / static_cast<double>(path_.size());
}

double LumenPrior::ShareInView(const Sim3& model_from_surface) const {
  if (sights_.empty()) return 1;
  constexpr double kUpTo = 0.8;
  size_t free = 0;
  for (const Sight& sight : sights_) {
    const Vector3d from = model_from_surface * sight.from, to = model_from_surface * sight.to;
    if (!model_.Blocks(from, from + kUpTo * (to - from), 0)) ++free;
  }
  return static_cast<double>(free) / static_cast<double>(sights_.size());
}

double LumenPrior::Weigh(const Sim3& model_from_surface) const {
  // A path may begin outside of the body, and a model may have lost a part of the lumen.
  constexpr double kLeastInside = 0.6, kLeastInView = 0.5;
  if (begin_ && !Begins(model_from_surface)) return 0;
  const double inside = ShareInside(model_from_surface);
  if (inside < kLeastInside) return 0;
  const double in_view = ShareInView(model_from_surface);
  return in_view < kLeastInView ? 0 : inside * in_view;
}

}  // namespace lumen
