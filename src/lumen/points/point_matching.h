// A keyframe's points, and where another keyframe sees them.
#pragma once

#include "lumen/points/corners.h"
#include "lumen/points/patch_alignment.h"
#include "lumen/scene/frame.h"

namespace lumen {

struct PointOptions {
  CornerOptions corners;
  PatchOptions patch;
  double edge = 0.03;        // bend of the inverse depth, as a share of it, that tells the edge of a fold
  double most_shift = 12;    // fine pixels, from where the map foresees a point
  double most_return = 0.3;  // fine pixels between a point and where its sighting leads back to; 0: not asked
  double hidden_margin = 0.15;  // share of the depth behind what the other sees that hides a point

  void Describe(ConfigVisitor& visitor);
};

// What matching needs of a keyframe: its fine picture and the points found in it.
struct PointSet {
  std::shared_ptr<const View> view;
  int times = 0;         // fine pixels a pixel of the view, side by side
  UnifiedCamera camera;  // of the fine picture
  FinePicture picture;
  std::vector<Eigen::Vector2i> points;  // fine pixels
};

// No points where the frame has no fine picture.
PointSet FindPoints(const Keyframe& keyframe, const PointOptions& options = {});

struct Sighting {
  int point = 0;
  Eigen::Vector2d pixel{0, 0};  // fine, in the target
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Identity();
};

// One side as it is estimated now.
struct PointSide {
  const PointSet* points = nullptr;
  const DepthImage* depth = nullptr;  // at the view's size, in the unit of the poses
};
std::vector<Sighting> SeePoints(const PointSide& source, const PointSide& target,
                                const Rigid3& target_from_source, const PointOptions& options = {});

}  // namespace lumen
