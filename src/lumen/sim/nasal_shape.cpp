// One nasal passage. Axes: x from the septum to the lateral wall, y down, z from the nostril to the back.
// Between septum and lateral wall stands a tall slit; the turbinates hang into it from the lateral wall
// and leave 1–5 mm. In front lies the vestibule, at the back the nasopharynx.
#include <algorithm>
#include <cmath>

#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/noise.h"

namespace lumen {

using Eigen::Vector2f;
using Eigen::Vector3f;

namespace {

// A long rounded body, swept along z, with the plate of tissue it hangs from.
struct Turbinate {
  float front, back;          // z range
  float front_cap, back_cap;  // length of the rounded ends
  Vector2f centre, drift;     // centre (x, y) at the front, and its change towards the back
  Vector2f half;              // half width and height
  float tilt;                 // of the cross-section, radians
  float wave, wave_phase;     // uneven thickness along z
  Vector2f root;              // where the plate ends, relative to the centre
  float plate;                // half thickness

  float Distance(const Vector3f& p) const {
    const float share = (p.z() - front) / (back - front);
    const Vector2f middle = centre + drift * std::clamp(share, 0.0F, 1.0F);
    const Vector2f offset = p.head<2>() - middle;
    const float beyond = p.z() < front + front_cap ? (p.z() - front - front_cap) / front_cap
                         : p.z() > back - back_cap ? (p.z() - back + back_cap) / back_cap
                                                   : 0.0F;
    const float cap = p.z() < front + front_cap ? front_cap : back_cap;
    const float swelling = 1.0F + wave * std::sin(9.0F * share + wave_phase);
    const float c = std::cos(tilt);
    const float s = std::sin(tilt);
    const Vector3f local(c * offset.x() + s * offset.y(), c * offset.y() - s * offset.x(), beyond * cap);
    const float body = EllipsoidDistance(local, {half.x() * swelling, half.y() * swelling, cap});

    const float along = std::clamp(offset.dot(root) / root.squaredNorm(), 0.0F, 1.0F);
    const float flat = (offset - along * root).norm() - plate * (1.0F + along);
    const float ends = std::max(front + 0.7F * front_cap - p.z(), p.z() - back + 0.5F * back_cap);
    return SmoothMin(body, SmoothMax(flat, ends, 2.0F), 2.5F);
  }
};

struct Blob {
  Vector3f centre, radii;
};

// A bulge of the septum into the passage (or away from it): a bump, or a spur that runs along z.
struct Deviation {
  float height;  // mm
  float y, z, half_y, half_z;
};

class NasalShape : public AnatomyShape {
 public:
  explicit NasalShape(const Random& seed);

  float Value(const Vector3f& p) const override;
  Eigen::AlignedBox3f Bounds() const override {
    return {Vector3f(-22, -height_ - 14, -19), Vector3f(22, 14, length_ + 24)};
  }
  float Voxel() const override { return 0.3F; }
  float Clearance() const override { return 0.8F; }
  Vector3f Entry() const override { return FromPassage(Vector3f(0.5F * floor_width_, -0.3F * height_, -3)); }
  std::vector<Vector3f> Goals() const override {
    return {FromPassage(Vector3f(3, -9, length_ + 3)),
            FromPassage(Vector3f(2, -0.5F * height_, 0.75F * length_)),
            FromPassage(Vector3f(middle_.centre.x() + middle_.half.x() + 1.2F, middle_.centre.y() + 4,
                                 0.6F * length_))};
  }

 private:
  void DrawTurbinates(Random random);
  void DrawBodies(Random random);
  float Slit(const Vector3f& p) const;
  // The passage is drawn straight on the left side; the world sees it bent, and perhaps mirrored.
  Vector3f ToPassage(Vector3f p) const;
  Vector3f FromPassage(Vector3f p) const;

