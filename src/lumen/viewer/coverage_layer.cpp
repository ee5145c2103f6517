#include "lumen/viewer/coverage_layer.h"

#include "lumen/viewer/scene_view.h"

namespace lumen {

void CoverageLayer::Put(const ViewCoverage& coverage, ItemStore& store) {
  Json facts = coverage.facts;
  {
    const std::lock_guard lock(mutex_);
    wall_ = EncodeMesh(coverage.wall);
    facts["version"] = ++version_;  // the page asks for the wall anew
  }
  store.Put(ItemKind::kCoverage, 0, facts.Dump());
}

std::optional<ServedFile> CoverageLayer::Find(const std::string& path) const {
  if (path != "/coverage.bin") return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (wall_.empty()) return std::nullopt;
  return ServedFile{"application/octet-stream", wall_, ""};
}

}  // namespace lumen
