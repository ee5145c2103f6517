#include "lumen/train/sim_clips.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/random.h"
#include "lumen/io/rectifier.h"
#include "lumen/scene/frame.h"
#include "lumen/sim/degrade.h"
#include "lumen/sim/renderer.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace {

// The narrow, cluttered nose is the hardest organ and the paper's own: it comes twice as often.
constexpr AnatomyKind kKinds[] = {AnatomyKind::kNasal, AnatomyKind::kColon, AnatomyKind::kNasal,
                                  AnatomyKind::kBronchus, AnatomyKind::kStomach};
constexpr DegradationKind kPictureKinds[] = {DegradationKind::kMotionBlur,   DegradationKind::kDefocus,
                                             DegradationKind::kOverexposure, DegradationKind::kUnderexposure,
                                             DegradationKind::kSmudge,       DegradationKind::kBlood,
                                             DegradationKind::kSmoke,        DegradationKind::kBubbles};
constexpr double kTurn = 2 * M_PI;
constexpr double kLargeRoll = 0.8;  // radians between two views

Eigen::Vector3d RandomDirection(Random& random) {
  const Eigen::Vector3d v{random.Normal(), random.Normal(), random.Normal()};
  return v.norm() > 1e-9 ? Eigen::Vector3d(v.normalized()) : Eigen::Vector3d::UnitZ();
}

// Views of 50° to 160° from side to side, half of them narrow. Most bend as the rectifier would have them
// bend, the others anyhow, so that no one bend is learned by heart.
Camera DrawCamera(Random random, int width, int height) {
  const bool narrow = random.Chance(0.5);
  const double half_angle = narrow ? random.Uniform(25, 52) : random.Uniform(52, 80);
  const double free_alpha = half_angle > 60 ? random.Uniform(0.35, 0.66) : random.Uniform(0, 0.66);
  constexpr double kCorner = 1.15;  // content reaches a little farther than the sides
  const double alpha = random.Chance(0.7) ? AlphaForHalfAngle(kCorner * half_angle) : free_alpha;
  const double theta = half_angle * M_PI / 180;
  const double edge = UnifiedCamera(1, 1, 0, 0, alpha).Project({std::sin(theta), 0, std::cos(theta)})->x();
  const double focal = 0.5 * width / edge;
  const double cx = (width - 1) / 2.0 + 0.05 * width * random.Uniform(-1, 1);
  const double cy = (height - 1) / 2.0 + 0.05 * width * random.Uniform(-1, 1);
  return {UnifiedCamera{focal, focal, cx, cy, alpha}, width, height};
}

Appearance DrawLook(AnatomyKind kind, const Camera& camera, Random random, double wildness) {
  // Half of the clips keep near to what is seen in patients.
  const double wild =
      random.Chance(0.5) ? wildness * random.Uniform(0, 0.25) : wildness * random.Uniform(0.25, 1);
  Appearance look = MakeAppearance(kind, random.NextBits(), static_cast<float>(wild));
  const auto uniform = [&](double low, double high) { return static_cast<float>(random.Uniform(low, high)); };
  if (random.Chance(0.15)) look.mask.round = false;
  look.mask.radius = uniform(0.8, 1.35);
  look.mask.center_x = uniform(-0.15, 0.15);
  look.mask.center_y = uniform(-0.1, 0.1);
  look.sensor.gamma = uniform(1.6, 2.6);
  look.sensor.vignette = uniform(0, 0.6);
  look.sensor.exposure_target = uniform(0.08, 0.35);
  look.light.interreflection = uniform(0.05, 0.7);
  look.light.cone_exponent = uniform(0.5, 4.5);
  look.tissue.wetness *= uniform(0.2, 1.8);
  look.tissue.relief *= uniform(0.3, 2.0);
  look.tissue.roughness = uniform(0.1, 0.35);
  look.tissue.mottling *= uniform(0.3, 2.0);
  look.tissue.scale *= uniform(0.6, 1.7);
  look.tissue.tint *= uniform(0.5, 2.5);
  for (LightSource& source : look.light.sources) source.position *= uniform(0.2, 1.4);
  FitLightToLens(camera, look);
  return look;
}

