// Whether what a run says of its coverage is true: by stretches, faces and spots, against a wall of which it
// is known what was seen.
#pragma once

#include "lumen/apps/grading.h"

namespace lumen {

struct CoverageScore {
  struct OfStretch {
    double truth = 0, said = 0, sigma = 0;  // shares seen
  };
  std::vector<OfStretch> stretches;
  double truth = 0, said = 0;                            // of all
  double missed = 0, missed_found = 0, missed_said = 0;  // areas of faces: truly not seen, both, said
  int spots = 0, spots_found = 0;                        // truly not seen; of them told of
  int spots_said = 0, spots_right = 0;

  double MeanError() const;                  // of stretches, as a share
  double WithinSigmas(double sigmas) const;  // share of stretches
  Json ToJson() const;
  static CoverageScore FromJson(const Json& json);
  void Add(const CoverageScore& other);  // over subjects: stretches, faces and spots are pooled
};

// Nothing where the truth does not say what was seen, or the run has no surface.
std::optional<CoverageScore> GradeCoverage(const Estimate& estimate, const Truth& truth,
                                           const TrajectoryErrors& errors, int threads);

}  // namespace lumen
