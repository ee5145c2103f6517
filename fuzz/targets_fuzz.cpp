// Marked places of a CT: each input is read as a table, as an older table of 3D Slicer's and as its markups.
#include "fuzz/fuzz.h"
#include "lumen/base/error.h"
#include "lumen/io/targets_file.h"

namespace lumen::fuzz {
namespace {

void CheckTargets(const std::filesystem::path& path) {
  const std::vector<lumen::Target> targets = lumen::ReadTargets(path);
  Expect(!targets.empty() && targets.size() <= kMostTargets, "some targets, and not too many");
  for (const lumen::Target& target : targets)
    Expect(target.place.allFinite() && !target.name.empty(), "a target has a name and a finite place");
}

void ReadTargetFiles(const std::string& input) {
  for (const char* name : {"points.csv", "points.fcsv"}) {
    try {
      CheckTargets(WriteScratch(name, input));
    } catch (const InputError&) {
      // It may be the next kind.
    }
  }
  CheckTargets(WriteScratch("points.mrk.json", input));
}

const Registration kTarget("targets", ReadTargetFiles);

}  // namespace
}  // namespace lumen::fuzz
