// The feature network's own losses, asked of pairs with known geometry: descriptors and feature map find
// their true place, and the true pose is where an alignment by them would stay.
#pragma once

#include "lumen/train/stages.h"

namespace lumen {

void AddFeatureLosses(const FeatureMaps& maps, const PairBatch& batch, const LossOptions& options,
                      LossTerms& losses);

// 1 where turned pixels (B, K, 2) still lie on content.
torch::Tensor OnContent(const torch::Tensor& mask, const torch::Tensor& pixels);

}  // namespace lumen