  float length_, height_, floor_width_, middle_width_, roof_width_;
  float bend_x_, bend_y_;
  bool mirrored_;
  float ripple_, ripple_scale_;
  Turbinate inferior_, middle_;
  std::vector<Deviation> deviations_;
  std::vector<Blob> blobs_;
  Vector3f vestibule_, pharynx_;
  NoiseVolume noise_;
};

NasalShape::NasalShape(const Random& seed) : noise_(seed.Split("noise").NextBits()) {
  Random random = seed.Split("passage");
  length_ = UniformFloat(random, 60, 90);
  height_ = UniformFloat(random, 28, 38);
  bend_x_ = UniformFloat(random, -6, 6);
  bend_y_ = UniformFloat(random, -9, 7);
  mirrored_ = random.Chance(0.5);
  ripple_ = UniformFloat(random, 0.15, 0.6);
  ripple_scale_ = UniformFloat(random, 5, 9);
  vestibule_ = {UniformFloat(random, 4.5, 6), UniformFloat(random, 7, 10), UniformFloat(random, 12, 15)};
  pharynx_ = {UniformFloat(random, 10, 14), UniformFloat(random, 12, 16), UniformFloat(random, 10, 14)};
  DrawTurbinates(seed.Split("turbinates"));
  DrawBodies(seed.Split("bodies"));
}

void NasalShape::DrawTurbinates(Random random) {
  const float gap = UniformFloat(random, 1.8, 4.0);  // between septum and inferior turbinate
  const float width = UniformFloat(random, 2.2, 4.2);
  const float tall = UniformFloat(random, 4.5, 7.0);
  const float under = UniformFloat(random, 1.5, 4.0);  // between floor and turbinate
  floor_width_ = gap + 2 * width + UniformFloat(random, 0.8, 2.5);
  const float front = UniformFloat(random, 9, 16);
  inferior_ = {front,
               length_ - UniformFloat(random, 4, 10),
               UniformFloat(random, 3.5, 7),
               UniformFloat(random, 8, 16),
               {gap + width, -under - tall},
               {UniformFloat(random, -0.6, 0.6), UniformFloat(random, -2, 1)},
               {width, tall},
               UniformFloat(random, -0.35, 0.1),
               UniformFloat(random, 0, 0.18),
               UniformFloat(random, 0, 6.28),
               {width + 4, -tall - UniformFloat(random, 0, 2)},
               UniformFloat(random, 0.7, 1.4)};
  const float upper_gap = UniformFloat(random, 1.4, 3.2);
  const float upper_width = UniformFloat(random, 1.1, 2.6);
  const float upper_tall = UniformFloat(random, 4.5, 7.5);
  middle_width_ = upper_gap + 2 * upper_width + UniformFloat(random, 1.8, 4);
  roof_width_ = UniformFloat(random, 2.2, 4.5);
  middle_ = {front + UniformFloat(random, 9, 16),
             length_ - UniformFloat(random, 6, 14),
             UniformFloat(random, 3, 6),
             UniformFloat(random, 8, 14),
             {upper_gap + upper_width, -under - 2 * tall - UniformFloat(random, 2, 4) - upper_tall},
             {UniformFloat(random, -0.4, 0.6), UniformFloat(random, -1, 3)},
             {upper_width, upper_tall},
             UniformFloat(random, -0.25, 0.2),
             UniformFloat(random, 0, 0.2),
             UniformFloat(random, 0, 6.28),
             {UniformFloat(random, 0, 3), -upper_tall - 7},
             UniformFloat(random, 0.5, 1.0)};
}

void NasalShape::DrawBodies(Random random) {
  const auto bumps = random.UniformInt(1, 3);
  for (int64_t i = 0; i < bumps; ++i) {
    deviations_.push_back({UniformFloat(random, -1.5, 1.3), UniformFloat(random, -0.8, -0.2) * height_,
                           UniformFloat(random, 0.2, 0.9) * length_, UniformFloat(random, 4, 9),
                           UniformFloat(random, 5, 12)});
  }
  if (random.Chance(0.5)) {  // a spur
    deviations_.push_back({UniformFloat(random, 0.5, 1.5), UniformFloat(random, -0.25, -0.05) * height_,
                           UniformFloat(random, 0.4, 0.7) * length_, UniformFloat(random, 1.2, 2.2),
                           UniformFloat(random, 10, 20)});
  }
  // The ethmoid bulla behind the middle turbinate's head, and sometimes polyps.
  const float bulla = UniformFloat(random, 1.8, 3.6);
  blobs_.push_back({{middle_width_ + 0.4F * bulla, middle_.centre.y() + UniformFloat(random, -3, 3),
                     middle_.front + UniformFloat(random, 5, 10)},
                    {bulla, 1.3F * bulla, 1.8F * bulla}});
  const auto polyps = random.Chance(0.4) ? random.UniformInt(1, 3) : 0;
  for (int64_t i = 0; i < polyps; ++i) {
    const float size = UniformFloat(random, 1.3, 2.8);
    blobs_.push_back({{middle_width_ - UniformFloat(random, 0, 1), -UniformFloat(random, 0.35, 0.7) * height_,
                       UniformFloat(random, 0.35, 0.9) * length_},
                      {size, UniformFloat(random, 1, 1.6) * size, UniformFloat(random, 1, 1.8) * size}});
  }
}

Vector3f NasalShape::ToPassage(Vector3f p) const {
  if (mirrored_) p.x() = -p.x();
  const float share = p.z() / length_;
  p.x() -= bend_x_ * share * share - 6.0F;
  p.y() -= bend_y_ * share * share;
  return p;
}

Vector3f NasalShape::FromPassage(Vector3f p) const {
  const float share = p.z() / length_;
  p.x() += bend_x_ * share * share - 6.0F;
  p.y() += bend_y_ * share * share;
  if (mirrored_) p.x() = -p.x();
  return p;
}

float NasalShape::Slit(const Vector3f& p) const {
  float septum = p.x();
  for (const Deviation& bump : deviations_) {
    const float y = (p.y() - bump.y) / bump.half_y;
    const float z = (p.z() - bump.z) / bump.half_z;
    const float square = 0.5F * (y * y + z * z);
    if (square < 6) septum -= bump.height * std::exp(-square);
  }
  const float up = -p.y() / height_;
  const float width = up < 0.5F ? floor_width_ + (middle_width_ - floor_width_) * SmoothStep(0.15F, 0.5F, up)
                                : middle_width_ + (roof_width_ - middle_width_) * SmoothStep(0.5F, 0.95F, up);
  const float sides = SmoothMin(septum, width - p.x(), 2.5F);
  const float ends = std::min(p.z() - 5.0F, length_ + 5.0F - p.z());
  return SmoothMin(SmoothMin(sides, SmoothMin(-p.y(), p.y() + height_, 2.0F), 4.0F), ends, 3.0F);
}

float NasalShape::Value(const Vector3f& world) const {
  Vector3f p = ToPassage(world);
  // Nothing in a body is straight: shift every point a little by a smooth random field.
  Vector3f shift;
  const float bump = noise_.Value(p / ripple_scale_, &shift);
  p += ripple_ * shift;
  float air = Slit(p);
  const Vector3f vestibule_centre(0.5F * floor_width_, -0.3F * height_, -2);
  const Vector3f pharynx_centre(4, -10, length_ + 7);
  air = SmoothMax(air, -EllipsoidDistance(p - vestibule_centre, vestibule_), 5.0F);
  air = SmoothMax(air, -EllipsoidDistance(p - pharynx_centre, pharynx_), 6.0F);
  air = SmoothMin(air, inferior_.Distance(p), 1.2F);
  air = SmoothMin(air, middle_.Distance(p), 1.0F);
  for (const Blob& blob : blobs_) air = SmoothMin(air, EllipsoidDistance(p - blob.centre, blob.radii), 1.0F);
  return air + 0.15F * bump;
}

}  // namespace

std::unique_ptr<AnatomyShape> MakeNasalShape(const Random& random) {
  return std::make_unique<NasalShape>(random);
}

}  // namespace lumen
