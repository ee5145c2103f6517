// What of the wall was seen, as a layer of a view: facts in words as an item, the coloured wall at an
// address. Who measures it is not this room's business.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "lumen/base/json.h"
#include "lumen/scene/mesh.h"
#include "lumen/viewer/item_store.h"
#include "lumen/viewer/page.h"

namespace lumen {

struct ViewCoverage {
  TriangleMesh wall;  // coloured
  Json facts;         // "words": array of sentences; "spots": array of {words, frame, middle}
};

// Thread-safe.
class CoverageLayer {
 public:
  void Put(const ViewCoverage& coverage, ItemStore& store);
  std::optional<ServedFile> Find(const std::string& path) const;  // "/coverage.bin"

 private:
  mutable std::mutex mutex_;
  std::string wall_;
  int64_t version_ = 0;
};

}  // namespace lumen
