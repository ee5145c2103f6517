// A camera that goes round and round with drift in pose and scale, for tests and benchmarks of the
// pose–scale graph.
#pragma once

#include "lumen/base/random.h"
#include "lumen/factors/pose_scale_graph.h"

namespace lumen {

struct PoseScaleSceneOptions {
  int keyframes = 500;
  int loops = 50;
  uint64_t seed = 1;
};

struct PoseScaleScene {
  std::map<int64_t, PoseScale> truth;
  PoseScaleProblem problem;  // states with drift, loops with the truth
};

inline PoseScale DriftedStep(const PoseScale& previous, const PoseScale& from, const PoseScale& to,
                             double drift, Random& random) {
  const Rigid3 relative = from.world_from_camera.Inverse() * to.world_from_camera;
  Vector6d noise;
  for (int i = 0; i < 6; ++i) noise[i] = random.Normal(0, 2e-3);
  // The map's unit shrinks or grows by `drift` so far: translation and depth scale alike.
  const Rigid3 scaled(relative.Rotation(), std::exp(drift) * relative.Translation());
  return {previous.world_from_camera * scaled.Retract(noise), to.log_scale + drift};
}

inline PoseScaleScene MakePoseScaleScene(const PoseScaleSceneOptions& options) {
  Random random(options.seed);
  PoseScaleScene scene;
  const int per_round = std::max(10, options.keyframes / 5);
  for (int i = 0; i < options.keyframes; ++i) {
    const double angle = 2 * M_PI * i / per_round;
    const Eigen::Vector3d position(3 * std::cos(angle), 3 * std::sin(angle), 0.3 * std::sin(3 * angle));
    scene.truth[i] = {Rigid3(ExpSO3({0.2 * std::sin(angle), 0, angle}), position), 0.1 * std::sin(2 * angle)};
  }
  scene.problem.keyframes[0] = scene.truth[0];
  double drift = 0;
  for (int i = 1; i < options.keyframes; ++i) {
    drift += random.Normal(5e-4, 1e-3);
    scene.problem.keyframes[i] =
        DriftedStep(scene.problem.keyframes[i - 1], scene.truth[i - 1], scene.truth[i], drift, random);
    for (int back = 1; back <= 3 && back <= i; ++back) scene.problem.connections.emplace_back(i, i - back);
  }
  for (int i = 0; i < options.loops; ++i) {
    // The same place on an earlier round; a single loop ties the end to the first round.
    PoseScaleLoop loop;
    loop.source = options.loops == 1 ? options.keyframes - 1
                                     : per_round + random.UniformInt(0, options.keyframes - per_round - 1);
    const int64_t rounds_before = loop.source / per_round;
    loop.target = loop.source % per_round;
    if (options.loops > 1) loop.target += per_round * random.UniformInt(0, rounds_before - 1);
    const PoseScale& from = scene.truth[loop.source];
    const PoseScale& to = scene.truth[loop.target];
    loop.goal = {to.world_from_camera.Inverse() * from.world_from_camera, from.log_scale, to.log_scale};
    scene.problem.loops.push_back(loop);
  }
  return scene;
}

inline double MeanPositionError(const std::map<int64_t, PoseScale>& estimate,
                                const std::map<int64_t, PoseScale>& truth) {
  double sum = 0;
  for (const auto& [id, state] : truth) {
    sum += (estimate.at(id).world_from_camera.Translation() - state.world_from_camera.Translation()).norm();
  }
  return sum / static_cast<double>(truth.size());
}

}  // namespace lumen
