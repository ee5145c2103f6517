// The wall about a way, unrolled: how far it is from the way, by the place along and the direction round.
// Where no surface was seen the wall is still there: its distance is carried over from what was seen about
// it.
#pragma once

#include "lumen/coverage/sightings.h"
#include "lumen/geometry/curve.h"

namespace lumen {

// One way's. Row i lies at i * row_step along it, column k at 2 π k / directions round it, from the way's
// normal to its binormal.
struct UnrolledWall {
  ArcCurve way;
  float row_step = 1;
  Image<float> radius;  // width: directions, height: rows
  Mask found;           // where the surface was met
  int Rows() const { return radius.Height(); }
  int Directions() const { return radius.Width(); }
  Eigen::Vector3f PointAt(int direction, int row) const;
};

// Directions and rows that a way is unrolled by, without radii.
UnrolledWall UnrollWay(const ArcCurve& way);
// The unit direction of a column.
Eigen::Vector3f DirectionRound(const CurvePoint& at, int direction, int directions);

// The closed wall about a way. The surface is where its depth maps agree, by vote, that it is: membranes that
// some of them stretch from an edge to what lies behind are passed through. Nothing is found where the
// surface shows its back, ends, or is far beyond the usual.
UnrolledWall CloseWall(const ArcCurve& way, const TriangleTree& surface, const ViewList& views, int threads);

// The walls of several ways as one mesh whose triangles face the ways.
TriangleMesh MeshWalls(const std::vector<UnrolledWall>& walls);

}  // namespace lumen
