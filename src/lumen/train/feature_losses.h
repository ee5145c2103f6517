// The feature network's own losses, asked of pairs with known geometry: descriptors and feature map find
// their true place, and the true pose is where an alignment by them would stay.
#pragma once

#include "lumen/train/stages.h"

namespace lumen {

struct FeatureMaps {
  torch::Tensor source_map, target_map;
  torch::Tensor source_descriptor, target_descriptor, far_descriptor;
  torch::Tensor source_mask, target_mask, far_mask;  // of the turned pictures, at the maps' size
};

FeatureMaps RunFeatureNetwork(PriorNetworks& networks, const PairBatch& batch);
void AddFeatureLosses(const FeatureMaps& maps, const PairBatch& batch, const LossOptions& options,
                      LossTerms& losses);

// 1 where turned pixels (B, K, 2) still lie on content.
torch::Tensor OnContent(const torch::Tensor& mask, const torch::Tensor& pixels);

}  // namespace lumen
