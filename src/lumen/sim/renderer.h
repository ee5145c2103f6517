// Renders what an endoscope sees in an anatomy: colour, depth along z, radiance before the sensor. Every
// call is a pure function of its arguments; the number of threads changes nothing but the time.
#pragma once

#include <memory>
#include <optional>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/sim/anatomy.h"
#include "lumen/sim/appearance.h"
#include "lumen/sim/sensor.h"
#include "lumen/sim/tissue.h"

namespace lumen {

struct Radiance {
  Image<float> light;  // linear RGB, before vignette and exposure; 0 outside the mask
  DepthImage depth;    // mm along z; 0 outside the mask
};

struct RenderRequest {
  Rigid3 world_from_camera;
  uint64_t frame = 0;                                    // picks the sensor's noise
  std::optional<float> gain = std::nullopt;              // none: as this frame alone would be exposed
  std::optional<Rigid3> world_from_next = std::nullopt;  // the camera one frame later, for motion blur
};

struct RenderedFrame {
  RgbImage image;
  DepthImage depth;
};

class Renderer {
 public:
  Renderer(std::shared_ptr<const Anatomy> anatomy, const Camera& camera, const Appearance& appearance,
           int threads = 1);

  const Anatomy& Scene() const { return *anatomy_; }
  const Camera& View() const { return camera_; }
  const Appearance& Look() const { return appearance_; }
  const Mask& ContentMask() const { return mask_; }

  RenderedFrame Render(const RenderRequest& request) const;
  Radiance RenderRadiance(const Rigid3& world_from_camera) const;
  DepthImage RenderDepth(const Rigid3& world_from_camera) const;
  // The gain this view would be exposed with, judged from a few hundred pixels.
  float MeterGain(const Rigid3& world_from_camera) const;
  // Distance from the camera's centre along a ray in the world to the wall.
  float TraceDistance(const Ray& ray) const { return anatomy_->Field().Trace(ray, reach_).distance; }
  // From light to picture, for those who change the light in between.
  RgbImage Develop(const Radiance& radiance, const RenderRequest& request) const;

 private:
  // The camera with its lights, in the world.
  struct LitView {
    LitView(const Rigid3& world_from_camera, const LightOptions& light);
    Eigen::Matrix3f rotation;
    Eigen::Vector3f eye, axis;
    std::vector<LightSource> lights;
  };

  // How far all rays of each tile of pixels run in the air.
  Image<float> TraceTiles(const LitView& view) const;
  void RenderTileRow(const LitView& view, int tile_y, ImageView<const float> tiles, Radiance& radiance) const;
  Radiance RenderPixels(const LitView& view, bool with_light) const;
  void SmoothEdges(const LitView& view, ImageView<const float> tiles, Radiance& radiance) const;
  bool IsEdge(const Radiance& radiance, int x, int y) const;
  Eigen::Vector3f RayAt(int x, int y, const Eigen::Vector2f& offset) const;
  Color Shade(const LitView& view, const Ray& ray, float distance) const;
  Color Illuminate(const LitView& view, const WallPoint& point, const TissueSample& tissue) const;
  float Openness(const WallPoint& point) const;
  Image<float> MotionInPixels(const DepthImage& depth, const Rigid3& next_from_camera) const;

  std::shared_ptr<const Anatomy> anatomy_;
  Camera camera_;
  Appearance appearance_;
  int threads_;
  Mask mask_;
  Tissue tissue_;
  std::optional<Sensor> sensor_;
  Image<float> rays_;      // unit directions in the camera's frame
  float reach_ = 0;        // mm; no ray is longer
  float pixel_angle_ = 0;  // about; radians
};

}  // namespace lumen
