#include "lumen/factors/pair_scene_test.h"

#include <cmath>

#include "lumen/factors/bilinear.h"
#include "lumen/factors/warp.h"
#include "lumen/image/mask.h"
#include "lumen/image/pyramid.h"

namespace lumen {

namespace {

constexpr int kChannels = 16;

std::shared_ptr<const View> MakeView(const PairSceneOptions& options) {
  auto view = std::make_shared<View>();
  const double half = 0.5 * options.field_of_view * M_PI / 180;
  const UnifiedCamera unit(1, 1, 0, 0, options.alpha);
  const double f = 0.5 * options.width / unit.Project({std::sin(half), 0, std::cos(half)})->x();
  view->camera = {f, f, 0.5 * (options.width - 1), 0.5 * (options.height - 1), options.alpha};
  view->mask = Mask(options.width, options.height, 1, 255);
  view->eroded_mask = options.whole_image ? view->mask : ErodeMask(view->mask, 6);
  return view;
}

// The wall: |x / radii| = 1, seen from inside.
const Eigen::Vector3d kRadii(1.3, 1.1, 2.2);

double RayLength(const Eigen::Vector3d& origin, const Eigen::Vector3d& direction) {
  const Eigen::Vector3d o = origin.cwiseQuotient(kRadii);
  const Eigen::Vector3d d = direction.cwiseQuotient(kRadii);
  const double a = d.squaredNorm();
  const double b = o.dot(d);
  return (-b + std::sqrt(b * b - a * (o.squaredNorm() - 1))) / a;
}

// Sixteen waves over the surface.
struct Texture {
  Eigen::Matrix<double, kChannels, 3> waves;
  Eigen::Matrix<double, kChannels, 1> phases;

  explicit Texture(Random& random) {
    for (int c = 0; c < kChannels; ++c) {
      const Eigen::RowVector3d direction{random.Normal(), random.Normal(), random.Normal()};
      waves.row(c) = direction.normalized() * random.Uniform(3, 9);
      phases[c] = random.Uniform(0, 2 * M_PI);
    }
  }
  Eigen::Matrix<double, kChannels, 1> At(const Eigen::Vector3d& x) const {
    return 0.7 * (waves * x + phases).array().sin();
  }
};

// Cosine waves over the image, each orthogonal to the others and to a constant (so that a code is
// determined by the depth), or planes over the pixels.
Image<float> MakeBases(const PairSceneOptions& options, bool affine, Random& random) {
  Image<float> bases(options.width, options.height, options.num_bases);
  for (int k = 0; k < options.num_bases; ++k) {
    const int waves_x = (k + 1) % 4;
    const int waves_y = (k + 1) / 4;
    const Eigen::Vector3d plane{random.Normal(0, 0.03), random.Normal(0, 1e-3), random.Normal(0, 1e-3)};
    for (int y = 0; y < options.height; ++y) {
      for (int x = 0; x < options.width; ++x) {
        const double wave = std::cos(M_PI * waves_x * (x + 0.5) / options.width) *
                            std::cos(M_PI * waves_y * (y + 0.5) / options.height);
        bases(x, y, k) = static_cast<float>(affine ? plane.dot(Eigen::Vector3d(1, x, y)) : 0.15 * wave);
      }
    }
  }
  return bases;
}

KeyframeState RandomState(const Rigid3& world_from_camera, const PairSceneOptions& options, Random& random) {
  KeyframeState state;
  state.world_from_camera = world_from_camera;
  state.log_scale = random.Uniform(-0.3, 0.3);
  state.code.resize(options.num_bases);
  for (Eigen::Index i = 0; i < state.code.size(); ++i) {
    state.code[i] = random.Normal(0, options.code_size / std::sqrt(options.num_bases));
  }
  return state;
}

// The average depth with which this state gives the depth wanted.
DepthBasis BasisForDepth(const Image<double>& depth, Image<float> bases, const KeyframeState& state,
                         const View& view) {
  Image<float> average(depth.Width(), depth.Height());
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      const double coded = DepthOf(0, bases.Pixel(x, y), 1.0, state.code);
      average(x, y) = static_cast<float>(depth(x, y) * std::exp(-state.log_scale) - coded);
    }
  }
  return MakeDepthBasis(std::move(average), std::move(bases), view.mask);
}

void SetPixel(Image<float>& image, int x, int y, const Eigen::Matrix<double, kChannels, 1>& values) {
  for (int c = 0; c < kChannels; ++c) image(x, y, c) = static_cast<float>(values[c]);
}

std::shared_ptr<const Keyframe> MakeKeyframe(FeaturePyramid features, DepthBasis depth,
                                             std::shared_ptr<const View> view) {
  auto frame = std::make_shared<Frame>();
  frame->features = std::move(features);
  frame->view = std::move(view);
  auto keyframe = std::make_shared<Keyframe>();
  keyframe->frame = frame;
  keyframe->depth = std::move(depth);
  return keyframe;
}

