// A trunk about a colon, a stomach or an airway: the belly, the belly's upper half with the lungs' bases, the
// chest. The organ takes its place, everything else makes room for it.
#include <algorithm>
#include <cmath>
#include <memory>

#include "lumen/base/random.h"
#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/body_parts.h"

namespace lumen {

using Eigen::Vector2f;
using Eigen::Vector3f;

namespace {

constexpr BodyMatter kLungMatter = {-858, 32, 3.2F};
constexpr BodyMatter kBloodMatter = {44, 3, 5};
constexpr BodyMatter kPartWallMatter = {44, 8, 3};
constexpr BodyMatter kFaecesMatter = {20, 90, 4};

class TrunkMaker {
 public:
  TrunkMaker(const Anatomy& organ, const CtScanOptions& options, int threads);
  Body Make();

 private:
  struct Twig {
    Vector3f start, direction;
    float radius, length;
    int forks;
  };

  float Draw(double low, double high) { return UniformFloat(random_, low, high); }
  bool IsChest() const { return organ_anatomy_.Kind() == AnatomyKind::kBronchus; }
  bool IsColon() const { return organ_anatomy_.Kind() == AnatomyKind::kColon; }
  Vector3f InBody(const Vector3f& p) const {
    return (body_.body_from_anatomy * p.cast<double>()).cast<float>();
  }
  BodySolid Clear(const BodySolid& solid, float mm) const { return KeepAway(solid, near_, mm); }
  BodySolid Inside(const BodySolid& solid, const BodySolid& hull) const;

  void PlaceOrgan();
  float FindFork() const;
  void SizeTrunk();
  void PaintHull();
  void PaintSpine();
  void PaintRibs();
  void PaintPelvis();
  void PaintLimbs();
  void PaintChest();
  void PaintLung(float side, const BodyShape& between);
  void PaintVessels(const Twig& twig, const BodyShape& lung, Random random);
  void PaintBelly();
  void PaintBowel();
  void PaintStomachBubble();
  void PaintEntrance();
  void PaintOrgan();

