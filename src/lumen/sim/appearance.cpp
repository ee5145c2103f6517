#include "lumen/sim/appearance.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/random.h"
#include "lumen/sim/anatomy_shape.h"

namespace lumen {

namespace {

// What sets the organs' looks apart: mean blood and its spread, detail size, light's distance.
struct Palette {
  float scale;
  double blood_low, blood_high;
  double tint_high;
  double vessel_cover_high;
  float light_offset;  // mm beside the lens
};

Palette PaletteOf(AnatomyKind kind) {
  switch (kind) {
    case AnatomyKind::kNasal:
      return {1.0F, 0.5, 1.3, 0.5, 0.45, 1.3F};
    case AnatomyKind::kColon:
      return {2.4F, 0.55, 1.2, 0.35, 0.6, 3.0F};
    case AnatomyKind::kBronchus:
      return {1.2F, 0.5, 1.15, 0.45, 0.5, 1.6F};
    case AnatomyKind::kStomach:
      return {3.0F, 0.7, 1.5, 0.4, 0.3, 3.0F};
  }
  return {};
}

Color UniformColor(Random& random, const Color& low, const Color& high) {
  return {UniformFloat(random, low[0], high[0]), UniformFloat(random, low[1], high[1]),
          UniformFloat(random, low[2], high[2])};
}

TissueOptions DrawTissue(const Palette& palette, Random random, float wildness) {
  TissueOptions tissue;
  tissue.scale = palette.scale * UniformFloat(random, 0.8, 1.3);
  tissue.pale = UniformColor(random, {0.9F, 0.68F, 0.55F}, {0.99F, 0.79F, 0.72F});
  tissue.absorption = UniformColor(random, {0.08F, 0.85F, 0.75F}, {0.24F, 1.1F, 1.2F});
  tissue.blood = UniformFloat(random, palette.blood_low, palette.blood_high);
  tissue.tint = UniformFloat(random, 0.15, palette.tint_high);
  tissue.mottling = UniformFloat(random, 0.06, 0.28);
  tissue.vessels = UniformFloat(random, 0.4, 1.2);
  tissue.vessel_cover = UniformFloat(random, 0.05, palette.vessel_cover_high);
  tissue.vessel_width = UniformFloat(random, 0.07, 0.15);
  tissue.fat_cover = UniformFloat(random, -0.1, 0.3);
  tissue.relief = UniformFloat(random, 0.02, 0.09);
  tissue.wetness = UniformFloat(random, 0.1, 0.5);
  tissue.ripples = UniformFloat(random, 0.06, 0.2);
  tissue.roughness = UniformFloat(random, 0.13, 0.26);
  if (wildness > 0) {
    const Color pale = UniformColor(random, Color::Constant(0.15F), Color::Constant(1.0F));
    const Color absorption = UniformColor(random, Color::Constant(0.05F), Color::Constant(1.4F));
    tissue.pale += wildness * (pale - tissue.pale);
    tissue.absorption += wildness * (absorption - tissue.absorption);
  }
  return tissue;
}

LightOptions DrawLight(const Palette& palette, Random random) {
  LightOptions light;
  light.sources.clear();
  const auto count = random.UniformInt(1, 2);
  const float angle = UniformFloat(random, 0, 6.28);
  for (int64_t i = 0; i < count; ++i) {
    const float turn = angle + 6.2832F * static_cast<float>(i) / static_cast<float>(count);
    const float offset = palette.light_offset * UniformFloat(random, 0.6, 1.4);
    light.sources.push_back(
        {{offset * std::cos(turn), offset * std::sin(turn), UniformFloat(random, -0.4, 0)},
         UniformFloat(random, 0.6, 1.4) / static_cast<float>(count)});
  }
  light.color = UniformColor(random, {0.95F, 0.95F, 0.85F}, {1.0F, 1.0F, 1.0F});
  light.cone_exponent = UniformFloat(random, 1.0, 4.0);
  light.interreflection = UniformFloat(random, 0.2, 0.6);
  return light;
}

MaskOptions DrawMask(Random random) {
  MaskOptions mask;
  mask.radius = UniformFloat(random, 0.97, 1.2);
  mask.center_x = UniformFloat(random, -0.04, 0.04);
  mask.center_y = UniformFloat(random, -0.03, 0.03);
  mask.cut_top = random.Chance(0.5) ? UniformFloat(random, 0.84, 0.96) : 2.0F;
  mask.cut_bottom = random.Chance(0.5) ? UniformFloat(random, 0.84, 0.96) : 2.0F;
  return mask;
}

SensorOptions DrawSensor(Random random, float wildness) {
  SensorOptions sensor;
  sensor.vignette = UniformFloat(random, 0.15, 0.5);
  sensor.exposure_target = UniformFloat(random, 0.15, 0.24);
  sensor.exposure_lag = UniformFloat(random, 0.2, 0.6);
  sensor.gamma = UniformFloat(random, 2.0, 2.4);
  const float spread = 0.05F + 0.35F * wildness;
  sensor.white_balance = UniformColor(random, Color::Constant(1 - spread), Color::Constant(1 + spread));
  sensor.read_noise = UniformFloat(random, 0.0005, 0.0018);
  sensor.shot_noise = UniformFloat(random, 0.006, 0.016);
  sensor.softness = UniformFloat(random, 0.15, 0.6);
  return sensor;
}

}  // namespace

Appearance MakeAppearance(AnatomyKind kind, uint64_t seed, float wildness) {
  const Random random = Random(seed).Split("appearance").Split(AnatomyName(kind));
  const Palette palette = PaletteOf(kind);
  return {DrawTissue(palette, random.Split("tissue"), wildness), DrawLight(palette, random.Split("light")),
          DrawMask(random.Split("mask")), DrawSensor(random.Split("sensor"), wildness), seed};
}

void FitLightToLens(const Camera& camera, Appearance& look) {
  constexpr double kNarrow = 50 * M_PI / 180, kUsual = M_PI / 4, kLeastForward = 0.05;
  const Mask content = MakeContentMask(look.mask, camera.Width(), camera.Height());
  double forward = 1;
  for (int y = 0; y < content.Height(); y += 2) {
    for (int x = 0; x < content.Width(); x += 2) {
      const auto direction = content(x, y) != 0 ? camera.Unproject({x, y}) : std::nullopt;
      if (direction) forward = std::min(forward, std::max(kLeastForward, direction->z()));
    }
  }
  if (std::acos(forward) > kNarrow)
    look.light.cone_exponent *= static_cast<float>(std::log(std::cos(kUsual)) / std::log(forward));
}

Mask MakeContentMask(const MaskOptions& options, int width, int height) {
  Mask mask(width, height, 1, 255);
  if (!options.round) return mask;
  const float unit = 0.5F * static_cast<float>(height);
  for (int y = 0; y < height; ++y) {
    const float v = (static_cast<float>(y) + 0.5F) / unit - 1;
    for (int x = 0; x < width; ++x) {
      const float u = (static_cast<float>(x) + 0.5F - 0.5F * static_cast<float>(width)) / unit;
      const bool inside = std::hypot(u - options.center_x, v - options.center_y) <= options.radius &&
                          v >= -options.cut_top && v <= options.cut_bottom;
      if (!inside) mask(x, y) = 0;
    }
  }
  return mask;
}

}  // namespace lumen
