// Two frames by their matches in space: descriptors propose, the robust registration of the matched points
// disposes. What is left are matches whose points agree on one similarity transform, which also is a first
// guess of the pose from nothing at all.
#pragma once

#include "lumen/geometry/registration.h"
#include "lumen/scene/frame.h"
#include "lumen/scene/matching.h"

namespace lumen {

struct PairRegistrationOptions {
  MatchOptions matching;
  RegistrationOptions registration;
  // How far a matched point may lie from where the transform puts it: so many pixels across, and this share
  // of its depth along the ray.
  double noise_pixels = 2;
  double depth_noise = 0.04;

  void Describe(ConfigVisitor& visitor);
};

// One side: a frame and its depth in any unit, 0 where unknown.
struct DepthFrame {
  const Frame* frame = nullptr;
  ImageView<const float> depth;
};

DescriptorIndex MakeDescriptorIndex(const Frame& frame);

struct PairRegistration {
  RegistrationStatus status = RegistrationStatus::kTooFewPoints;
  Sim3 target_from_source;        // from the source's unit to the target's
  int keypoints = 0;              // tried
  std::vector<Match> consistent;  // those that passed the cycle check and have a depth
  std::vector<Match> inliers;     // those that also agree in space; none where the registration failed

  bool Ok() const { return status == RegistrationStatus::kOk; }
  // Of all keypoints, and of those that passed the cycle check.
  double InlierRatio() const { return Ratio(inliers.size(), static_cast<size_t>(keypoints)); }
  double ConsistentInlierRatio() const { return Ratio(inliers.size(), consistent.size()); }
  // The pose alone, in the source's unit.
  Rigid3 PoseInSourceUnit() const {
    return {target_from_source.Rotation(), target_from_source.Translation() / target_from_source.Scale()};
  }

 private:
  static double Ratio(size_t part, size_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// The matches alone. The seed chooses the keypoints.
MatchSet MatchPair(const Frame& source, const Frame& target, const PairRegistrationOptions& options,
                   uint64_t seed);
// The transform on which matches agree that have a depth on both sides.
PairRegistration RegisterMatches(const DepthFrame& source, const DepthFrame& target, const MatchSet& matched,
                                 const PairRegistrationOptions& options);
// The matches and the transform they agree on. The seed chooses the keypoints.
PairRegistration RegisterPair(const DepthFrame& source, const DepthFrame& target,
                              const PairRegistrationOptions& options, uint64_t seed);

}  // namespace lumen
