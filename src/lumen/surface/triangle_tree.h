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
  int BuildNode(int begin, int end, const std::vector<Eigen::Vector3f>& centres);
  void TestTriangle(int triangle, const Eigen::Vector3d& p, const Eigen::Vector3d* n, double normal_cost,
                    SurfaceHit& best) const;
  std::optional<SurfaceHit> Find(const Eigen::Vector3d& p, const Eigen::Vector3d* n, double normal_cost,
                                 double reach) const;

  std::vector<std::array<Eigen::Vector3f, 3>> corners_;
  std::vector<std::array<Eigen::Vector3f, 3>> normals_;
  std::vector<int> order_;
  std::vector<Node> nodes_;
};

// Barycentric weights of the place on a triangle that is nearest to p.
Eigen::Vector3d NearestOnTriangle(const Eigen::Vector3d& p, const std::array<Eigen::Vector3d, 3>& corners);

}  // namespace lumen
