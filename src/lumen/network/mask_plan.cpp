#include "lumen/network/mask_plan.h"

#include "lumen/image/pyramid.h"

namespace lumen {

ConvMask MakeConvMask(const Mask& input) {
  ConvMask result{Mask(input.Width(), input.Height()), Image<float>(input.Width(), input.Height())};
  for (int y = 0; y < input.Height(); ++y) {
    for (int x = 0; x < input.Width(); ++x) {
      int taps = 0;
      for (int j = -1; j <= 1; ++j) {
        for (int i = -1; i <= 1; ++i)
          taps += input.Contains(x + i, y + j) && input(x + i, y + j) != 0 ? 1 : 0;
      }
      if (taps == 0) continue;
      result.valid(x, y) = 255;
      result.scale(x, y) = 9.0F / static_cast<float>(taps);
    }
  }
  return result;
}

std::vector<BlockMasks> PlanMasks(const NetworkSpec& spec, const Mask& mask) {
  LUMEN_CHECK(mask.Width() == spec.input_width && mask.Height() == spec.input_height, mask.Width(), "x",
              mask.Height());
  std::vector<BlockMasks> plan;
  Mask current = mask;
  Mask trunk_mask;  // what entered the block at the heads' resolution
  for (const BlockSpec& block : ListBlocks(spec)) {
    if (block.role == BlockSpec::Role::kUp) current = plan[static_cast<size_t>(block.skip)].input;
    if (block.role == BlockSpec::Role::kDown && block.level == 1) trunk_mask = current;
    if (block.starts_head) current = trunk_mask;
    BlockMasks masks;
    masks.input = current;
    masks.conv1 = MakeConvMask(current);
    masks.conv2 = MakeConvMask(masks.conv1.valid);
    current = masks.conv2.valid;
    if (block.role == BlockSpec::Role::kDown) current = DownsampleMask(current);  // max pooling
    plan.push_back(std::move(masks));
  }
  return plan;
}

}  // namespace lumen
