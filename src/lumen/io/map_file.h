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

}  // namespace lumen
