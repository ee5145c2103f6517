// Depth maps at the size of the pictures, each corrected by all that see the same: their maps are seen from
// its place, and of what they say of a pixel the middle is taken, who saw it more finely counting more.
#pragma once

#include "lumen/base/config.h"
#include "lumen/scene/depth_view.h"
#include "lumen/surface/depth_sigma.h"

namespace lumen {

struct GatherOptions {
  int views = 60;      // other keyframes that are asked, at most
  double same = 1.3;   // ratio of two depths that may be the same place
  double edge = 1.12;  // ratio of neighbouring pixels beyond which there is an edge

  void Describe(ConfigVisitor& visitor);
};

// On the view's own grid; where nobody else sees a place, the view's own.
struct GatheredDepth {
  DepthImage depth;
  DepthEvidence evidence;
};
GatheredDepth GatherDepth(const DepthView& view, const std::vector<const DepthView*>& others,
                          const GatherOptions& options);

// Twice the size of the maps, where the pictures allow it, and how sure each pixel is. `done` is called with
// each in order.
void GatherDepths(const ViewList& views, const GatherOptions& options, int threads,
                  const std::function<void(int, const DepthView&)>& done);

// The same as views that are ready to be fused: gathered depth, kept on the disk, with the pictures of
// `views`.
ViewList GatherViews(const ViewList& views, const GatherOptions& options, int threads,
                     const std::function<void(int)>& progress = {});

}  // namespace lumen
