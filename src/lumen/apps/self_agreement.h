// How well networks agree with themselves over frames whose places are known: what can be measured where
// nobody knows the true depth.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "lumen/network/weights.h"
#include "lumen/scene/frame.h"

namespace lumen {

// Matches between frames `gap` apart, and how many of them lie on the line that the places allow, to 1.5
// pixels of the maps.
struct EpipolarCount {
  int64_t tried = 0, kept = 0, right = 0;
};
EpipolarCount CountOnEpipolar(const std::vector<FeaturePyramid>& features,
                              const std::map<size_t, Rigid3>& poses, const View& view, size_t gap);

struct SelfAgreement {
  double depth = 0;              // mean |log ratio| of two frames' average depths of the same places
  std::optional<double> points;  // ARD of average depth at the sequence's points, each frame at its own scale
  double epipolar = 0;           // share of matches on their line
  int64_t pairs = 0;             // of frames whose depths were compared
};
// `sequence`: a folder with poses and depth of some frames, which tells what two frames both see and sets
// each map's scale. Throws InputError where there is too little of it.
SelfAgreement MeasureSelfAgreement(const Model& model, const std::filesystem::path& sequence);

}  // namespace lumen
