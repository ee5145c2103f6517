// A map on disk (HDF5): keyframes with their pictures, features, depth and states, the edges between them,
// and their words for place recognition. Features, descriptors and bases are kept in half precision.
#pragma once

#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "lumen/scene/map.h"

namespace lumen {

struct StoredMap {
  MapSnapshot map;
  std::map<KeyframeId, std::vector<std::pair<int, float>>> words;
  std::string model_hash;  // of the networks that made the features
};

// The same map gives the same bytes. Throws OutputError.
void SaveMap(const std::filesystem::path& path, const StoredMap& stored);
// Throws InputError for anything that is not a whole map. All keyframes share one View.
StoredMap LoadMap(const std::filesystem::path& path, int pyramid_levels = 4);

// For looking at a map without holding all of it: which keyframes there are and what joins them, and one
// keyframe alone. Both throw InputError.
struct MapOutline {
  std::map<KeyframeId, int64_t> frames;  // the keyframes' frame numbers
  std::vector<MapEdge> edges;
};
MapOutline LoadMapOutline(const std::filesystem::path& path);
MapKeyframe LoadMapKeyframe(const std::filesystem::path& path, KeyframeId id, int pyramid_levels = 1);

}  // namespace lumen
