#include "lumen/io/pose_uncertainty.h"

#include "fuzz/fuzz.h"

namespace lumen::fuzz {
namespace {

void ReadPoseUncertainty(const std::string& input) {
  const std::filesystem::path path = WriteScratch("uncertainty.csv", input);
  const std::vector<PoseSigma> poses = LoadPoseSigmas(path);
  for (const PoseSigma& sigma : poses) {
    Expect(sigma.position.allFinite() && sigma.turn_degrees.allFinite(), "sigmas are finite");
    Expect(sigma.position.minCoeff() >= 0 && sigma.turn_degrees.minCoeff() >= 0 && sigma.scale >= 0,
           "and not negative");
    Expect(sigma.off_probability <= 1, "what is likely is a probability");
  }
  SavePoseSigmas(Scratch() / "again.csv", poses);
  Expect(LoadPoseSigmas(Scratch() / "again.csv").size() == poses.size(), "what is written reads back");
}

const Registration kTarget("pose_uncertainty", ReadPoseUncertainty);

}  // namespace
}  // namespace lumen::fuzz
