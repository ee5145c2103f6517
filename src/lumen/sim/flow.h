// Dense flow and overlap between two views of one anatomy, with a true occlusion test: a point counts as
// seen by the other view if the line from that camera to it is free.
#pragma once

#include "lumen/sim/renderer.h"

namespace lumen {

struct FlowField {
  Image<float> flow;   // two channels: where each pixel goes, in pixels; 0 where not visible
  Image<float> depth;  // the point's depth along the other camera's z, mm; 0 where not visible
  Mask visible;        // 255 where the point is seen by the other view
  double overlap = 0;  // share of the first view's content that the other one sees
};

// From the view at `world_from_first`, whose depth is given (at the renderer's size), to the other one.
FlowField ComputeFlow(const Renderer& renderer, const DepthImage& first_depth, const Rigid3& world_from_first,
                      const Rigid3& world_from_second);

}  // namespace lumen
