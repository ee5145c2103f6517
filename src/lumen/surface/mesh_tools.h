// What one does to any triangle mesh: normals, areas, connected parts, even samples.
#pragma once

#include <string>

#include "lumen/scene/mesh.h"

namespace lumen {

// Unit normals, the triangles' weighted by area; zero where a vertex has no triangle.
std::vector<Eigen::Vector3f> ComputeVertexNormals(const TriangleMesh& mesh);
double ComputeArea(const TriangleMesh& mesh);
// Whether it is more than points and lines.
bool HasArea(const TriangleMesh& mesh);
TriangleMesh FlipTriangles(TriangleMesh mesh);  // turns its normals round too

// Parts connected by shared vertices. `part_of_vertex` is -1 for vertices without triangles.
struct MeshParts {
  std::vector<int> part_of_vertex;
  std::vector<double> area;
};
MeshParts FindParts(const TriangleMesh& mesh);
// The triangles whose part is kept, and their vertices with all that belongs to them.
TriangleMesh KeepParts(const TriangleMesh& mesh, const MeshParts& parts, const std::vector<char>& keep);
// Drops parts whose area is less than `least_share` of the largest part's.
TriangleMesh RemoveSpecks(const TriangleMesh& mesh, double least_share);
TriangleMesh KeepLargestPart(const TriangleMesh& mesh);

// Where each vertex was seen from (kSeenFrom); empty if the mesh does not tell, or not of all.
std::vector<Eigen::Vector3d> SeenFrom(const TriangleMesh& mesh);
// How much of it faces the places it was seen from; 1 if it does not tell. A surface that was moved while
// they stayed behind does not.
double ComputeFacingShare(const TriangleMesh& mesh);

// Points on a surface with the normals there and a weight each.
struct SurfacePoints {
  std::vector<Eigen::Vector3d> points;
  std::vector<Eigen::Vector3d> normals;
  std::vector<double> weights;
  std::vector<Eigen::Vector3d> seen_from;  // the points themselves where the mesh does not tell
  size_t Size() const { return points.size(); }
};
// About `count` points, evenly spread over the area (low-discrepancy along the triangles' running area, the
// same every time). Weights are the attribute of that name, those below 0 or not finite being 0; or 1, if it
// is missing or nowhere above 0.
SurfacePoints SampleSurface(const TriangleMesh& mesh, int count, const std::string& weight_attribute = "");

// Centre, and root mean square distance from it: a surface's place and size.
Eigen::Vector3d ComputeCentre(const std::vector<Eigen::Vector3d>& points);
inline Eigen::Vector3d ComputeCentre(const SurfacePoints& points) { return ComputeCentre(points.points); }
double ComputeRadius(const SurfacePoints& points);

}  // namespace lumen
