#include "lumen/sim/degrade_effects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "lumen/image/sample.h"
#include "lumen/sim/sensor.h"

namespace lumen {

using Eigen::Vector2f;
using Eigen::Vector3f;

namespace {

constexpr float kGamma = 2.2F;

// Calls body(x, y, light) for each content pixel.
template <typename Body>
void ForEachContentPixel(const EffectContext& context, Image<float>& light, const Body& body) {
  for (int y = 0; y < light.Height(); ++y) {
    for (int x = 0; x < light.Width(); ++x) {
      if (context.mask(x, y) != 0) body(x, y, light.Pixel(x, y));
    }
  }
}

float Unit(const Image<float>& light) { return static_cast<float>(light.Height()); }

// Mean of content pixels over a set of offsets around each pixel.
Image<float> Spread(const Image<float>& light, ImageView<const uint8_t> mask,
                    const std::vector<Vector2f>& offsets) {
  Image<float> out(light.Width(), light.Height(), 3);
  for (int y = 0; y < light.Height(); ++y) {
    for (int x = 0; x < light.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      float* sum = out.Pixel(x, y);
      float count = 0;
      for (const Vector2f& offset : offsets) {
        const int u = x + static_cast<int>(std::lround(offset.x()));
        const int v = y + static_cast<int>(std::lround(offset.y()));
        if (!mask.Contains(u, v) || mask(u, v) == 0) continue;
        for (int c = 0; c < 3; ++c) sum[c] += light(u, v, c);
        count += 1;
      }
      for (int c = 0; c < 3; ++c) sum[c] = count > 0 ? sum[c] / count : light(x, y, c);
    }
  }
  return out;
}

Image<float> BlurDisc(const Image<float>& light, ImageView<const uint8_t> mask, float radius) {
  std::vector<Vector2f> offsets;
  const int reach = static_cast<int>(std::ceil(radius));
  for (int v = -reach; v <= reach; ++v) {
    for (int u = -reach; u <= reach; ++u) {
      if (u * u + v * v <= radius * radius + 0.5F) offsets.emplace_back(u, v);
    }
  }
  return Spread(light, mask, offsets);
}

void BlurByMotion(float severity, const EffectContext& context, Image<float>& light) {
  // The direction wanders from frame to frame, as a hand's does.
  const float turn = 3.14F * context.noise.Value({0.15F * static_cast<float>(context.frame), 3.5F, 7.5F});
  const float length = 0.022F * severity * Unit(light) + 2;
  std::vector<Vector2f> offsets;
  const int taps = static_cast<int>(std::ceil(length)) + 1;
  for (int i = 0; i < taps; ++i) {
    const float t = length * (static_cast<float>(i) / static_cast<float>(taps - 1) - 0.5F);
    offsets.emplace_back(t * std::cos(turn), t * std::sin(turn));
  }
  light = Spread(light, context.mask, offsets);
}

void Defocus(float severity, const EffectContext& context, Image<float>& light) {
  light = BlurDisc(light, context.mask, std::max(1.0F, 0.008F * severity * Unit(light)));
}

void ChangeExposure(float stops, const EffectContext& context, Image<float>& light) {
  const float gain = std::exp2(stops);
  Random random = context.random.Split("grain").Split(static_cast<uint64_t>(context.frame));
  const auto stream = static_cast<uint32_t>(random.NextBits());
  // Too little light means grain: the sensor's noise stays while the picture fades.
  const float grain = stops < 0 ? 0.003F : 0.0F;
  ForEachContentPixel(context, light, [&](int x, int y, float* rgb) {
    const uint32_t bits = HashBits(stream, static_cast<uint32_t>(y * light.Width() + x));
    for (uint32_t c = 0; c < 3; ++c)
      rgb[c] = gain * rgb[c] + grain * (2 * HashUnit(HashBits(bits + c)) - 0.5F);
  });
}

// Dirt stays where it is on the lens: the picture is blurred and greyed behind it.
void Smudge(float severity, const EffectContext& context, Image<float>& light) {
  const Image<float> blurred = BlurDisc(light, context.mask, 0.012F * (severity + 1) * Unit(light) + 1);
  const float scale = 4.5F / Unit(light);
  const float threshold = 0.55F - 0.17F * severity;
  ForEachContentPixel(context, light, [&](int x, int y, float* rgb) {
    const Vector3f at(scale * static_cast<float>(x), scale * static_cast<float>(y), 11.3F);
    const float dirt = 0.92F * SmoothStep(threshold, threshold + 0.45F,
                                          context.noise.Value(at) + 0.3F * context.noise.Value(3 * at));
    const float* soft = blurred.Pixel(x, y);
    const float veil = 0.05F * severity * (0.3F * soft[0] + 0.6F * soft[1] + 0.1F * soft[2]);
    for (int c = 0; c < 3; ++c) rgb[c] += dirt * (soft[c] * (1 - 0.04F * severity) + veil - rgb[c]);
  });
}

// A film that runs down slowly: it swallows green and blue, and blurs a little.
void Bleed(float severity, const EffectContext& context, Image<float>& light) {
  const Image<float> blurred = BlurDisc(light, context.mask, 0.004F * severity * Unit(light) + 1);
  const float scale = 2.6F / Unit(light);
  const float time = 0.012F * static_cast<float>(context.frame);
  const float threshold = 0.5F - 0.2F * severity;
  ForEachContentPixel(context, light, [&](int x, int y, float* rgb) {
    const Vector3f at(scale * static_cast<float>(x), scale * static_cast<float>(y) - time,
                      21.7F + 0.3F * time);
    const float thickness = SmoothStep(threshold, threshold + 0.8F,
                                       context.noise.Value(at) + 0.35F * context.noise.Value(2.7F * at));
    const float depth = thickness * (0.5F + 0.4F * severity);
    const float* soft = blurred.Pixel(x, y);
    const float through[3] = {std::exp(-0.35F * depth), std::exp(-2.2F * depth), std::exp(-2.0F * depth)};
    for (int c = 0; c < 3; ++c) rgb[c] = (rgb[c] + thickness * (soft[c] - rgb[c])) * through[c];
    rgb[0] += 0.02F * thickness * severity * 0.2F;
  });
}

void Smoke(float severity, const EffectContext& context, Image<float>& light) {
  const float scale = 2.2F / Unit(light);
  const float time = 0.03F * static_cast<float>(context.frame);
  ForEachContentPixel(context, light, [&](int x, int y, float* rgb) {
    const Vector3f at(scale * static_cast<float>(x) + 0.4F * time, scale * static_cast<float>(y) - time,
                      31.1F + time);
    const float swirl = 0.5F + 0.5F * context.noise.Value(at) + 0.25F * context.noise.Value(2.3F * at);
    const float density = std::clamp(0.2F * severity * (1.3F * swirl - 0.1F), 0.0F, 0.97F);
    for (int c = 0; c < 3; ++c) rgb[c] += density * (0.34F + 0.03F * static_cast<float>(c) - rgb[c]);
  });
}

struct Bubble {
  Vector2f centre;
  float radius;
};

std::vector<Bubble> DrawBubbles(float severity, const EffectContext& context, const Image<float>& light) {
  Random random = context.random.Split("bubbles");
  std::vector<Bubble> bubbles;
  const int count = static_cast<int>(4 * severity);
  for (int i = 0; i < count; ++i) {
    const auto share = [&](double low, double high) { return static_cast<float>(random.Uniform(low, high)); };
    Vector2f centre{share(0.1, 0.9), share(0, 1)};
    const float radius = share(0.02, 0.035 + 0.018 * severity);
    const Vector2f drift{share(-0.001, 0.001), share(-0.003, -0.0005)};
    centre += drift * static_cast<float>(context.frame);
    centre.y() -= std::floor(centre.y());
    bubbles.push_back({{centre.x() * static_cast<float>(light.Width()), centre.y() * Unit(light)},
                       std::max(2.0F, radius * Unit(light))});
  }
  return bubbles;
}

// A bubble is a lens that shows its surroundings small and upside down, with a dark rim and a glint.
void Bubbles(float severity, const EffectContext& context, Image<float>& light) {
  const Image<float> source = light;
  for (const Bubble& bubble : DrawBubbles(severity, context, light)) {
    ForEachContentPixel(context, light, [&](int x, int y, float* rgb) {
      const Vector2f offset = Vector2f(static_cast<float>(x), static_cast<float>(y)) - bubble.centre;
      const float r = offset.norm() / bubble.radius;
      if (r >= 1) return;
      const Vector2f from = bubble.centre - 1.6F * offset;
      int u = std::clamp(static_cast<int>(from.x()), 0, light.Width() - 1);
      int v = std::clamp(static_cast<int>(from.y()), 0, light.Height() - 1);
      if (context.mask(u, v) == 0) std::tie(u, v) = std::pair(x, y);
      const float rim = SmoothStep(0.75F, 0.97F, r);
      const Vector2f glint = offset / bubble.radius + Vector2f(0.35F, 0.4F);
      const float shine = 0.9F * (1 - SmoothStep(0.06F, 0.2F, glint.norm()));
      for (int c = 0; c < 3; ++c) rgb[c] = source(u, v, c) * (1.1F - 0.75F * rim) + 0.06F * rim + shine;
    });
  }
}

// A round steel shaft from the edge of the picture, in and out by and by.
// A shaft with jaws, in the picture's plane.
struct Shaft {
  Vector2f tip, inwards;  // the latter of unit length, from the edge to the tip
  float radius = 1;       // pixels
  float marks = 0;        // how close the dark bands along it follow each other; 0: none
};

void DrawShaft(const Shaft& shaft, const EffectContext& context, Image<float>& light) {
  const Vector2f across(-shaft.inwards.y(), shaft.inwards.x());
  ForEachContentPixel(context, light, [&](int x, int y, float* rgb) {
    const Vector2f offset = Vector2f(static_cast<float>(x), static_cast<float>(y)) - shaft.tip;
    const float along = -offset.dot(shaft.inwards);  // from the tip back to the edge
    const float side = offset.dot(across) / shaft.radius;
    // The jaws taper over two radii.
    const float taper = 2 * shaft.radius;
    const float half = along < taper ? 0.35F + 0.65F * std::max(0.0F, along) / taper : 1.0F;
    if (along < 0 || std::abs(side) > half) return;
    const float facing = std::sqrt(std::max(0.0F, 1 - side * side / (half * half)));
    const float shine = 0.75F * std::exp(-40 * (side + 0.25F) * (side + 0.25F));
    const float band = shaft.marks > 0 && std::sin(shaft.marks * along / shaft.radius) > 0.6F ? 0.3F : 1.0F;
    const float steel = band * (0.05F + 0.22F * facing + shine);
    for (int c = 0; c < 3; ++c) rgb[c] = steel * (1 + 0.03F * static_cast<float>(c));
  });
}

Vector2f MiddleOf(const Image<float>& light) {
  return {0.5F * static_cast<float>(light.Width()), 0.5F * Unit(light)};
}

Shaft ShaftAt(float angle, float reach, float aside, float radius, const Image<float>& light) {
  const Vector2f inwards(-std::cos(angle), -std::sin(angle));
  const Vector2f across(-inwards.y(), inwards.x());
  return {MiddleOf(light) - reach * inwards + aside * across, inwards, radius, 0};
}

void ShowTool(float severity, const EffectContext& context, Image<float>& light) {
  Random random = context.random.Split("tool");
  const auto angle = static_cast<float>(random.Uniform(0.15, 2.9));
  const float sway = context.noise.Value({0.02F * static_cast<float>(context.frame), 17.5F, 2.5F});
  const float radius = (0.04F + 0.022F * severity) * Unit(light);
  const float reach = (0.62F - 0.17F * severity - 0.12F * sway) * Unit(light);  // of the tip from the middle
  const float aside = static_cast<float>(random.Uniform(-0.12, 0.12)) * Unit(light);
  DrawShaft(ShaftAt(angle, reach, aside, radius, light), context, light);
}

// Comes in from a side, works there for a while, to and fro and aside, and goes; each time from another side.
void ShowInstrument(float severity, const EffectContext& context, Image<float>& light) {
  constexpr int kVisit = 100, kThere = 75, kComing = 12;  // frames
  const int frame = context.frame % kVisit;
  const auto visit = static_cast<uint64_t>(context.frame / kVisit);
  Random random = context.random.Split("instrument").Split(visit);
  const auto angle = static_cast<float>(random.Uniform(0, 6.28));
  const int first = static_cast<int>(random.UniformInt(kComing, kVisit - kThere));
  const int since = frame - first, left = first + kThere - frame;
  if (since < 0 || left < 0) return;
  const float in = std::min(1.0F, static_cast<float>(std::min(since, left)) / kComing);
  const auto wander = [&](float channel) {
    return context.noise.Value({0.06F * static_cast<float>(context.frame), channel, 3.5F});
  };
  const float deep = 0.35F - 0.09F * severity;  // of the tip from the middle; beyond it where negative
  const float reach = (1 - in) * 0.9F + in * (deep + (0.06F + 0.03F * severity) * wander(4.5F));
  const float aside = (0.05F + 0.04F * severity) * wander(11.5F);
  Shaft shaft = ShaftAt(angle, reach * Unit(light), aside * Unit(light),
                        (0.05F + 0.025F * severity) * Unit(light), light);
  shaft.marks = 1.7F;
  DrawShaft(shaft, context, light);
}

}  // namespace

Image<float> ToLinear(const RgbImage& image) {
  std::array<float, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = std::pow(static_cast<float>(i) / 255.0F, kGamma);
  Image<float> light(image.Width(), image.Height(), 3);
  for (size_t i = 0; i < image.Size(); ++i) light.Data()[i] = table[image.Data()[i]];
  return light;
}

RgbImage FromLinear(const Image<float>& light, ImageView<const uint8_t> mask) {
  RgbImage image(light.Width(), light.Height(), 3);
  for (int y = 0; y < light.Height(); ++y) {
    for (int x = 0; x < light.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      for (int c = 0; c < 3; ++c) {
        const float value = std::clamp(light(x, y, c), 0.0F, 1.0F);
        image(x, y, c) = static_cast<uint8_t>(std::lround(255 * std::pow(value, 1 / kGamma)));
      }
    }
  }
  return image;
}

void ApplyEffect(const Degradation& degradation, const EffectContext& context, Image<float>& light) {
  const auto severity = static_cast<float>(degradation.severity);
  switch (degradation.kind) {
    case DegradationKind::kMotionBlur:
      return BlurByMotion(severity, context, light);
    case DegradationKind::kDefocus:
      return Defocus(severity, context, light);
    case DegradationKind::kOverexposure:
      return ChangeExposure(0.6F * severity, context, light);
    case DegradationKind::kUnderexposure:
      return ChangeExposure(-0.9F * severity, context, light);
    case DegradationKind::kSmudge:
      return Smudge(severity, context, light);
    case DegradationKind::kBlood:
      return Bleed(severity, context, light);
    case DegradationKind::kSmoke:
      return Smoke(severity, context, light);
    case DegradationKind::kBubbles:
      return Bubbles(severity, context, light);
    case DegradationKind::kTool:
      return ShowTool(severity, context, light);
    case DegradationKind::kInstrument:
      return ShowInstrument(severity, context, light);
    case DegradationKind::kDroppedFrames:
    case DegradationKind::kDuplicatedFrames:
    case DegradationKind::kBlackout:
    case DegradationKind::kJump:
    case DegradationKind::kBreathing:
      return;
  }
}

}  // namespace lumen
