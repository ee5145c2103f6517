// Does geometry agree that two keyframes see the same place? Matches registered in space from nothing, then
// aligned with their features (FM + SMG over pose and the query's scale), then judged by overlap, flow and
// inliers, in comparison with a pair that is known to be neighbours.
#pragma once

#include <memory>
#include <string>

#include "lumen/factors/overlap.h"
#include "lumen/factors/pair_alignment.h"
#include "lumen/factors/pair_registration.h"
#include "lumen/factors/relative_pose_scale_factor.h"
#include "lumen/scene/map.h"

namespace lumen {

struct LoopVerifierOptions {
  PairRegistrationOptions matching;  // 512 keypoints
  PairAlignmentOptions alignment;
  int samples = 1536;             // pixels warped in the alignment
  double min_inlier_ratio = 0.2;  // of all keypoints
  double min_area = 0.5;
  double min_point = 0.5;

  LoopVerifierOptions();
  void Describe(ConfigVisitor& visitor);
};

// A keyframe with its present state and depth.
struct LoopSide {
  KeyframeId id = 0;
  std::shared_ptr<const Keyframe> keyframe;
  KeyframeState state;

  const Keyframe& GetKeyframe() const { return *keyframe; }
};

// What was found about a pair, good or bad.
struct PairEvidence {
  bool verified = false;
  std::string reason;       // in words, where it was not
  double inlier_ratio = 0;  // of all keypoints
  Overlap overlap;
  double feature_error = 0;
  RelativePoseScaleGoal goal;  // reference_from_query as verified, and both scales

  // Whether it is nearly as good as the pair it is compared with.
  bool Rivals(const PairEvidence& base, double ratio) const;
};

class LoopVerifier {
 public:
  explicit LoopVerifier(const LoopVerifierOptions& options) : options_(options) {}
  // Source is the query, target the reference. The seed chooses the keypoints.
  PairEvidence Examine(const LoopSide& query, const LoopSide& reference, uint64_t seed) const;
  // The share of keypoints that have a cycle-checked match which the states' poses explain within a few
  // pixels, at their depths.
  double Agreement(const LoopSide& query, const LoopSide& reference, uint64_t seed) const;

 private:
  PairRegistration Register(const LoopSide& query, const LoopSide& reference, uint64_t seed) const;

  std::shared_ptr<const KeyframeSamples> SamplesOf(const std::shared_ptr<const Keyframe>& keyframe) const;

  LoopVerifierOptions options_;
  // A query is held against several candidates: its samples are kept until the next one.
  mutable std::shared_ptr<const KeyframeSamples> samples_;
};

DepthImage ComputeDepth(const LoopSide& side);

}  // namespace lumen
