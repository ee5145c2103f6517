// How good the learned priors are on subjects they never saw: average depth, depth after pair-wise alignment,
// alignment from a random start, matches, place recognition. Runs the shipped engine and room `factors`.
#pragma once

#include <filesystem>
#include <optional>

#include "lumen/base/json.h"
#include "lumen/factors/pair_alignment.h"
#include "lumen/loop/vocabulary.h"
#include "lumen/network/weights.h"

namespace lumen {

struct PriorStudyOptions {
  std::vector<std::string> subjects;  // of the suite; none: all
  std::string lens = "narrow";        // or "wide"
  int frames = 24;                    // graded per subject
  int pairs = 12;                     // aligned and matched per subject
  double min_overlap = 0.6;           // of the pairs
  double min_start_overlap = 0.4;     // of the random start
  double start_rotation = 0.25;       // radians, up to
  double start_translation = 0.25;    // median depths, up to
  PairAlignmentOptions alignment;     // as training sets it up
  int threads = 1;
  uint64_t seed = 1;

  PriorStudyOptions();
};

// Means over subjects under the keys ard_average, threshold_average, ard_gain, alignment_success,
// match_precision, match_precision_rolled, place_auc (where a vocabulary is given); each subject's own under
// "subjects".
Json StudyPriors(const Model& model, const std::optional<Vocabulary>& vocabulary,
                 const PriorStudyOptions& options);

// Real frames with sparse depths (sparse_depth.csv) and poses: real_ard, real_threshold, and
// real_epipolar_precision of matches ten frames apart.
Json StudyRealPriors(const Model& model, const std::filesystem::path& folder);

// Area under the ROC curve: the chance that a positive's score is above a negative's.
double AreaUnderCurve(const std::vector<double>& positives, const std::vector<double>& negatives);

}  // namespace lumen