  const Anatomy& organ_anatomy_;
  const CtScanOptions options_;
  const int threads_;
  Random random_;
  Body body_;
  BodySolid organ_;          // its air
  BodyShape near_;           // about the distance to it
  BodySolid hull_, cavity_;  // all of the body, and what lies within its wall
  float half_width_, half_depth_, fat_, wall_;
  float low_, high_;     // S of what is scanned
  float spine_ = 0;      // P of the vertebrae's middle
  float diaphragm_ = 0;  // S of its domes
};

TrunkMaker::TrunkMaker(const Anatomy& organ, const CtScanOptions& options, int threads)
    : organ_anatomy_(organ),
      options_(options),
      threads_(threads),
      random_(Random(options.seed).Split("trunk")),
      body_(random_) {
  PlaceOrgan();
  organ_ = OrganAir(organ, body_.body_from_anatomy);
  body_.lps_from_body = DrawPatientPose(random_.Split("pose"));
  SizeTrunk();
  near_ = Bake(organ_, body_.Reach(), 1.5F, threads).distance;
}

// The colon's depth leads up, the stomach's and the airway's down; what is down for the camera is the back.
void TrunkMaker::PlaceOrgan() {
  Eigen::Matrix3d turn = Eigen::Matrix3d::Identity();
  if (!IsColon()) turn.diagonal() = Eigen::Vector3d(-1, 1, -1);
  if (IsChest()) {
    // The airway forks to the left and right, wherever the drawn one does.
    Eigen::Matrix2f spread = Eigen::Matrix2f::Zero();
    for (const ArcCurve& route : organ_anatomy_.Routes()) {
      const Vector2f end = route.At(route.Length()).position.head<2>();
      spread += end * end.transpose();
    }
    const float angle = 0.5F * std::atan2(2 * spread(0, 1), spread(0, 0) - spread(1, 1));
    turn = turn * Eigen::AngleAxisd(-angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  }
  const Rigid3 turned(turn, Eigen::Vector3d::Zero());
  const Eigen::AlignedBox3f box = OrganAir(organ_anatomy_, turned).box;
  const Vector3f middle = box.center();
  Vector3f place(-middle.x(), -12 - middle.y(), 0);
  if (IsChest()) place = {0, 6, 0};
  if (organ_anatomy_.Kind() == AnatomyKind::kStomach) place = {38 - middle.x(), -22 - middle.y(), 0};
  body_.body_from_anatomy = Rigid3(turn, place.cast<double>());
}

void TrunkMaker::SizeTrunk() {
  const Eigen::AlignedBox3f& box = organ_.box;
  fat_ = IsChest() ? Draw(7, 16) : Draw(10, 26);
  wall_ = fat_ + (IsChest() ? 20 : 15);
  const float beside = std::max(-box.min().x(), box.max().x());
  const float before = std::max(-box.min().y(), box.max().y());
  half_width_ = std::max(IsChest() ? Draw(162, 175) : Draw(148, 162), beside + wall_ + 8);
  half_depth_ = std::max(IsChest() ? Draw(104, 116) : Draw(98, 108), before + wall_ + 4);
  spine_ = half_depth_ - fat_ - 42;
  const float table = options_.table ? 42.0F : 12.0F;
  const Vector2f across(2 * half_width_ + 18, 2 * half_depth_ + 12 + table);
  // As much beyond the organ as a volume of sensible size holds.
  constexpr float kMostVolume = 34e6F, kMargin = 60;  // mm³, mm
  const float margin = std::clamp(0.5F * (kMostVolume / across.prod() - box.sizes().z()), 4.0F, kMargin);
  low_ = box.min().z() - margin;
  high_ = box.max().z() + margin;
  body_.field_of_view = ChooseView({Vector3f(-0.5F * across.x(), -half_depth_ - 12, low_),
                                    Vector3f(0.5F * across.x(), half_depth_ + table, high_)},
                                   organ_, options_);
  diaphragm_ = IsChest() ? box.min().z() - 25
                         : (IsColon() ? std::max(270.0F, box.max().z() - 30) : box.max().z() - 22);
}

BodySolid TrunkMaker::Inside(const BodySolid& solid, const BodySolid& hull) const {
  return {[=](const Vector3f& p) { return SmoothMax(solid.distance(p), hull.distance(p), 2); }, solid.box};
}

void TrunkMaker::PaintHull() {
  BodySolid hull = MakeColumn(Vector3f::Zero(), half_width_, half_depth_);
  const BodySolid column = hull;
  if (IsChest()) {
    // Shoulders and neck.
    const float top = organ_.box.max().z() + 34;
    hull = {[=](const Vector3f& p) {
              return SmoothMax(column.distance(p), p.z() - top + 0.12F * std::abs(p.x()), 50);
            },
            hull.box};
    hull = Join(hull, MakeRod({0, 6, 0}, {0, 2, 400}, 57, 57), 40);
  }
  if (IsColon()) {
    const float bottom = organ_.box.min().z() - 14;
    hull = {[=](const Vector3f& p) { return SmoothMax(column.distance(p), bottom - p.z(), 30); }, hull.box};
    for (const float side : {-1.0F, 1.0F})
      hull = Join(hull, MakeRod({side * 82, 0, 60}, {side * 84, 0, -400}, 78, 70), 12);
  }
  hull.box = body_.Reach();
  hull = hull_ = Bake(hull, body_.Reach(), 2, threads_);
  body_.Paint(hull, kSkinMatter);
  body_.Paint(Grow(hull, -2), kFatMatter);
  body_.Paint(Grow(hull, -fat_), kMuscleMatter);
  cavity_ = MakeColumn(Vector3f(0, -4, 0), half_width_ - wall_, half_depth_ - wall_ - 2);
  if (IsColon()) cavity_ = CutOff(cavity_, {0, 0, organ_.box.min().z() - 2}, {0, 0, -1});
  if (IsChest()) cavity_ = CutOff(cavity_, {0, 0, organ_.box.max().z() + 12}, {0, 0.15F, 1});
  body_.Paint(cavity_, kFatMatter);
}

void TrunkMaker::PaintSpine() {
  constexpr float kPitch = 31;  // of the vertebrae
  const float inlet =
      IsChest() ? organ_.box.max().z() : high_ + 300;  // the neck's spine lies further in front
  const auto lean = [&](float s) {
    return spine_ + 7 * std::sin(s / 110) - 24 * SmoothStep(inlet - 70, inlet + 50, s);
  };
  const float lowest = IsColon() ? std::max(low_, 95.0F) : low_;
  for (const float side : {-1.0F, 1.0F}) {
    body_.Paint(
        Inside(MakeRod({side * 34, spine_ + 24, lowest - 60}, {side * 30, spine_ + 24, high_ + 60}, 19, 19),
               Grow(hull_, -4)),
        kMuscleMatter);
  }
  for (float s = lowest - 10; s < high_ + kPitch; s += kPitch) {
    const Vector3f at(0, lean(s), s);
    body_.PaintBone(Clear(MakeBlock(at, {20, 15, 12.5F}, 7), 4), 1.3F);
    body_.Paint(Clear(MakeBlock(at + Vector3f(0, 0, 0.5F * kPitch), {18, 13.5F, 3.2F}, 3), 4), {88, 10, 4});
    for (const float side : {-1.0F, 1.0F}) {
      const auto place = [&](float x, float p, float up) { return Vector3f(at + Vector3f(side * x, p, up)); };
      body_.PaintBone(MakeTube({place(13, 12, 3), place(15, 22, 2), place(6, 33, -3)}, 5), 1.4F);
      body_.PaintBone(MakeRod(place(15, 22, 2), place(38, 28, 4), 4.5F, 3), 1.3F);
    }
    body_.PaintBone(MakeRod(at + Vector3f(0, 33, -3), at + Vector3f(0, 50, -16), 4, 4), 1.3F);
  }
  const std::vector<Vector3f> canal = {{0, lean(low_) + 22, lowest},
                                       {0, lean(0.5F * (low_ + high_)) + 22, 0.5F * (low_ + high_)},
                                       {0, lean(high_) + 22, high_ + 40}};
  body_.Paint(MakeTube(canal, 8.5F), {8});
  body_.Paint(MakeTube(canal, 5), {37});
}

void TrunkMaker::PaintRibs() {
  const float bottom = diaphragm_ - 100;
  const float across = half_width_ - fat_ - 11;
  const float deep = half_depth_ - fat_ - 10;
  const float top = IsChest() ? organ_.box.max().z() + 5 : high_ + 60;
  for (float s = top; s > std::max(bottom, low_ - 80); s -= 25) {
    // The first ones are short, high ones narrow.
    const float narrow = IsChest() ? SmoothStep(-20, 90, top - s) * 0.35F + 0.65F : 1.0F;
    for (const float side : {-1.0F, 1.0F}) {
      std::vector<Vector3f> bone, cartilage;
      for (int i = 0; i <= 14; ++i) {
        const float angle = 0.22F + 0.185F * static_cast<float>(i);  // from the spine, about the side
        const float drop = 34 * (1 - std::cos(angle)) * (0.9F + 0.1F * narrow);
        const Vector3f at(side * narrow * across * std::sin(angle),
                          deep * std::cos(angle) * (0.5F + 0.5F * narrow) - 2, s - drop);
        if (i <= 11) bone.push_back(at);
        if (i >= 11) cartilage.push_back(at + Vector3f(0, 0, 5.0F * static_cast<float>(i - 11)));
      }
      body_.PaintBone(MakeTube(bone, 5), 1.3F);
      body_.Paint(MakeTube(cartilage, 5), {105, 15, 3});
    }
  }
  if (!IsChest()) return;
  body_.PaintBone(MakeBlock({0, -deep + 1, top - 110}, {17, 6, 75}, 5), 1.4F);  // the breast bone
  for (const float side : {-1.0F, 1.0F}) {
    body_.PaintBone(
        MakeTube(
            {{side * 18, -deep + 4, top - 28}, {side * 70, -deep + 25, top - 10}, {side * 140, -10, top + 4}},
            6.5F),
        1.6F);
    body_.PaintBone(MakeBlock({side * 92, deep - 14, top - 75}, {36, 3.5F, 62}, 3), 1.2F);
  }
}

void TrunkMaker::PaintPelvis() {
  if (!IsColon()) return;
  for (const float side : {-1.0F, 1.0F}) {
    // Wings, sockets, the ring in front, thigh bones.
    const BodySolid shell = MakeEllipsoid({side * 40, 8, 130}, {95, 70, 80});
    const BodySolid wing = {
        [=](const Vector3f& p) {
          const float sheet = std::abs(shell.distance(p)) - 4.5F;
          return std::max(
              {sheet, 45 - side * p.x(), p.z() - 158 + 0.4F * std::abs(p.y() - 5), 60 - p.z(), -25 - p.y()});
        },
        shell.box};
    body_.PaintBone(Clear(Inside(wing, Grow(cavity_, 12)), 4), 1.3F);
    body_.PaintBone(Clear(MakeTube({{side * 85, 5, 62}, {side * 50, -55, 30}, {side * 6, -66, 18}}, 8), 4),
                    1.5F);
    body_.PaintBone(
        Clear(
            MakeTube({{side * 85, 12, 52}, {side * 56, 35, 8}, {side * 48, 0, -8}, {side * 12, -58, 12}}, 8),
            4),
        1.5F);
    body_.PaintBone(MakeEllipsoid({side * 92, 2, 42}, {24, 24, 24}), 2);
    body_.PaintBone(
        MakeTube({{side * 92, 2, 42}, {side * 118, 8, 20}, {side * 112, 4, -30}, {side * 100, 0, -400}}, 14),
        4.5F);
  }
  body_.PaintBone(
      Clear(
          MakeTube({{0, spine_ + 2, 98}, {0, spine_ + 18, 65}, {0, spine_ + 20, 35}, {0, spine_ + 5, 8}}, 17),
          4),
      1.2F);
  const BodySolid bladder = Clear(MakeEllipsoid({0, -52, 48}, {36, 26, 30}), 5);
  body_.Paint(Grow(bladder, 3), kPartWallMatter);
  body_.Paint(bladder, {7, 3, 5});
}

void TrunkMaker::PaintLimbs() {
  if (IsColon() || !random_.Chance(0.35)) return;
  for (const float side : {-1.0F, 1.0F}) {  // arms at the sides, cut by the circle that is scanned
    const Vector3f low(side * (half_width_ + 44), 25, low_ - 50);
    const Vector3f high(side * (half_width_ + 30), 15, high_ + 50);
    const BodySolid arm = MakeRod(low, high, 40, 46);
    body_.Paint(arm, kSkinMatter);
    body_.Paint(Grow(arm, -2), kFatMatter);
    body_.Paint(Grow(arm, -8), kMuscleMatter);
    body_.PaintBone(MakeRod(low, high, 11, 12), 3.5F);
  }
}

// How deep the first fork lies.
float TrunkMaker::FindFork() const {
  const std::vector<ArcCurve>& routes = organ_anatomy_.Routes();
  float fork = routes.front().Length();
  for (const ArcCurve& other : routes) {
    for (float s = 0; s < fork; s += 1) {
      if ((other.At(s).position - routes.front().At(s).position).norm() > 6) fork = s;
    }
  }
  return InBody(routes.front().At(fork).position).z();
}

void TrunkMaker::PaintVessels(const Twig& twig, const BodyShape& lung, Random random) {
  Vector3f sway;
  for (float& value : sway) value = UniformFloat(random, -1, 1);
  const Vector3f bend = (twig.direction + 0.25F * sway).normalized();
  const Vector3f middle = twig.start + 0.5F * twig.length * twig.direction;
  const Vector3f end = middle + 0.5F * twig.length * bend;
  if (lung(end) > 1.5F && twig.forks < 6) return;
  body_.Paint(MakeRod(twig.start, middle, twig.radius, 0.93F * twig.radius), kBloodMatter);
  body_.Paint(MakeRod(middle, end, 0.93F * twig.radius, 0.85F * twig.radius), kBloodMatter);
  if (twig.forks == 0) return;
  Vector3f across = bend.cross(sway);
  if (across.norm() < 0.1F) across = bend.unitOrthogonal();
  across.normalize();
  for (const float side : {-1.0F, 1.0F}) {
    const float angle = UniformFloat(random, 0.35, 0.75);
    const float thinner = UniformFloat(random, 0.68, 0.84);
    const float shorter = UniformFloat(random, 0.72, 0.98);
    PaintVessels({end, std::cos(angle) * bend + side * std::sin(angle) * across, thinner * twig.radius,
                  shorter * twig.length, twig.forks - 1},
                 lung, random.Split(side > 0 ? "one" : "other"));
  }
}

void TrunkMaker::PaintLung(float side, const BodyShape& between) {
  const float top = IsChest() ? organ_.box.max().z() + 8 : high_ + 150;
  const float height = top - diaphragm_ + 90;
  BodySolid lung = MakeEllipsoid({side * 66, 0, top - 0.56F * height},
                                 {1.12F * half_width_ - 66, half_depth_ * 1.05F, 0.56F * height});
  lung = Inside(lung, Grow(cavity_, -1));
  // The dome of the diaphragm below falls off to the side and to the back; the right one is higher.
  const float dome = diaphragm_ + (side < 0 ? 8.0F : -4.0F);
  const BodySolid above = lung;
  lung.distance = [=](const Vector3f& p) {
    const float out = std::max(0.0F, side * p.x() - 58);
    const float behind = std::max(0.0F, p.y() + 10);
    const float fall = out * out / 90 + behind * behind / 110;
    return SmoothMax(above.distance(p), 0.7F * (dome - fall - p.z()), 4);
  };
  lung = CutOff(lung, {side * 4, 0, 0}, {-side, 0, 0});
  lung = KeepAway(lung, between, 1);
  if (!IsChest()) lung = Clear(lung, 6);
  const BodyShape drawn = lung.distance;
  lung = Bake(lung, body_.Reach(), 2, threads_);
  body_.Paint(Grow(lung, 1), kPartWallMatter);  // the pleura
  body_.Paint(lung, kLungMatter);
  const float root = IsChest() ? FindFork() - 14 : high_ + 60;
  for (int i = 0; i < 14; ++i) {
    Vector3f way{side * Draw(0.3, 1.1), Draw(-0.9, 0.9), Draw(-1.1, 1.1)};
    if (!IsChest()) way.z() = -std::abs(way.z()) - 0.8F;
    const float behind = Draw(-14, 18);
    const float up = Draw(-16, 16);
    const float radius = Draw(2.6, 4.8);
    const float length = Draw(20, 29);
    PaintVessels({{side * 34, 8 + behind, root + up}, way.normalized(), radius, length, 6}, lung.distance,
                 random_.Split(side > 0 ? "left" : "right").Split(static_cast<uint64_t>(i)));
  }
}

// Lungs, and what lies between them.
void TrunkMaker::PaintChest() {
  const float fork = IsChest() ? FindFork() : high_ + 80;
  const BodySolid column = MakeColumn({2, 12, 0}, 25, 0.62F * half_depth_ + 12);
  const BodySolid heart = MakeEllipsoid({22, -34, std::max(fork - 78, diaphragm_ + 34)}, {52, 42, 52});
  const BodySolid vertebrae = MakeColumn({0, spine_ + 8, 0}, 27, 24);
  const BodySolid between = Join(Join(column, vertebrae, 10), heart, 12);
  for (const float side : {-1.0F, 1.0F}) PaintLung(side, between.distance);
  body_.Paint(heart, kBloodMatter);
  const Vector3f arch(8, -6, fork + 24);
  body_.Paint(MakeTube({{-6, -36, fork - 50},
                        {-12, -38, fork - 4},
                        arch,
                        {20, 28, fork + 8},
                        {22, spine_ - 14, fork - 40},
                        {14, spine_ - 24, low_ - 40}},
                       12.5F),
              kBloodMatter);
  body_.Paint(MakeTube({{-26, -24, fork + 200}, {-25, -24, fork + 30}, {-24, -18, fork - 50}}, 9),
              kBloodMatter);
  for (const float side : {-1.0F, 1.0F}) {
    body_.Paint(MakeTube({{8, -30, fork - 30}, {side * 20, -14, fork - 22}, {side * 40, 6, fork - 18}}, 8.5F),
                kBloodMatter);
    body_.Paint(
        MakeTube({{side * 10, -20, fork + 40}, {side * 24, -12, fork + 70}, {side * 30, -6, fork + 200}},
                 4.5F),
        kBloodMatter);
  }
  // The gullet lies flat behind the airway.
  const std::vector<Vector3f> gullet = {
      {4, 30, fork + 200}, {6, 31, fork}, {10, spine_ - 26, fork - 60}, {16, spine_ - 32, low_ - 40}};
  body_.Paint(Clear(MakeTube(gullet, 7), 1.5F), kPartWallMatter);
  if (random_.Chance(0.5)) body_.Paint(Clear(MakeTube(gullet, 1), 3), kAirMatter);
}

// Loops of small bowel, some with gas, and a few pieces of large bowel the organ is not.
void TrunkMaker::PaintBowel() {
  const float bottom = IsColon() ? 60.0F : low_ - 30;
  const float top = IsColon() ? diaphragm_ - 90 : organ_.box.min().z() + 20;
  for (int loop = 0; loop < 16; ++loop) {
    const float radius = Draw(9, 14);
    Vector3f at{Draw(-0.6, 0.6) * half_width_, Draw(-0.55, 0.1) * half_depth_, Draw(bottom, top)};
    std::vector<Vector3f> way = {at};
    float heading = Draw(0, 6.28);
    for (int i = 0; i < 7; ++i) {
      heading += Draw(-1.3, 1.3);
      const float rise = Draw(-9, 9);
      at += Vector3f(20 * std::cos(heading), 9 * std::sin(1.7F * heading), 14 * std::sin(heading) + rise);
      at = at.cwiseMax(Vector3f(-0.62F * half_width_, -0.56F * half_depth_, bottom))
               .cwiseMin(Vector3f(0.62F * half_width_, 0.2F * half_depth_, top + 20));
      way.push_back(at);
    }
    const BodySolid tube = Clear(Inside(MakeTube(way, radius), Grow(cavity_, -2)), 5);
    body_.Paint(tube, kPartWallMatter);
    body_.Paint(Grow(tube, -2), loop % 3 == 0 ? kAirMatter : BodyMatter{24, 10, 4});
    if (loop % 3 == 0) {
      const auto level = static_cast<float>((body_.lps_from_body * at.cast<double>()).y()) + Draw(-6, 6);
      body_.Paint(FillTo(Grow(tube, -2), body_.lps_from_body, level), {22, 8, 4});
    }
  }
  // The colon's flanks: faeces with bubbles, and pockets of gas.
  for (const float side : {-1.0F, 1.0F}) {
    std::vector<Vector3f> way;
    const float span = top + 40 - bottom;
    for (int i = 0; i <= 6; ++i)
      way.push_back(Vector3f{side * (half_width_ - wall_ - 24) + Draw(-4, 4), 10 + Draw(-6, 6),
                             bottom + span * static_cast<float>(i) / 6});
    const BodySolid tube = Clear(Inside(MakeTube(way, 20), Grow(cavity_, -2)), 5);
    body_.Paint(tube, kPartWallMatter);
    body_.Paint(Grow(tube, -2.5F), kFaecesMatter);
    for (int i = 0; i < 4; ++i) {
      const Vector3f middle = way[static_cast<size_t>(random_.UniformInt(0, 6))];
      const Vector3f pocket = middle + Vector3f(0, -7, Draw(-10, 10));
      body_.Paint(Inside(MakeEllipsoid(pocket, {14, 11, 18}), Grow(tube, -3)), kAirMatter);
    }
  }
}

// Where the organ is not the stomach itself: a bubble above water, under the left dome.
void TrunkMaker::PaintStomachBubble() {
  if (!IsColon()) return;
  const BodySolid bag = Clear(Inside(Join(MakeEllipsoid({52, 0, diaphragm_ - 45}, {38, 42, 38}),
                                          MakeEllipsoid({22, -28, diaphragm_ - 88}, {40, 20, 22}), 25),
                                     Grow(cavity_, -3)),
                              6);
  body_.Paint(bag, kPartWallMatter);
  const BodySolid hollow = Grow(bag, -4);
  body_.Paint(hollow, kAirMatter);
  const auto level = static_cast<float>((body_.lps_from_body * Eigen::Vector3d(52, -8, diaphragm_ - 50)).y());
  body_.Paint(FillTo(hollow, body_.lps_from_body, level), {25, 14, 5});
}

void TrunkMaker::PaintBelly() {
  const BodySolid hull = Grow(cavity_, -2);
  const float high = diaphragm_;
  const auto put = [&](const BodySolid& solid, const BodyMatter& matter) {
    body_.Paint(Clear(Inside(solid, hull), 4), matter);
  };
  for (const float side : {-1.0F, 1.0F}) {
    put(MakeRod({side * 42, spine_ - 4, high - 130}, {side * 62, spine_ - 40, high - 330}, 15, 19),
        kMuscleMatter);
    put(MakeEllipsoid({side * 62, spine_ - 12, high - 118 - (side < 0 ? 12.0F : 0.0F)}, {26, 24, 52}),
        {34, 6, 5});
    put(MakeEllipsoid({side * 54, spine_ - 16, high - 118 - (side < 0 ? 12.0F : 0.0F)}, {12, 13, 26}),
        kFatMatter);
  }
  put(MakeRod({4, spine_ - 26, high + 60}, {2, spine_ - 24, high - 250}, 11, 9), kBloodMatter);
  put(MakeRod({-20, spine_ - 24, high + 20}, {-16, spine_ - 24, high - 250}, 12, 10), kBloodMatter);
  // The liver fills the right dome, the spleen lies behind on the left.
  const BodySolid liver = Join(MakeEllipsoid({-72, -6, high - 66}, {76, 0.86F * half_depth_, 72}),
                               MakeEllipsoid({-8, -38, high - 44}, {72, 36, 34}), 25);
  put(liver, {58, 7, 6});
  for (int i = 0; i < 7; ++i) {
    const Vector3f from{-40 + Draw(-10, 10), Draw(-10, 15), high - 70 + Draw(-15, 15)};
    const Vector3f to{-90 + Draw(-25, 25), Draw(-55, 45), high - 60 + Draw(-40, 35)};
    body_.Paint(Clear(Inside(MakeRod(from, to, 4.5F, 1.5F), liver), 6), kBloodMatter);
  }
  put(MakeEllipsoid({-52, -40, high - 118}, {15, 17, 24}), {10, 3, 5});
  put(MakeEllipsoid({96, 38, high - 62}, {28, 34, 46}), {50, 6, 6});
  put(MakeTube({{-30, spine_ - 56, high - 125}, {10, spine_ - 58, high - 112}, {62, spine_ - 40, high - 96}},
               10),
      {40, 25, 3});
}

void TrunkMaker::PaintEntrance() {
  const ArcCurve& way = organ_anatomy_.Routes().front();
  const Vector3f entry = InBody(way.At(0).position);
  const Vector3f outwards = (InBody(way.At(0).position) - InBody(way.At(4).position)).normalized();
  if (IsChest()) {
    // The windpipe goes on upwards, beyond the top slice.
    const float radius = organ_anatomy_.Distance(way.At(3).position);
    const BodySolid pipe =
        MakeTube({entry, entry + Vector3f(0, -3, 50), entry + Vector3f(0, -8, 400)}, radius);
    body_.Paint(Grow(pipe, 1.6F), kPartWallMatter);
    body_.Paint(pipe, kAirMatter);
    body_.Open(entry + Vector3f(0, 0, 5), radius + 7);
  } else if (IsColon()) {
    // The sphincter is shut.
    body_.Paint(MakeRod(entry, entry + Vector3f(0, 4, -80), 15, 11), kMuscleMatter);
  } else {
    // The gullet is collapsed; a thread of air in it at most, which ends before the stomach.
    const Vector3f tip = entry + 14 * outwards;
    const std::vector<Vector3f> gullet = {
        entry, tip, {14, spine_ - 34, tip.z() + 25}, {8, spine_ - 30, high_ + 50}};
    body_.Paint(MakeTube(gullet, 8), kPartWallMatter);
    if (random_.Chance(0.6))
      body_.Paint(KeepAway(MakeTube({tip, gullet[2], gullet[3]}, 0.9F), near_, 5), kAirMatter);
  }
}

// Its wall, air, and what water lies in it.
void TrunkMaker::PaintOrgan() {
  const float wall = IsChest() ? 1.3F : (IsColon() ? 2.2F : 3.5F);
  body_.Paint(Grow(organ_, wall), kPartWallMatter);
  PaintEntrance();
  body_.Paint(organ_, kAirMatter);
  if (!options_.fluid) return;
  const float level = FluidLevel(organ_anatomy_, body_.lps_from_body * body_.body_from_anatomy, 0.2);
  body_.Paint(FillTo(organ_, body_.lps_from_body, level), kWaterMatter);
}

Body TrunkMaker::Make() {
  if (options_.table) PaintTable(half_depth_, {0, 0, 0.5F * (low_ + high_)}, false, body_);
  PaintLimbs();
  PaintHull();
  PaintBelly();
  if (!IsChest()) {
    PaintBowel();
    PaintStomachBubble();
  }
  if (high_ > diaphragm_ - 60) PaintChest();
  if (high_ > diaphragm_ - 100) PaintRibs();
  PaintSpine();
  PaintPelvis();
  PaintOrgan();
  return std::move(body_);
}

}  // namespace

Body MakeTrunk(const Anatomy& organ, const CtScanOptions& options, int threads) {
  return TrunkMaker(organ, options, threads).Make();
}

}  // namespace lumen
