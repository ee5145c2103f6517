// A head about a nasal passage. The passage's own septum says where the middle is; the other passage is that
// of another nose, laid along the other side of the septum. Everything else follows their size.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "lumen/base/random.h"
#include "lumen/sim/anatomy_shape.h"
#include "lumen/sim/body_parts.h"

namespace lumen {

using Eigen::Vector3f;

namespace {

// Of anatomy axes (x left, y down, z back) to the body's.
Vector3f ToHead(const Vector3f& p) { return {p.x(), p.z(), -p.y()}; }
Vector3f ToNose(const Vector3f& p) { return {p.x(), -p.z(), p.y()}; }

// A smooth face of a passage, as a function of height and depth: a + b z + c z² + d y.
struct SmoothFace {
  Eigen::Vector4f weights = Eigen::Vector4f::Zero();
  float spread = 0;  // standard deviation of the true face about it
  float most = 0;    // how far the passage reaches beyond it, but for the outermost hundredth

  static Eigen::Vector4f Terms(float y, float z) { return {1, z / 50, z * z / 2500, y / 50}; }
  float At(float y, float z) const { return weights.dot(Terms(y, z)); }
};

// `points` are (face, y, z); `side` is the sign of the direction that leads out of the passage.
SmoothFace FitFace(const std::vector<Vector3f>& points, float side) {
  Eigen::Matrix4f normal = 1e-3F * Eigen::Matrix4f::Identity();
  Eigen::Vector4f right = Eigen::Vector4f::Zero();
  for (const Vector3f& p : points) {
    const Eigen::Vector4f terms = SmoothFace::Terms(p.y(), p.z());
    normal += terms * terms.transpose();
    right += terms * p.x();
  }
  SmoothFace face;
  face.weights = normal.ldlt().solve(right);
  std::vector<float> beyond;
  for (const Vector3f& p : points) beyond.push_back(side * (p.x() - face.At(p.y(), p.z())));
  float squares = 0;
  for (const float value : beyond) squares += value * value;
  face.spread = std::sqrt(squares / std::max(1.0F, static_cast<float>(beyond.size())));
  std::sort(beyond.begin(), beyond.end());
  if (!beyond.empty()) face.most = std::max(0.0F, beyond[beyond.size() * 99 / 100]);
  return face;
}

// A passage by what can be measured of it.
struct PassageFit {
  SmoothFace septum, floor;
  float outwards = 1;  // the sign of x from the septum to the lateral wall
  float length = 0, height = 0;
};

PassageFit FitPassage(const DistanceField& field) {
  constexpr float kBehind = 24, kAbove = 14;  // what a nasal shape's box keeps beyond the passage
  const Eigen::AlignedBox3f box = field.Bounds();
  PassageFit fit;
  fit.length = box.max().z() - kBehind;
  fit.height = -box.min().y() - kAbove;
  std::vector<Vector3f> low, high, bottom;
  for (float z = 10; z < 0.85F * fit.length; z += 1.5F) {
    float lowest = box.min().y();
    for (float y = -fit.height - 8; y < 12; y += 1.5F) {
      float first = box.max().x();
      float last = box.min().x();
      for (float x = box.min().x(); x < box.max().x(); x += 0.3F) {
        if (field.Distance({x, y, z}) <= 0) continue;
        first = std::min(first, x);
        last = std::max(last, x);
      }
      if (first > last) continue;
      low.emplace_back(first, y, z);
      high.emplace_back(last, y, z);
      lowest = std::max(lowest, y);
    }
    bottom.emplace_back(lowest, 0, z);
  }
  // The septum is the even side: from the other one the turbinates hang.
  const SmoothFace low_face = FitFace(low, -1);
  const SmoothFace high_face = FitFace(high, 1);
  fit.outwards = low_face.spread < high_face.spread ? 1.0F : -1.0F;
  fit.septum = fit.outwards > 0 ? low_face : high_face;
  fit.floor = FitFace(bottom, 1);
  return fit;
}

// Of some other noses the one that is nearest in length.
std::unique_ptr<AnatomyShape> DrawOtherShape(Random random, float far_end) {
  constexpr int kTries = 12;
  std::unique_ptr<AnatomyShape> best;
  for (int i = 0; i < kTries; ++i) {
    auto shape = MakeNasalShape(Random(random.NextBits()));
    const auto miss = [&](const AnatomyShape& s) { return std::abs(s.Bounds().max().z() - far_end); };
    if (best == nullptr || miss(*shape) < miss(*best)) best = std::move(shape);
  }
  return best;
}

// The second passage, in the frame of the first.
class OtherPassage {
 public:
  OtherPassage(const PassageFit& first, Random random, float far_end, int threads)
      : first_(first),
        shape_(DrawOtherShape(random, far_end)),
        field_(*shape_, kOtherVoxel, threads),
        own_(FitPassage(field_)) {
    septum_ = kSeptum + first_.septum.most + own_.septum.most;
  }

