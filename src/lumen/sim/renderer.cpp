#include "lumen/sim/renderer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/base/random.h"

namespace lumen {

using Eigen::Vector2f;
using Eigen::Vector3f;

namespace {

constexpr double kMinForward = 0.05;  // least share of a ray along z for its depth to mean anything
constexpr int kTile = 8;              // pixels along the edge of a bundle of rays
constexpr float kLightRadius = 0.8F;  // mm: how soft shadows are

// GGX's lobe times the common approximation of Smith's shadowing, for cosines of normal with half vector,
// light and eye.
float SpecularLobe(float normal_half, float normal_light, float normal_eye, float roughness) {
  const float alpha = roughness * roughness;
  const float squared = alpha * alpha;
  const float base = normal_half * normal_half * (squared - 1) + 1;
  const float lobe = squared / (static_cast<float>(M_PI) * base * base);
  const float k = 0.5F * alpha;
  return 0.25F * lobe / ((normal_light * (1 - k) + k) * (normal_eye * (1 - k) + k));
}

}  // namespace

Renderer::LitView::LitView(const Rigid3& world_from_camera, const LightOptions& light)
    : rotation(world_from_camera.RotationMatrix().cast<float>()),
      eye(world_from_camera.Translation().cast<float>()),
      axis(rotation.col(2)) {
  for (const LightSource& source : light.sources) {
    lights.push_back({eye + rotation * source.position, source.power});
  }
}

Renderer::Renderer(std::shared_ptr<const Anatomy> anatomy, const Camera& camera, const Appearance& appearance,
                   int threads)
    : anatomy_(std::move(anatomy)),
      camera_(camera),
      appearance_(appearance),
      threads_(threads),
      mask_(MakeContentMask(appearance.mask, camera.Width(), camera.Height())),
      tissue_(appearance.tissue, MixBits(appearance.seed + 17)),
      rays_(camera.Width(), camera.Height(), 3) {
  LUMEN_CHECK(anatomy_ != nullptr && threads >= 1);
  for (int y = 0; y < camera.Height(); ++y) {
    for (int x = 0; x < camera.Width(); ++x) {
      const auto direction = camera.Unproject({x, y});
      if (!direction || direction->z() < kMinForward) mask_(x, y) = 0;
      const Vector3f ray = direction.value_or(Eigen::Vector3d::Zero()).cast<float>();
      std::copy_n(ray.data(), 3, rays_.Pixel(x, y));
    }
  }
  const Vector3f middle = RayAt(camera.Width() / 2, camera.Height() / 2, {0, 0});
  pixel_angle_ = (RayAt(camera.Width() / 2, camera.Height() / 2, {1, 0}) - middle).norm();
  reach_ = anatomy_->Field().Bounds().sizes().norm();
  sensor_.emplace(appearance.sensor, mask_, appearance.seed);
}

// Between pixels the direction follows from the neighbours, whatever the camera model.
Vector3f Renderer::RayAt(int x, int y, const Vector2f& offset) const {
  const auto at = [&](int u, int v) {
    return Vector3f(rays_.Pixel(std::clamp(u, 0, rays_.Width() - 1), std::clamp(v, 0, rays_.Height() - 1)));
  };
  const auto known = [&](int u, int v) {
    return u < rays_.Width() && v < rays_.Height() &&
           *std::max_element(rays_.Pixel(u, v), rays_.Pixel(u, v) + 3) > 0;
  };
  const int x1 = known(x + 1, y) ? x + 1 : x - 1;
  const int y1 = known(x, y + 1) ? y + 1 : y - 1;
  const Vector3f here = at(x, y);
  const Vector3f by_x = (at(x1, y) - here) * static_cast<float>(x1 - x);
  const Vector3f by_y = (at(x, y1) - here) * static_cast<float>(y1 - y);
  return (here + offset.x() * by_x + offset.y() * by_y).normalized();
}

// How open the surroundings are, 0 in a crevice to 1 on open wall, from the distance a few steps off the
// wall.
float Renderer::Openness(const WallPoint& point) const {
  const DistanceField& field = anatomy_->Field();
  float open = 1;
  for (const float step : {2.5F, 7.0F}) {
    const float away = step * 2 * field.Voxel();
    open *=
        0.35F + 0.65F * std::clamp(field.Distance(point.position + away * point.normal) / away, 0.0F, 1.0F);
  }
  return open;
}

Color Renderer::Illuminate(const LitView& view, const WallPoint& point, const TissueSample& tissue) const {
  const DistanceField& field = anatomy_->Field();
  const LightOptions& options = appearance_.light;
  const Vector3f to_eye = (view.eye - point.position).normalized();
  const float open = Openness(point);
  float direct = 0;
  float bounced = 0;
  float highlight = 0;
  for (const LightSource& light : view.lights) {
    const Vector3f to_light = light.position - point.position;
    const float distance = std::max(to_light.norm(), 1e-3F);
    const Vector3f l = to_light / distance;
    const float forward = std::max(0.0F, -l.dot(view.axis));
    const float arriving = light.power * std::pow(forward, options.cone_exponent) / (distance * distance);
    bounced += arriving;
    const float facing = tissue.normal.dot(l);
    if (facing <= -0.1F || point.normal.dot(l) <= 0) continue;
    const float clear =
        options.shadows ? field.Transmission({point.position, l}, distance, kLightRadius) : 1.0F;
    // Light that enters the tissue comes out a little beyond the edge of the shadow.
    direct += arriving * clear * std::max(0.0F, (facing + 0.1F) / 1.1F);
    const Vector3f half = (l + to_eye).normalized();
    const float wet_facing = std::max(tissue.wet_normal.dot(l), 0.0F);
    highlight += arriving * clear * wet_facing *
                 SpecularLobe(std::max(tissue.wet_normal.dot(half), 0.0F), wet_facing,
                              std::max(tissue.wet_normal.dot(to_eye), 0.05F), tissue.roughness);
  }
  // Light from other walls arrives from all sides, coloured by them; it falls with distance as theirs does.
  // In a crevice it goes to and fro between walls, so what is left there is red.
  const Color kept = open / (1 - 0.85F * tissue.albedo * (1 - open));
  const Color diffuse =
      tissue.albedo * (direct * kept) + tissue.albedo.square() * kept * (options.interreflection * bounced);
  return options.color * (diffuse + tissue.gloss * highlight);
}

Color Renderer::Shade(const LitView& view, const Ray& ray, float distance) const {
  WallPoint point;
  point.position = ray.origin + distance * ray.direction;
  const Vector3f gradient = anatomy_->Field().Gradient(point.position, &point.curvature);
  point.normal = gradient.norm() > 1e-6F ? Vector3f(gradient.normalized()) : Vector3f(-ray.direction);
  const float slant = std::max(0.2F, -point.normal.dot(ray.direction));
  point.footprint = distance * pixel_angle_ / slant;
  return Illuminate(view, point, tissue_.Evaluate(point));
}

Image<float> Renderer::TraceTiles(const LitView& view) const {
  const int columns = (mask_.Width() + kTile - 1) / kTile;
  const int rows = (mask_.Height() + kTile - 1) / kTile;
  Image<float> tiles(columns, rows);
  ParallelFor(rows, threads_, [&](int64_t row) {
    const auto y = static_cast<int>(row);
    for (int x = 0; x < columns; ++x) {
      const Vector3f middle = RayAt(std::min(x * kTile + kTile / 2, mask_.Width() - 1),
                                    std::min(y * kTile + kTile / 2, mask_.Height() - 1), {-0.5F, -0.5F});
      float spread = 0;
      for (const auto& [u, v] : {std::pair(0, 0), {kTile - 1, 0}, {0, kTile - 1}, {kTile - 1, kTile - 1}}) {
        const Vector2f outwards(u == 0 ? -0.5F : 0.5F, v == 0 ? -0.5F : 0.5F);
        const Vector3f corner = RayAt(std::min(x * kTile + u, mask_.Width() - 1),
                                      std::min(y * kTile + v, mask_.Height() - 1), outwards);
        spread = std::max(spread, (corner - middle).norm());
      }
      tiles(x, y) = anatomy_->Field().TraceCone({view.eye, view.rotation * middle}, 1.05F * spread, reach_);
    }
  });
  return tiles;
}

void Renderer::RenderTileRow(const LitView& view, int tile_y, ImageView<const float> tiles,
                             Radiance& radiance) const {
  for (int y = tile_y * kTile; y < std::min((tile_y + 1) * kTile, mask_.Height()); ++y) {
    for (int x = 0; x < mask_.Width(); ++x) {
      if (mask_(x, y) == 0) continue;
      const Vector3f in_camera(rays_.Pixel(x, y));
      const Ray ray = {view.eye, view.rotation * in_camera};
      const float distance = anatomy_->Field().Trace(ray, reach_, tiles(x / kTile, tile_y)).distance;
      radiance.depth(x, y) = distance * in_camera.z();
      if (radiance.light.Empty()) continue;
      const Color color = Shade(view, ray, distance);
      std::copy_n(color.data(), 3, radiance.light.Pixel(x, y));
    }
  }
}

// Where one ray per pixel would show stairs: steps in depth, and highlights.
bool Renderer::IsEdge(const Radiance& radiance, int x, int y) const {
  const float here = radiance.depth(x, y);
  const float light = radiance.light(x, y, 1);
  for (const auto& [dx, dy] : {std::pair(1, 0), {-1, 0}, {0, 1}, {0, -1}}) {
    if (!mask_.Contains(x + dx, y + dy) || mask_(x + dx, y + dy) == 0) continue;
    const float there = radiance.depth(x + dx, y + dy);
    if (std::abs(there - here) > 0.1F * std::min(here, there)) return true;
    const float other = radiance.light(x + dx, y + dy, 1);
    if (std::abs(other - light) > 0.8F * std::min(other, light)) return true;
  }
  return false;
}

void Renderer::SmoothEdges(const LitView& view, ImageView<const float> tiles, Radiance& radiance) const {
  Image<float> smooth = radiance.light;
  const std::array<Vector2f, 2> offsets = {Vector2f(-0.35F, -0.15F), Vector2f(0.35F, 0.15F)};
  ParallelFor(mask_.Height(), threads_, [&](int64_t row) {
    const auto y = static_cast<int>(row);
    for (int x = 0; x < mask_.Width(); ++x) {
      if (mask_(x, y) == 0 || !IsEdge(radiance, x, y)) continue;
      const float start = tiles(x / kTile, y / kTile);
      Color sum = Eigen::Map<const Color>(radiance.light.Pixel(x, y));
      for (const Vector2f& offset : offsets) {
        const Ray ray = {view.eye, view.rotation * RayAt(x, y, offset)};
        sum += Shade(view, ray, anatomy_->Field().Trace(ray, reach_, start).distance);
      }
      const Color mean = sum / 3;
      std::copy_n(mean.data(), 3, smooth.Pixel(x, y));
    }
  });
  radiance.light = std::move(smooth);
}

Radiance Renderer::RenderPixels(const LitView& view, bool with_light) const {
  Radiance radiance = {with_light ? Image<float>(mask_.Width(), mask_.Height(), 3) : Image<float>(),
                       DepthImage(mask_.Width(), mask_.Height())};
  const Image<float> tiles = TraceTiles(view);
  ParallelFor(tiles.Height(), threads_,
              [&](int64_t row) { RenderTileRow(view, static_cast<int>(row), tiles, radiance); });
  if (with_light) SmoothEdges(view, tiles, radiance);
  return radiance;
}

Radiance Renderer::RenderRadiance(const Rigid3& world_from_camera) const {
  return RenderPixels(LitView(world_from_camera, appearance_.light), true);
}

DepthImage Renderer::RenderDepth(const Rigid3& world_from_camera) const {
  return RenderPixels(LitView(world_from_camera, appearance_.light), false).depth;
}

// How far each pixel moves while the shutter is open.
Image<float> Renderer::MotionInPixels(const DepthImage& depth, const Rigid3& next_from_camera) const {
  Image<float> motion(depth.Width(), depth.Height(), 2);
  ParallelFor(mask_.Height(), threads_, [&](int64_t row) {
    const auto y = static_cast<int>(row);
    for (int x = 0; x < depth.Width(); ++x) {
      if (mask_(x, y) == 0) continue;
      const Eigen::Vector3d ray = Vector3f(rays_.Pixel(x, y)).cast<double>();
      const auto uv = camera_.Project(next_from_camera * (ray * (depth(x, y) / ray.z())));
      if (!uv) continue;
      motion(x, y, 0) = appearance_.sensor.shutter * static_cast<float>(uv->x() - x);
      motion(x, y, 1) = appearance_.sensor.shutter * static_cast<float>(uv->y() - y);
    }
  });
  return motion;
}

// One pixel in `stride` along both axes is enough to judge the light by.
float Renderer::MeterGain(const Rigid3& world_from_camera) const {
  const LitView view(world_from_camera, appearance_.light);
  const int stride = std::max(1, mask_.Height() / 16);
  const int columns = (mask_.Width() + stride - 1) / stride;
  const int rows = (mask_.Height() + stride - 1) / stride;
  Image<float> light(columns, rows, 3);
  Mask mask(columns, rows);
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      mask(x, y) = mask_(x * stride, y * stride);
      if (mask(x, y) == 0) continue;
      const Ray ray = {view.eye, view.rotation * Vector3f(rays_.Pixel(x * stride, y * stride))};
      const Color color = Shade(view, ray, anatomy_->Field().Trace(ray, reach_).distance);
      std::copy_n(color.data(), 3, light.Pixel(x, y));
    }
  }
  return ComputeWantedGain(light, mask, appearance_.sensor.exposure_target);
}

RgbImage Renderer::Develop(const Radiance& radiance, const RenderRequest& request) const {
  const float gain =
      request.gain.value_or(ComputeWantedGain(radiance.light, mask_, appearance_.sensor.exposure_target));
  Image<float> light = SoftenImage(radiance.light, mask_, appearance_.sensor.softness);
  if (request.world_from_next && appearance_.sensor.shutter > 0) {
    const Rigid3 next_from_camera = request.world_from_next->Inverse() * request.world_from_camera;
    light = BlurAlongMotion(light, MotionInPixels(radiance.depth, next_from_camera), mask_);
  }
  return sensor_->Develop(light, gain, request.frame);
}

RenderedFrame Renderer::Render(const RenderRequest& request) const {
  Radiance radiance = RenderRadiance(request.world_from_camera);
  RgbImage image = Develop(radiance, request);
  return {std::move(image), std::move(radiance.depth)};
}

}  // namespace lumen
