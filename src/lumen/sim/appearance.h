// How a scene looks, apart from its shape: tissue, light, lens and sensor. Drawn afresh for every seed,
// so that no two subjects look alike; every number can also be set by hand.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"
#include "lumen/sim/anatomy.h"

namespace lumen {

using Color = Eigen::Array3f;  // linear red, green, blue

struct TissueOptions {
  float scale = 1;                          // mm per unit of texture: wide organs carry coarser detail
  Color pale = {0.95F, 0.76F, 0.66F};       // without blood
  Color absorption = {0.16F, 1.0F, 0.92F};  // by one unit of blood
  float blood = 1.0F;                       // mean amount
  float tint = 0.35F;                       // change of blood over centimetres
  float mottling = 0.18F;                   // and over millimetres
  float vessels = 0.8F;                     // blood in a vessel's middle
  float vessel_cover = 0.3F;                // share of the surface that shows any
  float vessel_width = 0.11F;               // mm per scale
  float fine_vessels = 0;                   // blood in a dense net of smaller ones, all over the surface
  Color fat = {1.0F, 0.88F, 0.68F};         // colour of pale, yellowish patches, where there are any
  float fat_cover = 0.1F;
  float relief = 0.08F;    // slope of the fine relief
  float ripples = 0.12F;   // slope of the wet film's own relief
  float wetness = 0.15F;   // strength of highlights
  float roughness = 0.2F;  // 0.08 = mirror-like film … 0.4 = dull
};

struct LightSource {
  Eigen::Vector3f position = Eigen::Vector3f::Zero();  // in the camera's frame, mm
  float power = 1;
};

struct LightOptions {
  std::vector<LightSource> sources = {{{-1.2F, 0, 0}, 0.5F}, {{1.2F, 0, 0}, 0.5F}};
  Color color = Color::Ones();
  float cone_exponent = 2;  // intensity falls with cos^n of the angle to the axis
  float interreflection = 0.4F;
  bool shadows = true;
};

// A disc of content, perhaps cut off above and below; lengths in half image heights.
struct MaskOptions {
  bool round = true;
  float radius = 1.06F;
  float center_x = 0, center_y = 0;
  float cut_top = 0.98F, cut_bottom = 0.98F;
};

struct SensorOptions {
  float vignette = 0.35F;        // share of light lost at the edge of the disc
  float exposure_target = 0.2F;  // mean brightness (linear) that auto-exposure steers to
  float exposure_lag = 0.35F;    // seconds
  float gamma = 2.2F;
  Color white_balance = Color::Ones();
  float read_noise = 0.001F;  // standard deviation in the dark, linear
  float shot_noise = 0.012F;  // at full brightness
  float softness = 0.35F;     // lens blur, share of a pixel's neighbours
  float shutter = 0.5F;       // share of the time between frames that light is collected; 0 = no motion blur
  int jpeg_quality = 0;       // 0 = off
};

struct Appearance {
  TissueOptions tissue;
  LightOptions light;
  MaskOptions mask;
  SensorOptions sensor;
  uint64_t seed = 0;
};

// The look of a subject. Wildness 0 keeps to what is seen in patients; 1 draws colours far beyond it,
// for training that must not rely on colour.
Appearance MakeAppearance(AnatomyKind kind, uint64_t seed, float wildness = 0);

// A scope's light is made for its lens: where the content reaches farther off the axis than 50°, the cone is
// widened until as much light arrives at the content's edge as would at 45° with the cone as it was.
void FitLightToLens(const Camera& camera, Appearance& look);

Mask MakeContentMask(const MaskOptions& options, int width, int height);

}  // namespace lumen