  // How far beyond the septum's far face a point lies.
  float Beyond(const Vector3f& p) const {
    return (first_.septum.At(p.y(), p.z()) - p.x()) * first_.outwards - septum_;
  }
  float Septum() const { return septum_; }

  // The air, kept on its side of the septum.
  float Distance(const Vector3f& p) const {
    const float y = p.y() + own_.floor.At(0, p.z()) - first_.floor.At(0, p.z());
    const float beyond = Beyond(p);
    const float x = own_.septum.At(y, p.z()) + own_.outwards * beyond;
    return std::max(AirDistance(field_, {x, y, p.z()}), -own_.septum.most - 0.3F - beyond);
  }
  // Where it is entered.
  Vector3f Entry() const {
    const Vector3f own = shape_->Entry();
    const float y = own.y() - own_.floor.At(0, own.z()) + first_.floor.At(0, own.z());
    const float beyond = (own.x() - own_.septum.At(own.y(), own.z())) * own_.outwards;
    return {first_.septum.At(y, own.z()) - first_.outwards * (septum_ + beyond), y, own.z()};
  }

 private:
  static constexpr float kOtherVoxel = 0.45F;  // mm; nobody travels there
  static constexpr float kSeptum = 1.8F;       // mm, where it is thinnest
  PassageFit first_;
  std::unique_ptr<AnatomyShape> shape_;
  DistanceField field_;
  PassageFit own_;
  float septum_;
};

class HeadMaker {
 public:
  HeadMaker(const Anatomy& nose, const CtScanOptions& options, int threads);
  Body Make();

 private:
  // Mirrored about the middle: side is 1 (left) or -1.
  Vector3f At(float side, float x, float p, float s) const { return {middle_ + side * x, p, s}; }
  Vector3f At(float p, float s) const { return {middle_, p, s}; }
  float Draw(double low, double high) { return UniformFloat(random_, low, high); }

  BodySolid MakeSkin();
  void PaintSoftParts();
  void PaintEyes();
  void PaintSkull();
  void PaintFaceBones();
  void PaintSpine();
  void PaintTeeth();
  void PaintSinus(const BodySolid& hollow, float wall);
  void PaintSinuses();
  void PaintEars();
  void PaintMouth();
  void PaintPassages();
  void PaintOstium(const BodySolid& sinus);
  void PaintThroat();
  void PaintFluid();

