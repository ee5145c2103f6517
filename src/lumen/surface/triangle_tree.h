// The nearest place on a triangle mesh, and the first that a ray meets: a tree of boxes over its triangles.
#pragma once

#include <Eigen/Geometry>
#include <optional>

#include "lumen/scene/mesh.h"

namespace lumen {

struct SurfaceHit {
  Eigen::Vector3d point;
  Eigen::Vector3d normal;  // interpolated between the vertices', unit length
  double cost = 0;         // squared distance, plus what the normal adds
  int triangle = -1;
};

class TriangleTree {
 public:
  explicit TriangleTree(const TriangleMesh& mesh);

  // The place that minimises |x − p|², no farther than `reach`.
  std::optional<SurfaceHit> FindNearest(const Eigen::Vector3d& p, double reach) const;
  // The place that minimises |x − p|² + normal_cost · (1 − n · n_x), no dearer than reach²: a wall that faces
  // the other way is not taken for the one that was seen (a most likely point, oriented).
  std::optional<SurfaceHit> FindLikeliest(const Eigen::Vector3d& p, const Eigen::Vector3d& n,
                                          double normal_cost, double reach) const;
  // How far along the ray (a unit direction) the first triangle is hit, from either side.
  std::optional<double> FindFirst(const Eigen::Vector3d& origin, const Eigen::Vector3d& direction) const;
  // The same, with the face that is hit; its normal is the triangle's own.
  std::optional<SurfaceHit> FindFirstFace(const Eigen::Vector3d& origin,
                                          const Eigen::Vector3d& direction) const;
  // Whether a triangle lies between the two, farther than `slack` from the first.
  bool Blocks(const Eigen::Vector3d& from, const Eigen::Vector3d& to, double slack) const;
  const Eigen::AlignedBox3f& Bounds() const { return nodes_[0].box; }
  bool Empty() const { return order_.empty(); }

 private:
  struct Node {
    Eigen::AlignedBox3f box;
    int first = 0;  // of the triangles in order_, or the right child
    int count = 0;  // triangles; 0: inner node whose left child follows it
  };
  // Four boxes or four triangles side by side, for the instructions that take four numbers at a time.
  using Four = Eigen::Array4f;
  struct FourBoxes {
    std::array<Four, 3> low, high;
    std::array<int, 4> child = {};  // a FourBoxes, or -1 - k for the k-th FourTriangles
  };
  struct FourTriangles {
    std::array<Four, 3> corner, to_second, to_third, normal;  // of unit length, or none where flat to nothing
    Four second_squared, third_squared, across;               // across: the dot product of the two sides
    std::array<int, 4> triangle = {};                         // -1: none
  };
  int BuildNode(int begin, int end, const std::vector<Eigen::Vector3f>& centres);
  int BuildBoxes(int node);
  int BuildTriangles(const Node& leaf);
  // Squared distances, no greater than the true ones by more than rounding.
  static Four DistanceTo(const FourBoxes& boxes, const Eigen::Vector3f& p);
  static Four DistanceTo(const FourTriangles& triangles, const Eigen::Vector3f& p);
  void TestTriangle(int triangle, const Eigen::Vector3d& p, const Eigen::Vector3d* n, double normal_cost,
                    SurfaceHit& best) const;
  std::optional<SurfaceHit> Find(const Eigen::Vector3d& p, const Eigen::Vector3d* n, double normal_cost,
                                 double reach) const;

  std::vector<std::array<Eigen::Vector3f, 3>> corners_;
  std::vector<std::array<Eigen::Vector3f, 3>> normals_;
  std::vector<int> order_;
  std::vector<Node> nodes_;
  std::vector<FourBoxes> boxes_;  // the same tree, two levels in one
  std::vector<FourTriangles> triangles_;
};

// Barycentric weights of the place on a triangle that is nearest to p.
Eigen::Vector3d NearestOnTriangle(const Eigen::Vector3d& p, const std::array<Eigen::Vector3d, 3>& corners);

}  // namespace lumen
