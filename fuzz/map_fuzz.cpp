#include "fuzz/fuzz.h"
#include "fuzz/hdf5_lines.h"
#include "lumen/io/map_file.h"

namespace lumen::fuzz {
namespace {

void ExpectSound(const MapKeyframe& entry) {
  const Frame& frame = *entry.keyframe->frame;
  const Mask& mask = frame.view->mask;
  const DepthBasis& depth = entry.keyframe->depth;
  Expect(frame.image.Channels() == 3 && !frame.image.Empty(), "a keyframe has a picture");
  Expect(mask.Channels() == 1 && frame.view->eroded_mask.Channels() == 1, "masks have one channel");
  Expect(SameSize(depth.average, mask), "depth has the view's size");
  Expect(entry.state.world_from_camera.Matrix().allFinite(), "poses are finite");
  if (!entry.IsActive()) return;
  Expect(SameSize(frame.features.descriptors, mask) && SameSize(depth.bases, mask), "as have features");
  Expect(entry.state.code.size() == depth.bases.Channels(), "a code has a number for each basis");
}

void ReadMap(const std::string& input) {
  const std::filesystem::path path = WriteHdf5("map.h5", input);
  const StoredMap stored = LoadMap(path);
  for (const auto& [id, entry] : stored.map.keyframes) ExpectSound(entry);
  Expect(LoadMapOutline(path).frames.size() == stored.map.keyframes.size(), "its outline is the map's");
}

const Registration kTarget("map", ReadMap);

}  // namespace
}  // namespace lumen::fuzz
