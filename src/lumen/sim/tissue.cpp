#include "lumen/sim/tissue.h"

#include <algorithm>
#include <cmath>

namespace lumen {

using Eigen::Vector3f;

namespace {

// Turned, shifted copies of the noise's domain, so that its lattice never shows and scales do not align.
Vector3f Turn(const Vector3f& q, float scale, float shift) {
  return scale * Vector3f(0.80F * q.x() + 0.36F * q.y() - 0.48F * q.z() + shift,
                          -0.60F * q.x() + 0.48F * q.y() - 0.64F * q.z() + 2 * shift,
                          0.80F * q.y() + 0.60F * q.z() - shift);
}

Vector3f AlongWall(const Vector3f& v, const Vector3f& normal) { return v - normal * normal.dot(v); }

// 1 where a detail of this size is well resolved, 0 where it falls below the pixel.
float Resolved(float size, float footprint) { return 1 - SmoothStep(0.35F * size, 1.2F * size, footprint); }

}  // namespace

Tissue::Tissue(const TissueOptions& options, uint64_t seed) : options_(options), noise_(seed) {}

// Vessels run along the zero level of a noise; dividing by its slope along the wall gives the distance to
// that line, so a vessel is equally wide everywhere but where its own width changes.
float Tissue::VesselAt(const WallPoint& point, const Vector3f& q, float wavelength) const {
  Vector3f gradient;
  const float wander = 0.35F * noise_.Value(Turn(q, 2.7F / wavelength, 8.1F));
  // Stretched along one axis: long vessels, few rings.
  const Vector3f stretched(q.x(), 0.45F * q.y(), 0.45F * q.z());
  const float value = noise_.Value(
      Turn(stretched, 1.4F / wavelength, 3.3F + wavelength) + Vector3f::Constant(wander), &gradient);
  const float slope = gradient.norm() / (wavelength * options_.scale);
  const float caliber = 0.5F + 0.9F * noise_.Value(Turn(q, 0.8F / wavelength, 5.9F));
  const float width = options_.vessel_width * options_.scale * 0.35F * wavelength * caliber;
  if (width <= 0) return 0;
  const float away = std::abs(value) / (slope + 0.02F);
  const float blurred = std::max(width, 0.7F * point.footprint);
  return (1 - SmoothStep(0.2F * blurred, blurred, away)) * width / blurred;
}

float Tissue::BloodAt(const WallPoint& point, const Vector3f& q) const {
  const TissueOptions& o = options_;
  const float tint = noise_.Value(Turn(q, 0.09F, 1.7F)) + 0.5F * noise_.Value(Turn(q, 0.23F, 4.2F));
  const float mottle = noise_.Value(Turn(q, 0.9F, 6.4F)) * Resolved(1.1F * o.scale, point.footprint) +
                       0.7F * noise_.Value(Turn(q, 2.6F, 2.8F)) * Resolved(0.4F * o.scale, point.footprint);
  // Mucosa stretched over a ridge is paler, in a groove it is redder.
  const float stretch = std::clamp(0.5F * o.scale * point.curvature, -0.5F, 0.5F);
  float blood = o.blood * (1 + o.tint * 1.6F * tint + o.mottling * mottle - 0.35F * stretch);
  const float cover = 2 * o.vessel_cover - 1;
  const float shown = SmoothStep(-cover - 0.1F, -cover + 0.35F, 1.4F * noise_.Value(Turn(q, 0.13F, 9.5F)));
  if (shown > 0.01F) {
    const float vessel = std::max(VesselAt(point, q, 4.6F), 0.7F * VesselAt(point, q, 2.1F));
    blood += o.vessels * shown * vessel;
  }
  if (o.fine_vessels > 0) {
    const float net = std::max(
        {VesselAt(point, q, 1.6F), 0.8F * VesselAt(point, q, 0.9F), 0.6F * VesselAt(point, q, 0.5F)});
    blood += o.fine_vessels * net;
  }
  return std::max(0.05F, blood);
}

TissueSample Tissue::Evaluate(const WallPoint& point) const {
  const TissueOptions& o = options_;
  const Vector3f q = point.position / o.scale;
  TissueSample sample;
  sample.albedo = o.pale * (-BloodAt(point, q) * o.absorption).exp();
  if (o.fat_cover > 0) {
    const float cover = 2 * o.fat_cover - 1;
    const float fat = SmoothStep(-cover, -cover + 0.5F, 1.3F * noise_.Value(Turn(q, 0.17F, 7.7F)));
    sample.albedo *= 1 - fat * (1 - o.fat) * 0.8F;
  }
  Vector3f coarse;
  Vector3f fine;
  noise_.Value(Turn(q, 0.75F, 0.6F), &coarse);
  noise_.Value(Turn(q, 2.4F, 3.1F), &fine);
  const float coarse_seen = Resolved(1.3F * o.scale, point.footprint);
  const float fine_seen = Resolved(0.42F * o.scale, point.footprint);
  coarse *= coarse_seen;
  fine *= fine_seen;
  sample.normal = (point.normal - o.relief * AlongWall(coarse + 0.5F * fine, point.normal)).normalized();
  const Vector3f film = AlongWall(coarse + 0.35F * fine, point.normal);
  sample.wet_normal = (point.normal - o.ripples * film).normalized();
  // Ripples too small to be seen one by one spread the highlight instead.
  const float unseen = o.ripples * (1.2F - 0.9F * coarse_seen - 0.3F * fine_seen);
  sample.roughness = std::sqrt(o.roughness * o.roughness + 2 * unseen * unseen);
  sample.gloss = o.wetness * (0.65F + 0.35F * noise_.Value(Turn(q, 0.45F, 5.1F)));
  return sample;
}

}  // namespace lumen