  const Anatomy& nose_;
  const CtScanOptions options_;
  const int threads_;
  Random random_;
  Body body_;
  PassageFit fit_;
  std::shared_ptr<const OtherPassage> other_;
  BodySolid organ_, both_;  // air: of the organ, and of both passages
  BodyShape near_;          // about the distance to them
  std::array<BodySolid, 2> maxillary_;
  float middle_ = 0;  // the plane that mirrors the head
  float length_, roof_;
  float open_mouth_ = 0;  // mm between the teeth
  Vector3f throat_;
};

HeadMaker::HeadMaker(const Anatomy& nose, const CtScanOptions& options, int threads)
    : nose_(nose),
      options_(options),
      threads_(threads),
      random_(Random(options.seed).Split("head")),
      body_(random_),
      fit_(FitPassage(nose.Field())) {
  other_ = std::make_shared<const OtherPassage>(fit_, random_.Split("other passage"),
                                                nose.Field().Bounds().max().z(), threads);
  Eigen::Matrix3d turn;  // x stays, depth goes posterior, up is superior
  turn << 1, 0, 0, 0, 0, 1, 0, -1, 0;
  body_.body_from_anatomy = Rigid3(turn, Eigen::Vector3d::Zero());
  body_.lps_from_body = DrawPatientPose(random_.Split("pose"));
  length_ = fit_.length;
  roof_ = fit_.height;
  middle_ = fit_.septum.At(-0.4F * roof_, 0.3F * length_) - 0.5F * fit_.outwards * other_->Septum();
  organ_ = OrganAir(nose, body_.body_from_anatomy);
  const auto other = other_;
  const BodySolid air = organ_;
  both_ = {[=](const Vector3f& p) { return std::min(air.distance(p), other->Distance(ToNose(p))); },
           organ_.box};
  both_.box.extend(organ_.box.min() - Vector3f(40, 0, 20));
  both_.box.extend(organ_.box.max() + Vector3f(40, 0, 20));
  body_.field_of_view =
      ChooseView({Vector3f(middle_ - 125, -42, -112), Vector3f(middle_ + 125, 228, 168)}, organ_, options);
  near_ = Bake(both_, body_.Reach(), 1, threads).distance;
  open_mouth_ = random_.Chance(0.4) ? Draw(6, 16) : 0;
  throat_ = ToHead(nose.Routes().front().At(nose.Routes().front().Length()).position);
}

BodySolid HeadMaker::MakeSkin() {
  const float back = 0.4F * (length_ - 75);
  const BodySolid cranium = MakeEllipsoid(At(95 + back, 72), {Draw(73, 79), Draw(95, 100), Draw(84, 90)});
  const BodySolid face = MakeEllipsoid(At(46, -8), {Draw(61, 66), 50, 80});
  const BodySolid chin = MakeEllipsoid(At(13, -60 - open_mouth_), {22, 17, 15});
  const BodySolid lips = MakeEllipsoid(At(2, -24 - 0.5F * open_mouth_), {25, 9, 11 + 0.5F * open_mouth_});
  const BodySolid ears = MakeEllipsoid(At(length_ + 18, 22), {Draw(70, 74), 68, 52});
  const BodySolid neck = MakeRod(At(length_ + 24, -10), At(length_ + 38, -220), 56, 60);
  const BodySolid bridge = MakeRod(At(3, 46), At(-23, 10), 6, 10);
  const BodySolid wings = MakeEllipsoid(At(-7, 9), {Draw(16, 18), 17, 13});
  BodySolid skin = Join(Join(Join(cranium, face, 30), ears, 20), neck, 25);
  skin = Join(Join(skin, chin, 14), lips, 10);
  skin = Join(skin, Join(bridge, wings, 10), 9);
  for (const float side : {-1.0F, 1.0F}) {
    const BodySolid ear = MakeEllipsoid(At(side, 74, length_ + 32, 22), {5, 15, 29});
    const BodySolid lids = MakeEllipsoid(At(side, 32, 12, 44), {17, 14, 13});
    skin = Join(Join(skin, ear, 5), lids, 8);
  }
  return Join(skin, Grow({near_, both_.box}, 3), 4);
}

void HeadMaker::PaintSoftParts() {
  const BodySolid skin = Bake(MakeSkin(), body_.Reach(), 1.5F, threads_);
  body_.Paint(skin, kSkinMatter);
  body_.Paint(Grow(skin, -1.8F), kFatMatter);
  body_.Paint(Grow(skin, -5.5F), kMuscleMatter);
  for (const float side : {-1.0F, 1.0F}) {
    body_.Paint(MakeEllipsoid(At(side, 46, 26, -8), {10, 16, 20}), kFatMatter);            // of the cheek
    body_.Paint(MakeEllipsoid(At(side, 54, 62, -18), {9, 16, 26}), kMuscleMatter);         // that chews
    body_.Paint(MakeEllipsoid(At(side, 58, length_ + 5, -12), {10, 15, 20}), {5, 25, 3});  // the parotid
  }
}

void HeadMaker::PaintEyes() {
  for (const float side : {-1.0F, 1.0F}) {
    // The orbit: a cone of fat that narrows backwards, in walls of bone.
    const BodySolid orbit = KeepAway(MakeRod(At(side, 33, 18, 44), At(side, 17, 54, 42), 16, 5), near_, 3);
    body_.Paint(CutOff(Grow(orbit, 2), At(10, 0), {0, -1, 0}), kCortexMatter);
    body_.Paint(orbit, kFatMatter);
    body_.Paint(MakeRod(At(side, 32, 22, 44), At(side, 18, 52, 42), 1.8F, 1.8F), kSoftMatter);  // the nerve
    for (const float above : {-1.0F, 1.0F}) {
      body_.Paint(MakeRod(At(side, 33, 16, 44 + 12 * above), At(side, 18, 52, 42 + 3 * above), 1.6F, 2),
                  kSoftMatter);
      body_.Paint(MakeRod(At(side, 33 + 12 * above, 16, 44), At(side, 18 + 3 * above, 52, 42), 1.6F, 2),
                  kSoftMatter);
    }
    body_.Paint(MakeEllipsoid(At(side, 32, 12, 44), {12.2F, 12.2F, 12.2F}), {50});
    body_.Paint(MakeEllipsoid(At(side, 32, 12, 44), {11.2F, 11.2F, 11.2F}), {12, 3, 4});
    body_.Paint(MakeEllipsoid(At(side, 32, 3.5F, 44), {4.5F, 2, 4.5F}), {95});  // the lens
  }
}

void HeadMaker::PaintSkull() {
  const float back = 0.4F * (length_ - 75);
  // The brain's lower side slopes down towards the neck, and keeps clear of the nose.
  BodySolid brain = MakeEllipsoid(At(95 + back, 72), {61, 82, 73});
  brain = CutOff(brain, At(30, std::max(50.0F, roof_ + 14)), {0, -0.42F, -1});
  brain = Bake(KeepAway(brain, near_, 7), body_.Reach(), 2, threads_);
  const float thick = Draw(5.5, 7.5);
  body_.Paint(Grow(brain, thick), kCortexMatter);
  const BodySolid table = Grow(brain, thick - 1.6F);
  body_.Paint(table, {520, 160, 2.5F});  // the diploe
  body_.Paint(Grow(brain, 1.6F), kCortexMatter);
  body_.Paint(brain, {6});  // water about it
  const NoiseVolume noise(random_.Split("gyri").NextBits());
  const BodySolid surface = Grow(brain, -2);
  body_.Paint(
      {[=](const Vector3f& p) { return surface.distance(p) + 2.2F * noise.Value(p / 6); }, surface.box},
      {37, 4, 5});
  const BodySolid inner = Grow(brain, -7);
  body_.Paint({[=](const Vector3f& p) { return inner.distance(p) + 4.5F * noise.Value(p / 9); }, inner.box},
              {29, 2, 6});
  const Vector3f centre = At(98 + back, 84);
  for (const float side : {-1.0F, 1.0F}) {
    const auto at = [&](float x, float p, float s) { return Vector3f(centre + Vector3f(side * x, p, s)); };
    body_.Paint(MakeTube({at(9, -30, 2), at(6, 0, 10), at(14, 22, 4), at(22, 30, -8)}, 4),
                {6});  // ventricles
  }
  // The sickle between the halves.
  const BodySolid sheet = MakeBlock(centre + Vector3f(0, 0, 40), {0.8F, 75, 36}, 0.3F);
  const BodySolid within = brain;
  body_.Paint({[=](const Vector3f& p) { return std::max(sheet.distance(p), within.distance(p)); }, sheet.box},
              {62});
}

void HeadMaker::PaintFaceBones() {
  const float open = open_mouth_;
  for (const float side : {-1.0F, 1.0F}) {
    // Lower jaw: joint, angle, chin. Then the cheek's arch and the rim of the orbit.
    const Vector3f joint = At(side, 47, length_ + 8, 16);
    const Vector3f angle = At(side, 46, length_ - 4, -34);
    const Vector3f front = At(side, 12, 12, -56 - open);
    body_.PaintBone(MakeRod(joint, angle, 5, 5.5F), 1.8F);
    body_.PaintBone(MakeRod(angle, front, 6.5F, 8), 2.2F);
    body_.PaintBone(MakeRod(front, At(12, -57 - open), 8, 8), 2.2F);
    body_.PaintBone(MakeRod(At(side, 44, 24, 22), At(side, 61, length_ - 15, 20), 5, 3), 1.5F);
    body_.PaintBone(
        MakeTube({At(side, 46, 22, 30), At(side, 49, 20, 46), At(side, 42, 14, 58), At(side, 26, 8, 61)},
                 3.5F),
        1.6F);
    body_.PaintBone(KeepAway(MakeRod(At(side, 8, 2, 47), At(side, 14, 8, 22), 2.2F, 2.5F), near_, 2), 1.2F);
    body_.PaintBone(MakeRod(At(side, 20, length_ + 2, 6), At(side, 22, length_ - 2, -16), 2, 1.5F),
                    0.8F);  // pterygoid
  }
  body_.PaintBone(KeepAway(MakeRod(At(1, 49), At(-13, 26), 2.6F, 1.4F), near_, 1.5F), 1);
}

// Vertebrae with discs, canal and spines.
void HeadMaker::PaintSpine() {
  const float front = length_ + 42;
  const auto lean = [&](float s) { return front - 8 * std::cos(s / 60); };
  for (int i = 0; i < 9; ++i) {
    const float s = -2 - 19 * static_cast<float>(i);
    const float p = lean(s);
    if (i > 0) body_.PaintBone(MakeBlock(At(p, s), {10, 8.5F, 7.2F}, 3), 1.2F);
    body_.Paint(MakeBlock(At(p, s - 9.5F), {9, 8, 2.4F}, 2), {85, 8, 4});
    for (const float side : {-1.0F, 1.0F}) {
      body_.PaintBone(MakeTube({At(side, 9, p + 3, s), At(side, 17, p + 10, s - 1),
                                At(side, 11, p + 22, s - 4), At(side, 1, p + 27, s - 7)},
                               3.6F),
                      1.3F);
    }
    body_.PaintBone(MakeRod(At(p + 27, s - 7), At(p + 40, s - 14), 3.2F, 3.8F), 1.2F);
  }
  body_.PaintBone(MakeRod(At(lean(0), -12), At(lean(0) - 1, 12), 5.5F, 5), 1.3F);  // the second one's tooth
  body_.Paint(MakeTube({At(length_ + 62, 30), At(lean(-20) + 16, -20), At(lean(-100) + 16, -100),
                        At(lean(-200) + 16, -200)},
                       7),
              {8});
  body_.Paint(MakeTube({At(length_ + 62, 30), At(lean(-20) + 16, -20), At(lean(-100) + 16, -100),
                        At(lean(-200) + 16, -200)},
                       4.8F),
              {36});
}

void HeadMaker::PaintTeeth() {
  constexpr int kTeeth = 7;  // of a quarter
  for (const bool upper : {true, false}) {
    const float bite = upper ? -20.0F : -22.5F - open_mouth_;
    const float up = upper ? 1.0F : -1.0F;
    const float narrow = upper ? 1.0F : 0.93F;
    std::vector<Vector3f> arch;
    for (int i = -kTeeth; i <= kTeeth; ++i) {
      const float t = static_cast<float>(i) / kTeeth;
      arch.push_back(At(t < 0 ? -1 : 1, 26 * narrow * std::sin(1.45F * std::abs(t)), 6 + 44 * narrow * t * t,
                        bite + 14 * up));
    }
    body_.PaintBone(KeepAway(MakeTube(arch, 5.5F), near_, 2), 1.2F);
    for (int i = 0; i < 2 * kTeeth; ++i) {
      const float along = (static_cast<float>(i) + 0.5F) / kTeeth - 1;
      const float t = std::abs(along);
      const float size = (2.6F + 1.9F * t) * Draw(0.93, 1.03);
      if (random_.Chance(0.04)) continue;  // lost
      const Vector3f crown = At(along < 0 ? -1 : 1, 26 * narrow * std::sin(1.45F * t),
                                6 + 44 * narrow * t * t, bite + 4.5F * up);
      const Vector3f root = crown + Vector3f(0, 0, 13 * up);
      body_.Paint(MakeRod(crown, root, 0.75F * size, 1.2F), {1450, 60, 2});
      body_.Paint(MakeEllipsoid(crown, {size, size, 4.6F}), {2450, 80, 2});
      body_.Paint(MakeEllipsoid(crown + Vector3f(0, 0, 1.5F * up), {size - 1.2F, size - 1.2F, 3.6F}),
                  {1500, 60, 2});
    }
  }
}

// Air in a thin wall of bone, clear of the passages.
void HeadMaker::PaintSinus(const BodySolid& hollow, float wall) {
  body_.Paint(Grow(hollow, wall), {820, 120, 3});
  body_.Paint(hollow, kAirMatter);
}

void HeadMaker::PaintSinuses() {
  const float second = roof_ / 33;
  for (const float side : {-1.0F, 1.0F}) {
    const float size = Draw(0.85, 1.12);
    const BodySolid maxillary =
        KeepAway(MakeEllipsoid(At(side, 30, 33, 13), size * Vector3f(15, 17, 18)), near_, 2.4F);
    maxillary_[side < 0 ? 0 : 1] = maxillary;
    PaintSinus(maxillary, 1.1F);
    // The front, of uneven size, sometimes missing.
    if (random_.Chance(0.85)) {
      const float grown = Draw(0.6, 1.2);
      PaintSinus(
          KeepAway(MakeEllipsoid(At(side, 2 + 10 * grown, 8, 66), {10 * grown, 5.5F, 13 * grown}), near_, 4),
          1.5F);
    }
    const float deep = Draw(0.8, 1.15);
    PaintSinus(KeepAway(MakeEllipsoid(At(side, 1 + 9 * deep, length_ + 10, 42 * second),
                                      deep * Vector3f(8.5F, 12, 10)),
                        near_, 3.5F),
               1.2F);
    for (int i = 0; i < 9; ++i) {  // between passage and orbit
      const float p = 20 + 4.2F * static_cast<float>(i) + Draw(-1.5, 1.5);
      const float x = Draw(9, 13);
      const float s = Draw(29, 41) * second;
      const float radius = Draw(3, 4.6);
      PaintSinus(KeepAway(MakeEllipsoid(At(side, x, p, s), {0.8F * radius, radius, 1.2F * radius}), near_, 2),
                 0.8F);
    }
  }
}

void HeadMaker::PaintEars() {
  const float p = length_ + 32;
  for (const float side : {-1.0F, 1.0F}) {
    body_.Paint(MakeEllipsoid(At(side, 40, p + 2, 26), {24, 13, 12}), {1250, 250, 3});  // the petrous bone
    body_.PaintBone(MakeEllipsoid(At(side, 49, p + 17, 10), {12, 14, 22}), 1.5F);
    for (int i = 0; i < 45; ++i) {
      const float out = Draw(-8, 8);
      const float behind = Draw(-9, 9);
      const float up = Draw(-15, 15);
      const float radius = Draw(1.1, 2.6);
      body_.Paint(
          MakeEllipsoid(At(side, 49 + out, p + 17 + behind, 10 + up), {radius, radius, 1.2F * radius}),
          kAirMatter);
    }
    body_.Paint(
        MakeTube({At(side, 92, p - 1, 23), At(side, 66, p + 1, 25), At(side, 47, p - 2, 24)}, Draw(2.8, 3.6)),
        kAirMatter);
    body_.Paint(MakeEllipsoid(At(side, 42, p - 1, 25), {3, 4, 6}), kAirMatter);  // behind the drum
  }
}

// Palate and tongue with a thin gap between them, or the mouth held open; it leads to the throat.
void HeadMaker::PaintMouth() {
  const float open = open_mouth_;
  body_.PaintBone(KeepAway(MakeEllipsoid(At(34, -5), {22, 30, 3}), near_, 1.5F), 0.9F);
  const BodySolid hollow = MakeEllipsoid(At(36, -22 - 0.5F * open), {21, 31, 13 + 0.5F * open});
  const BodySolid tongue = Join(MakeEllipsoid(At(40, -26 - 0.7F * open), {20, 31, 13 + 0.3F * open}),
                                MakeRod(At(55, -32 - open), At(length_ - 4, -48), 16, 12), 8);
  body_.Paint(Grow(hollow, 2), kMucosaMatter);
  body_.Paint(KeepAway(
                  hollow, [tongue](const Vector3f& p) { return -p.z() * 0 + tongue.distance(p); }, 0),
              kAirMatter);
  body_.Paint(tongue, {55, 18, 5});
  const Vector3f back = At(62, -14 - 0.3F * open);
  body_.Paint(MakeTube({back, At(length_ + 2, -22), {throat_.x(), length_ + 10, -34}}, 2.2F), kAirMatter);
  if (open > 0) {
    const BodySolid slot = MakeEllipsoid(At(0, -21.5F - 0.5F * open), {19, 22, 0.5F * open - 0.5F});
    body_.Paint(slot, kAirMatter);
  }
}

void HeadMaker::PaintPassages() {
  // Bone lies in the turbinates' core, in the septum and behind the lateral wall, not in the nose's tip.
  const BodyShape both = both_.distance;
  body_.Paint({[=](const Vector3f& p) {
                 return std::max({1.7F - both(p), both(p) - 2.6F, 13 - p.y()});
               },
               both_.box},
              {430, 150, 3});
  const auto other = other_;
  const BodySolid second = {[other](const Vector3f& p) { return other->Distance(ToNose(p)); }, both_.box};
  body_.Paint(Grow(second, 1.3F), kMucosaMatter);
  body_.Paint(second, kAirMatter);
  body_.Paint(Grow(organ_, 1.3F), kMucosaMatter);
  // Nostrils, downwards and forwards to the outside.
  const Vector3f entries[] = {ToHead(nose_.Routes().front().At(0).position), ToHead(other_->Entry())};
  for (const Vector3f& entry : entries)
    body_.Paint(MakeRod(entry + Vector3f(0, -5, -1), entry + Vector3f(0, -14, -26), 3.8F, 5), kAirMatter);
  body_.Open(entries[0] + Vector3f(0, -7, -8), 9);
  const bool both_sides = random_.Chance(0.7);
  const bool left = random_.Chance(0.5);
  for (const size_t side : {size_t{0}, size_t{1}}) {
    if (both_sides || (side == 1) == left) PaintOstium(maxillary_[side]);
  }
  // Behind the septum both are one, and lead into the throat.
  body_.Paint(CutOff(second, At(length_ - 3, 0), {0, -1, 0}), kAirMatter);
  body_.Open(throat_ + Vector3f(0, 3, 0), 17);
}

// The narrow way from a sinus into the passage beside it.
void HeadMaker::PaintOstium(const BodySolid& sinus) {
  constexpr float kStep = 0.5F, kDeep = 0.7F;  // mm; into the passage's air
  const float inwards = sinus.box.center().x() > middle_ ? -1.0F : 1.0F;
  for (const float up : {9.0F, 5.0F, 1.0F, -3.0F}) {
    const Vector3f from = sinus.box.center() + Vector3f(0, 0, up);
    Vector3f to = from;
    while (both_.distance(to) > -kDeep && (middle_ - to.x()) * inwards > 0) to.x() += inwards * kStep;
    if (both_.distance(to) > -kDeep) continue;
    body_.Paint(MakeRod(from, to, 1.4F, 1.2F), kAirMatter);
    body_.Open(to - Vector3f(inwards, 0, 0), 4);
    return;
  }
}

void HeadMaker::PaintThroat() {
  const Vector3f below(middle_, length_ + 12, -22);
  const std::vector<Vector3f> way = {throat_ + Vector3f(0, 3, 0), below,
                                     At(length_ + 13, -45),       At(length_ + 10, -75),
                                     At(length_ + 12, -105),      At(length_ + 18, -240)};
  const Vector3f widen(0.7F, 1.1F, 1);
  const BodySolid tube = MakeTube(way, 7);
  body_.PaintBone(
      MakeTube({At(-1, 22, length_ + 2, -62), At(length_ - 8, -66), At(1, 22, length_ + 2, -62)}, 2.4F),
      0.8F);  // hyoid
  body_.Paint(Grow(tube, 2), kMucosaMatter);
  body_.Paint(tube, kAirMatter);
}

void HeadMaker::PaintFluid() {
  if (!options_.fluid) return;
  const float level = FluidLevel(nose_, body_.lps_from_body * body_.body_from_anatomy, 0.2);
  body_.Paint(FillTo(organ_, body_.lps_from_body, level), kWaterMatter);
  for (const BodySolid& sinus : maxillary_) {
    const auto here = static_cast<float>((body_.lps_from_body * sinus.box.center().cast<double>()).y());
    body_.Paint(FillTo(sinus, body_.lps_from_body, here + Draw(-3, 10)), kWaterMatter);
  }
}

Body HeadMaker::Make() {
  const float back = 195 + 0.4F * (length_ - 75);
  if (options_.table) PaintTable(back, At(95, 20), true, body_);
  PaintSoftParts();
  PaintSkull();
  PaintFaceBones();
  PaintSpine();
  PaintTeeth();
  PaintEyes();
  PaintEars();
  PaintSinuses();
  PaintMouth();
  PaintPassages();
  PaintThroat();
  body_.Paint(organ_, kAirMatter);
  PaintFluid();
  return std::move(body_);
}

}  // namespace

Body MakeHead(const Anatomy& nose, const CtScanOptions& options, int threads) {
  return HeadMaker(nose, options, threads).Make();
}

}  // namespace lumen
