// Everything that can be set about SLAM. Which defaults are not the paper's, and why, is a table in
// docs/decisions.md.
#pragma once

#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/pair_alignment.h"
#include "lumen/factors/pair_registration.h"
#include "lumen/factors/pose_scale_graph.h"
#include "lumen/graph/incremental_smoother.h"
#include "lumen/loop/loop_verifier.h"
#include "lumen/slam/point_book.h"

namespace lumen {

struct TrackingOptions {
  bool use_feature_metric = true;
  bool use_reprojection = true;
  PairRegistrationOptions matching;
  PairAlignmentOptions alignment;
  double reference_ratio = 0.6;  // share of the present reference's inliers a closer one must have
  // A frame whose matches lie this near where its predicted place puts them, nearly all and enough of them,
  // needs no depth of its own to tell right ones from wrong ones.
  double foreseen_pixels = 2;
  double foreseen_share = 0.9;
  int foreseen_matches = 40;
  double gate_pixels = 4;          // matches this near their prediction serve where the registration fails
  double lost_overlap = 0.2;       // less of the reference seen than this: lost
  double lost_inlier_ratio = 0.3;  // fewer of the cycle-checked matches explained than this: lost
  double weak_inlier_ratio = 0.4;
  int min_matches = 12;
  int most_weak = 2;             // frames in a row that may be weak; with one more the camera is lost
  double dark_level = 6;         // mean brightness of 255 below which a frame cannot be used
  double bright_share = 0.7;     // share of saturated pixels beyond which it cannot
  double flat_contrast = 0.006;  // and the local contrast, as a share of brightness, below which it cannot
  double max_step = 1.0;  // motion in a thirtieth of a second beyond which it is a jump, in mean depths

  void Describe(ConfigVisitor& visitor);
};

struct KeyframeOptions {
  double min_area = 0.8;
  double min_point = 0.9;
  double max_flow = 0.08;  // share of the image's width
  double min_inlier_ratio = 0.4;
  double min_explained = 0.6;  // share of the cycle-checked matches that the pose explains
  double least_flow = 0.02;    // less motion than this makes no keyframe for want of matches
  // Where the map was before, so that hovering in one place does not grow it: bounds for a reference that is
  // not the newest keyframe.
  double revisit_area = 0.65;
  double revisit_point = 0.75;
  double revisit_flow = 0.14;
  int max_connections = 3;
  double connection_inlier_ratio = 0.5;  // relative to the match with the reference
  double patience = 1;  // seconds of usable frames that cannot be placed before a new sub-map is begun
  int most_in_a_row = 3;
  // Keyframes that come more densely than the first rate (a frame, over so many frames) meet wider bounds, at
  // the second those of a known way.
  double calm_rate = 0.17;
  double crowded_rate = 0.25;
  double rate_frames = 150;
  double blank_contrast = 0.55;  // a picture with less than this share of the usual contrast shows nothing
  // The bound on a match's depth, in the spread that the video shows, and within what limits.
  double noise_ratio = 1;
  double least_noise = 0.03;
  double most_noise = 0.12;

  void Describe(ConfigVisitor& visitor);
};

struct MappingOptions {
  bool use_feature_metric = true;
  FeatureMetricOptions feature_metric;
  GeometricConsistencyOptions geometric;
  PointMapOptions points;
  double code_weight = 10;  // on the share of the depth that codes add
  double anchor_weight = 1e4;
  int samples = 2048;           // pixels of a keyframe that are warped for FM
  int geometric_samples = 768;  // and for GC, which weighs little
  // A sample this share of the depth behind what the other keyframe sees is hidden from it; 0: none counts
  // so.
  double hidden_margin = 0.07;
  int updates = 2;       // smoother steps after a new keyframe, before loops are looked for; one more follows
  int evaluations = 12;  // connections evaluated again in a step, the most strained first; 0: all
  int settle_after =
      8;  // keyframes added since a keyframe got its last connection: its code is held; 0: never
  int refine_updates = 20;
  int refine_settled = 5;  // steps in a row without relinearisation that end a refinement
  SmootherOptions smoother;

  void Describe(ConfigVisitor& visitor);
};

struct LoopOptions {
  bool local = true;
  bool global = true;
  int local_window = 9;
  int local_gap = 3;                // keyframes nearer than this in time are no loops
  double local_distance_ratio = 5;  // of the distance to the closest temporal neighbour
  double metric_ratio = 0.7;        // of the reference pair's metrics
  int global_gap = 10;              // keyframes nearer than this in time are no global loops
  int max_candidates = 20;
  int max_verified = 4;  // candidates looked at closely per keyframe
  double similarity_ratio = 0.7;
  int redundant_hops = 3;  // a place that the map reaches over so few edges needs no loop
  LoopVerifierOptions verifier;
  PoseScaleOptions pose_scale;
  int probation = 10;           // keyframes during which a loop must hold its own
  double min_agreement = 0.15;  // share of a loop's matches its pose must still explain
  int min_supports = 1;         // neighbours of the candidate that must tell the same, where there are any

  void Describe(ConfigVisitor& visitor);
};

// What a map may keep.
struct MapOptions {
  bool cull = true;        // keyframes of places that older ones show as well retire
  int cull_after = 6;      // keyframes added since
  int most_keyframes = 0;  // active ones; beyond, the oldest retire; 0: no bound

  void Describe(ConfigVisitor& visitor);
};

struct RelocalisationOptions {
  int candidates = 5;
  double min_inlier_ratio = 0.12;
  int min_inliers = 20;
  double min_overlap = 0.3;

  void Describe(ConfigVisitor& visitor);
};

// How far what the map says may be off. The smoother's covariances are those of a model in which every pixel
// errs by itself and nothing is biased; these numbers carry them over to what errors are, as measured on
// simulated subjects (docs/uncertainty.md).
struct CertaintyOptions {
  // What the smoother's standard deviations are to be multiplied by …
  double across = 0.18;     // of positions, across the line of sight
  double along = 0.11;      // and along it
  double turn = 0.19;       // of directions
  double step_turn = 0.18;  // of one keyframe's direction as seen from another
  // … and what it does not know of: a scale that creeps, as a share of the way between two keyframes, and of
  // the path's extent once the path has been aligned as a whole.
  double drift = 0.005;
  double bend = 0.0025;
  double scale = 0.011;  // of a keyframe's depth, as a share: what the smoother says of it tells nothing
  // What tracking adds to a frame between keyframes.
  double frame_position = 0.0013;  // of the depth
  double frame_degrees = 0.07;

  void Describe(ConfigVisitor& visitor);
};

struct SlamOptions {
  TrackingOptions tracking;
  KeyframeOptions keyframe;
  MappingOptions mapping;
  LoopOptions loop;
  MapOptions map;
  RelocalisationOptions relocalisation;
  CertaintyOptions certainty;
  int threads = 0;  // of the back end; 0: as many as there are cores, within reason. The bits are the same.
  // Of tracking's linearisations: those cores that networks, tracking and mapping leave idle.
  int TrackingThreads() const;

  SlamOptions();
  int Threads() const;
  void Describe(ConfigVisitor& visitor);
};

}  // namespace lumen
