// How good the networks are on pairs that were not trained on, without augmentation: a few numbers for the
// curves. (The table that counts is made by `lumen study priors`, with the engine and room `factors`.)
#pragma once

#include "lumen/train/stages.h"

namespace lumen {

struct ValidationNumbers {
  double ard = 0, threshold = 0;               // average depth, median-scaled
  double match_precision = 0, match_kept = 0;  // within 2 px of the truth after the cycle check; share kept
  double aligned = 0;                          // share of pairs with a mean flow error below 1 px
  double flow_error = 0;                       // its median, px
  double ard_before = 0, ard_after = 0;        // depth of the source before and after the alignment
};

ValidationNumbers Validate(PriorNetworks& networks, const ClipStore& store, int pairs,
                           const LossOptions& losses, AlignmentOptions alignment);

}  // namespace lumen
