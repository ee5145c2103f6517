// Surface nets: the zero level of a function on a grid as a mesh, one vertex per cell the level runs
// through, one quad per edge it crosses. Cells may be given in any order and need not be complete: where
// a neighbour is missing the surface ends.
#pragma once

#include <unordered_map>

#include "lumen/scene/mesh.h"

namespace lumen {

class SurfaceNet {
 public:
  using Corners = std::array<float, 8>;  // the function at a cell's corners, x fastest

  // Adds the cell's vertex, if its corners differ in sign; true if it did. Cells lie at 0 … 2^20 − 1.
  bool AddCell(const Eigen::Vector3i& cell, const Corners& corners);

  const std::vector<Eigen::Vector3i>& Cells() const { return cells_; }  // of the vertices, in their order
  // Vertices are in grid coordinates, on the mean of their cell's crossings; triangles face the positive
  // side.
  TriangleMesh Build() const;

 private:
  void AddQuads(size_t vertex, TriangleMesh& mesh) const;

  std::vector<Eigen::Vector3i> cells_;
  std::vector<uint8_t> signs_;  // bit i: corner i is positive
  std::vector<Eigen::Vector3f> vertices_;
  std::unordered_map<uint64_t, int32_t> vertex_of_cell_;
};

// From a place in a cell (0 … 1) onto the level, by the trilinear function between its corners: the mean of
// the crossings lies inside every curve. Also the function's gradient there.
Eigen::Vector3f ProjectToLevel(const SurfaceNet::Corners& corners, Eigen::Vector3f within,
                               Eigen::Vector3f* gradient);

}  // namespace lumen