std::shared_ptr<const Keyframe> MakeCavityKeyframe(const PairSceneOptions& options, const Texture& texture,
                                                   std::shared_ptr<const View> view,
                                                   const KeyframeState& state, Random& random) {
  Image<double> depth(options.width, options.height);
  Image<float> features(options.width, options.height, kChannels);
  const Rigid3& pose = state.world_from_camera;
  for (int y = 0; y < options.height; ++y) {
    for (int x = 0; x < options.width; ++x) {
      const Eigen::Vector3d direction = pose.Rotation() * view->camera.RayAtUnitDepth(x, y);
      depth(x, y) = RayLength(pose.Translation(), direction);  // the ray has depth 1
      SetPixel(features, x, y, texture.At(pose.Translation() + depth(x, y) * direction));
    }
  }
  return MakeKeyframe(MakeFeaturePyramid(std::move(features), {}, view->mask, options.levels),
                      BasisForDepth(depth, MakeBases(options, false, random), state, *view), view);
}

// Features and depth of a target that are affine in the pixel.
struct AffineMaps {
  Eigen::Matrix<double, kChannels, 3> features;
  Eigen::Vector3d depth{1.2, 0.003, -0.002};

  explicit AffineMaps(Random& random) {
    for (int c = 0; c < kChannels; ++c) {
      features.row(c) << random.Normal(0, 0.3), random.Normal(0, 0.01), random.Normal(0, 0.01);
    }
  }
  Eigen::Matrix<double, kChannels, 1> FeatureAt(double u, double v) const {
    return features * Eigen::Vector3d(1, u, v);
  }
  double DepthAt(double u, double v) const { return depth.dot(Eigen::Vector3d(1, u, v)); }
};

std::shared_ptr<const Keyframe> MakeAffineTarget(const PairSceneOptions& options, const AffineMaps& maps,
                                                 const PairScene& scene, Random& random) {
  FeaturePyramid pyramid;
  for (int level = 0; level < options.levels; ++level) {
    const double scale = 1 << level;
    Image<float> map(options.width >> level, options.height >> level, kChannels);
    for (int y = 0; y < map.Height(); ++y) {
      for (int x = 0; x < map.Width(); ++x) {
        SetPixel(map, x, y, maps.FeatureAt(scale * (x + 0.5) - 0.5, scale * (y + 0.5) - 0.5));
      }
    }
    pyramid.levels.push_back({InterleaveGradients(map, Mask(map.Width(), map.Height(), 1, 255))});
  }
  Image<double> depth(options.width, options.height);
  for (int y = 0; y < options.height; ++y) {
    for (int x = 0; x < options.width; ++x) depth(x, y) = maps.DepthAt(x, y);
  }
  return MakeKeyframe(std::move(pyramid),
                      BasisForDepth(depth, MakeBases(options, true, random), scene.target_state, *scene.view),
                      scene.view);
}

// Along each ray the depth whose warp meets the target's depth there (by Newton), and its feature.
std::shared_ptr<const Keyframe> MakeAffineSource(const PairSceneOptions& options, const AffineMaps& maps,
                                                 const PairScene& scene, Random& random) {
  Image<double> depths(options.width, options.height);
  Image<float> features(options.width, options.height, kChannels);
  for (int y = 0; y < options.height; ++y) {
    for (int x = 0; x < options.width; ++x) {
      const Eigen::Vector3d ray = scene.view->camera.RayAtUnitDepth(x, y);
      double depth = 1.2;
      Eigen::Vector2d uv;
      for (int step = 0; step < 50; ++step) {
        const UnifiedCamera& camera = scene.view->camera;
        const auto point = WarpPoint(scene.TargetFromSource(), ray, depth, camera);
        Matrix23d uv_by_x;
        uv = *camera.Project(point->x_in_target, &uv_by_x);
        const double error = camera.Depth(point->x_in_target) - maps.DepthAt(uv.x(), uv.y());
        const double slope = camera.DepthJacobian(point->x_in_target).dot(point->x_by_depth);
        depth -= error / (slope - maps.depth.tail<2>().dot(uv_by_x * point->x_by_depth));
      }
      depths(x, y) = depth;
      SetPixel(features, x, y, maps.FeatureAt(uv.x(), uv.y()));
    }
  }
  return MakeKeyframe(
      MakeFeaturePyramid(std::move(features), {}, scene.view->mask, options.levels),
      BasisForDepth(depths, MakeBases(options, false, random), scene.source_state, *scene.view), scene.view);
}

Rigid3 RandomMotion(const PairSceneOptions& options, Random& random) {
  const auto direction = [&] {
    return Eigen::Vector3d{random.Normal(), random.Normal(), random.Normal()}.normalized();
  };
  return {ExpSO3(options.rotation * direction()), options.baseline * direction()};
}

}  // namespace

PairState PairScene::TruePairState() const {
  return {TargetFromSource(), source_state.log_scale, target_state.log_scale, source_state.code,
          target_state.code};
}

