// How far a gathered depth may be off, pixel by pixel, by what is known without the truth: how many views saw
// the place and how finely, how far they disagree, whether there is an edge near by, and how deep it lies in
// the view. What each of these tells was fitted on simulated subjects (docs/uncertainty.md).
#pragma once

#include "lumen/image/image.h"

namespace lumen {

// What the views said of each pixel.
struct DepthEvidence {
  Image<float> views;   // how many, the pixel's own included
  Image<float> finer;   // how much each counted, mean
  Image<float> spread;  // of the logarithms of what they said, about the depth that was taken
};

// Standard deviation as a share of the depth; 0 where that is unknown.
Image<float> EstimateDepthSigma(const DepthImage& depth, const DepthEvidence& evidence);

}  // namespace lumen