// Moves a point towards `goal`'s side until it keeps the clearance; the goal itself if nothing else does.
Eigen::Vector3d KeepClear(const Anatomy& anatomy, const Eigen::Vector3d& goal, Eigen::Vector3d point) {
  for (int i = 0; i < 6; ++i) {
    if (anatomy.Distance(point.cast<float>()) >= anatomy.Clearance()) return point;
    point = 0.5 * (point + goal);
  }
  return goal;
}

Rigid3 LookAlong(const Eigen::Vector3d& position, const Eigen::Vector3d& forward, double roll) {
  const Eigen::Vector3d up =
      std::abs(forward.y()) < 0.9 ? Eigen::Vector3d::UnitY() : Eigen::Vector3d::UnitX();
  Eigen::Matrix3d rotation;
  rotation.col(2) = forward.normalized();
  rotation.col(0) = up.cross(rotation.col(2)).normalized();
  rotation.col(1) = rotation.col(2).cross(rotation.col(0));
  return Rigid3(rotation * Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitZ()).toRotationMatrix(), position);
}

Eigen::Matrix3d SmallRotation(Random& random, double radians) {
  const double angle = radians * random.Uniform();
  return Eigen::AngleAxisd(angle, RandomDirection(random)).toRotationMatrix();
}

// Somewhere on a way through the anatomy, off its middle, looking about along it; `turning` is the share of
// places that look far aside.
Rigid3 DrawPlace(const Anatomy& anatomy, double turning, Random random) {
  const auto& routes = anatomy.Routes();
  const auto which = random.Chance(0.5) ? 0 : random.UniformInt(0, static_cast<int64_t>(routes.size()) - 1);
  const ArcCurve& route = routes[static_cast<size_t>(which)];
  const auto s = static_cast<float>(random.Uniform(0.02, 0.98)) * route.Length();
  const CurvePoint point = route.At(s);
  const double room = std::max(0.0F, anatomy.Distance(point.position) - anatomy.Clearance());
  const double angle = random.Uniform(0, kTurn);
  const double off = room * std::sqrt(random.Uniform());
  const Eigen::Vector3d offset =
      off * (std::cos(angle) * point.normal.cast<double>() + std::sin(angle) * point.binormal.cast<double>());
  const Eigen::Vector3d middle = point.position.cast<double>();
  const Eigen::Vector3d position = KeepClear(anatomy, middle, middle + offset);
  const CurvePoint ahead = route.At(s + static_cast<float>(random.Uniform(5, 40)));
  Eigen::Vector3d forward = ahead.position.cast<double>() - position;
  if (forward.norm() < 1e-3 || random.Chance(0.5)) forward = point.tangent.cast<double>();
  const double wander = random.Chance(turning) ? 1.0 : 0.35;
  forward = SmallRotation(random, wander) * forward;
  return LookAlong(position, forward, random.Uniform(0, kTurn));
}

// A view near another: moved by a share of how far the picture's middle is, turned a little.
Rigid3 DrawNearby(const Renderer& renderer, const Rigid3& place, double distance, Random random) {
  const double reach = distance * random.Uniform(0.02, 0.35);
  Eigen::Vector3d direction = RandomDirection(random);
  // Scopes move mostly along their axis.
  if (random.Chance(0.5))
    direction = (direction + 2 * Eigen::Vector3d::UnitZ() * (random.Chance(0.5) ? 1 : -1)).normalized();
  const Eigen::Vector3d position =
      KeepClear(renderer.Scene(), place.Translation(), place * (reach * direction));
  const Eigen::Matrix3d turn = SmallRotation(random, 0.3);
  // A hand turns the scope about its axis more than about any other.
  const double angle = random.Chance(0.4) ? random.Uniform(-kLargeRoll, kLargeRoll) : 0.25 * random.Normal();
  const Eigen::Matrix3d roll = Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  return Rigid3(place.RotationMatrix() * turn * roll, position);
}

std::vector<Degradation> DrawDegradation(Random& random, double share) {
  if (!random.Chance(share)) return {};
  const auto kind = kPictureKinds[static_cast<size_t>(random.UniformInt(0, std::size(kPictureKinds) - 1))];
  return {{kind, static_cast<int>(random.UniformInt(1, 3))}};
}