Values PairScene::TrueValues() const {
  Values values;
  for (const auto& [id, state] : {std::pair{0, &source_state}, std::pair{1, &target_state}}) {
    values.Insert(KeyframeKey(id),
                  MakeKeyframeValue(state->world_from_camera, state->log_scale, state->code));
  }
  return values;
}

Rigid3 PoseOf(const Values& values, int64_t id) {
  const Sim3& place = values.Keyframe(KeyframeKey(id)).world_from_keyframe;
  return {place.Rotation(), place.Translation()};
}

double LogScaleOf(const Values& values, int64_t id) {
  return std::log(values.Keyframe(KeyframeKey(id)).world_from_keyframe.Scale());
}

void SetPose(Values& values, int64_t id, const Rigid3& pose) {
  values.Set(KeyframeKey(id),
             MakeKeyframeValue(pose, LogScaleOf(values, id), values.Keyframe(KeyframeKey(id)).code));
}

void SetLogScale(Values& values, int64_t id, double log_scale) {
  values.Set(KeyframeKey(id),
             MakeKeyframeValue(PoseOf(values, id), log_scale, values.Keyframe(KeyframeKey(id)).code));
}

void SetCode(Values& values, int64_t id, Eigen::VectorXd code) {
  values.Set(KeyframeKey(id), MakeKeyframeValue(PoseOf(values, id), LogScaleOf(values, id), std::move(code)));
}

PairScene MakeCavityScene(const PairSceneOptions& options) {
  Random random(options.seed);
  const Texture texture(random);
  PairScene scene;
  scene.view = MakeView(options);
  const Rigid3 world_from_source(ExpSO3({0.1, -0.1, 0.2}), {0.05, -0.03, -0.4});
  scene.source_state = RandomState(world_from_source, options, random);
  const Rigid3 source_from_target = RandomMotion(options, random);
  scene.target_state = RandomState(world_from_source * source_from_target, options, random);
  scene.source = MakeCavityKeyframe(options, texture, scene.view, scene.source_state, random);
  scene.target = MakeCavityKeyframe(options, texture, scene.view, scene.target_state, random);
  scene.samples = MakeKeyframeSamples(scene.source);
  return scene;
}

PairScene MakeAffineScene(const PairSceneOptions& options) {
  Random random(options.seed);
  PairScene scene;
  scene.view = MakeView(options);
  const Rigid3 world_from_source(ExpSO3({0.3, 0.2, -0.4}), {0.5, -0.2, 0.7});
  scene.source_state = RandomState(world_from_source, options, random);
  const Rigid3 source_from_target = RandomMotion(options, random);
  scene.target_state = RandomState(world_from_source * source_from_target, options, random);
  const AffineMaps maps(random);
  scene.target = MakeAffineTarget(options, maps, scene, random);
  scene.source = MakeAffineSource(options, maps, scene, random);
  auto samples = std::make_shared<KeyframeSamples>(*MakeKeyframeSamples(scene.source));
  // A smoothed warp is not affine: give the coarse levels the exact feature, as the target has it.
  for (int i = 0; i < samples->Size(); ++i) {
    for (int level = 1; level < options.levels; ++level) {
      std::copy_n(samples->Features(i, 0), kChannels, const_cast<float*>(samples->Features(i, level)));
    }
  }
  scene.samples = samples;
  return scene;
}

std::vector<Match> MakeTrueMatches(const PairScene& scene, int count, Random& random) {
  std::vector<Match> matches;
  const PairState truth = scene.TruePairState();
  const double scale = std::exp(truth.source_log_scale);
  while (static_cast<int>(matches.size()) < count) {
    const int sample = static_cast<int>(random.UniformInt(0, scene.samples->Size() - 1));
    const int pixel = scene.samples->pixels[static_cast<size_t>(sample)];
    Match match;
    match.source = {pixel % scene.view->mask.Width(), pixel / scene.view->mask.Width()};
    const Eigen::Vector3d ray = scene.view->camera.RayAtUnitDepth(match.source.x(), match.source.y());
    const double depth =
        DepthOf(scene.samples->AverageDepth(sample), scene.samples->Bases(sample), scale, truth.source_code);
    const auto point = WarpPoint(truth.target_from_source, ray, depth, scene.view->camera);
    if (!point) continue;
    match.target = *scene.view->camera.Project(point->x_in_target);
    match.weight = random.Uniform(0.5, 1.5);
    if (IsContent(scene.view->mask, match.target)) matches.push_back(match);
  }
  return matches;
}

PairState PerturbState(const PairState& state, double pose, double depth, Random& random) {
  PairState moved = state;
  Vector6d tangent;
  for (int i = 0; i < 6; ++i) tangent[i] = random.Normal(0, pose);
  moved.target_from_source = state.target_from_source.Retract(tangent);
  moved.source_log_scale += random.Normal(0, depth);
  moved.target_log_scale += random.Normal(0, depth);
  for (Eigen::VectorXd* code : {&moved.source_code, &moved.target_code}) {
    for (Eigen::Index i = 0; i < code->size(); ++i) (*code)[i] += random.Normal(0, depth);
  }
  return moved;
}

}  // namespace lumen
