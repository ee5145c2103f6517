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
#include "lumen/loop/keyframe_look.h"
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
  // All that passed the cycle check; none where nobody looked. Hold whatever becomes of the states.
  std::shared_ptr<const MatchSet> matches;

  // Whether it is nearly as good as the pair it is compared with.
  bool Rivals(const PairEvidence& base, double ratio) const;
};

// May be asked from several threads.
class LoopVerifier {
 public:
  explicit LoopVerifier(const LoopVerifierOptions& options) : options_(options), looks_(options.samples) {}
  // Source is the query, target the reference. The seed chooses the keypoints.
  PairEvidence Examine(const LoopSide& query, const LoopSide& reference, uint64_t seed) const;
  // The matches by which Agreement judges; they do not depend on the states.
  MatchSet Match(const LoopSide& query, const LoopSide& reference, uint64_t seed) const;

 private:
  using Pixels = std::vector<Eigen::Vector2i>;
  MatchSet MatchAt(const Pixels& keypoints, const LoopSide& query, const LoopSide& reference) const;
  MatchSet MatchUnlessHopeless(const LoopSide& query, const LoopSide& reference, uint64_t seed) const;
  PairAlignmentResult Align(const LoopSide& query, const LoopSide& reference,
                            const PairRegistration& registered) const;

  LoopVerifierOptions options_;
  mutable KeyframeLooks looks_;
};

// How well the states explain matches.
struct MatchAgreement {
  double share = 0;  // of the keypoints: those with a match that lies where the poses say, at its depth
  double log_ratio =
      0;  // of the depths the two give those points, the query's to the reference's; the median
};
MatchAgreement CompareWithMatches(const LoopSide& query, const LoopSide& reference, const MatchSet& matched,
                                  double pixels);
// The share alone, within a few pixels.
double Agreement(const LoopSide& query, const LoopSide& reference, const MatchSet& matched);

DepthImage ComputeDepth(const LoopSide& side);

}  // namespace lumen
