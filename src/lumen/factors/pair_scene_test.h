// Pairs of keyframes of analytic surfaces with features made from surface coordinates, for the tests and
// benchmarks of this room. The truth is exact: no network, no renderer.
#pragma once

#include <memory>

#include "lumen/base/random.h"
#include "lumen/factors/keyframe_samples.h"
#include "lumen/factors/match_factors.h"
#include "lumen/factors/pair_variables.h"

namespace lumen {

struct PairSceneOptions {
  int width = 80;
  int height = 64;
  int levels = 4;
  int num_bases = 16;
  double baseline = 0.12;     // the nearest wall is about 0.9 away
  double rotation = 0.06;     // radians
  double code_size = 0.5;     // of the true codes
  double field_of_view = 65;  // degrees, horizontal
  double alpha = 0;           // of the camera: 0 is a pinhole
  bool whole_image = false;   // samples everywhere, instead of away from the border
  uint64_t seed = 1;
};

// A fisheye's: the same walls through a lens of 130°.
inline PairSceneOptions Wide(PairSceneOptions options = {}) {
  options.field_of_view = 130;
  options.alpha = 0.6;
  return options;
}

struct PairScene {
  std::shared_ptr<const View> view;
  std::shared_ptr<const Keyframe> source, target;
  std::shared_ptr<const KeyframeSamples> samples;  // of the source
  KeyframeState source_state, target_state;        // the truth

  Rigid3 TargetFromSource() const {
    return target_state.world_from_camera.Inverse() * source_state.world_from_camera;
  }
  PairState TruePairState() const;
  // The truth under the keys of keyframes 0 (source) and 1 (target).
  Values TrueValues() const;
};

// A part of a keyframe's variable (its unit is one), read and replaced.
Rigid3 PoseOf(const Values& values, int64_t id);
double LogScaleOf(const Values& values, int64_t id);
void SetPose(Values& values, int64_t id, const Rigid3& pose);
void SetLogScale(Values& values, int64_t id, double log_scale);
void SetCode(Values& values, int64_t id, Eigen::VectorXd code);

// Inside an ellipsoid, with features that are smooth functions of the place.
PairScene MakeCavityScene(const PairSceneOptions& options = {});

// Target features and target depth are affine in the pixel on every level, and the source's are made to
// agree exactly at the truth: there every residual of FM and GC is zero but for rounding.
PairScene MakeAffineScene(const PairSceneOptions& options = {});

// Matches of a scene's truth at some of the source's samples: where they land in the target.
std::vector<Match> MakeTrueMatches(const PairScene& scene, int count, Random& random);

// target_from_source, scales and codes moved by random amounts.
PairState PerturbState(const PairState& state, double pose, double depth, Random& random);

}  // namespace lumen