ClipFrame RenderFrame(const Renderer& renderer, const Rigid3& pose, double degraded, Random random) {
  const Radiance radiance = renderer.RenderRadiance(pose);
  const DepthImage depth = ViewDepthOfZ(radiance.depth, *renderer.View().AsUnified());
  const double distance = MedianDepth(depth);
  RenderRequest request{pose, random.NextBits()};
  if (random.Chance(0.5)) {
    // A hand in motion: the picture is blurred a little along it.
    const double length = 0.03 * distance * random.Uniform();
    const Eigen::Vector3d direction = RandomDirection(random);
    const double angle = 0.02 * random.Uniform();
    const Eigen::Vector3d axis = RandomDirection(random);
    Vector6d motion;
    motion << length * direction, angle * axis;
    request.world_from_next = pose * Rigid3::Exp(motion);
  }
  RgbImage image = renderer.Develop(radiance, request);
  const auto degradations = DrawDegradation(random, degraded);
  if (!degradations.empty())
    image = Degrader(degradations, random.NextBits()).Apply(image, renderer.ContentMask(), 0);
  return {std::move(image), HalveDepth(depth), pose};
}

}  // namespace

void SimClipOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("clips_per_scene", clips_per_scene,
                {.min = 1, .max = 100, .help = "looks and places per anatomy"});
  visitor.Field("places", places, {.min = 1, .max = 16, .help = "places per clip that do not overlap"});
  visitor.Field("views", views, {.min = 2, .max = 16, .help = "overlapping views per place"});
  visitor.Field("width", width, {.min = 32, .max = 1024, .unit = "px", .help = "of the pictures"});
  visitor.Field("height", height, {.min = 32, .max = 1024, .unit = "px", .help = "of the pictures"});
  visitor.Field("wildness", wildness,
                {.min = 0, .max = 1, .help = "how far colours may leave what patients show"});
  visitor.Field("varied", varied,
                {.min = 0, .max = 1, .help = "share of scenes whose anatomy is bent out of its family"});
  visitor.Field("degraded", degraded,
                {.min = 0, .max = 1, .help = "share of frames with blood, smoke, blur …"});
  visitor.Field("seed", seed, {.min = 0, .help = "which endless stream of anatomies"});
}

std::vector<Clip> SimClipSource::MakeScene(int64_t scene) const {
  const Random random =
      Random(static_cast<uint64_t>(options_.seed)).Split("clips").Split(static_cast<uint64_t>(scene));
  Random draw = random.Split("anatomy");
  const AnatomyKind kind = kKinds[static_cast<size_t>(scene) % std::size(kKinds)];
  // Far beyond the benchmark's subjects, whatever is drawn.
  const uint64_t anatomy_seed = kFirstTrainingSeed + draw.NextBits() % (uint64_t{1} << 40);
  const bool varied = draw.Chance(options_.varied);
  const std::shared_ptr<const Anatomy> anatomy =
      varied ? MakeVariedAnatomy(kind, anatomy_seed, static_cast<float>(draw.Uniform(0.3, 1)))
             : MakeAnatomy(kind, anatomy_seed);
  std::vector<Clip> clips;
  for (int c = 0; c < options_.clips_per_scene; ++c) {
    const Random own = random.Split(static_cast<uint64_t>(c));
    const Camera camera = DrawCamera(own.Split("camera"), options_.width, options_.height);
    const Renderer renderer(anatomy, camera, DrawLook(kind, camera, own.Split("look"), options_.wildness));
    Clip clip;
    clip.subject = StrCat(AnatomyName(kind), "-", anatomy_seed);
    clip.name = StrCat(clip.subject, ".", c);
    clip.camera = renderer.View().AsUnified()->Scaled(0.5, 0.5);
    clip.mask = renderer.ContentMask();
    for (int p = 0; p < options_.places; ++p) {
      const Random here = own.Split("place").Split(static_cast<uint64_t>(p));
      const Rigid3 place = DrawPlace(*anatomy, varied ? 0.6 : 0.3, here);
      clip.frames.push_back(RenderFrame(renderer, place, options_.degraded, here.Split("frame")));
      const double distance = MedianDepth(clip.frames.back().depth);
      for (int v = 1; v < options_.views; ++v) {
        const Random view = here.Split(static_cast<uint64_t>(v));
        clip.frames.push_back(RenderFrame(renderer, DrawNearby(renderer, place, distance, view.Split("pose")),
                                          options_.degraded, view.Split("frame")));
      }
    }
    FillOverlaps(clip);
    clips.push_back(std::move(clip));
  }
  return clips;
}

}  // namespace lumen
