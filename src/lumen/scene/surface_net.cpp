#include "lumen/scene/surface_net.h"

#include <algorithm>
#include <utility>

namespace lumen {

using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

uint64_t CellKey(const Vector3i& cell) {
  return static_cast<uint64_t>(cell.x()) | static_cast<uint64_t>(cell.y()) << 20 |
         static_cast<uint64_t>(cell.z()) << 40;
}

Vector3f MeanCrossing(const SurfaceNet::Corners& corners) {
  Vector3f sum = Vector3f::Zero();
  int crossings = 0;
  for (int a = 0; a < 8; ++a) {
    for (int axis = 0; axis < 3; ++axis) {
      const int b = a | 1 << axis;
      const float from = corners[static_cast<size_t>(a)];
      const float to = corners[static_cast<size_t>(b)];
      if (a == b || (from > 0) == (to > 0)) continue;
      Vector3f at(static_cast<float>(a & 1), static_cast<float>(a >> 1 & 1), static_cast<float>(a >> 2 & 1));
      at[axis] += from / (from - to);
      sum += at;
      ++crossings;
    }
  }
  return sum / static_cast<float>(crossings);
}

// A cell's function by its corners, x fastest: value and gradient per voxel, trilinear.
float CellValue(const SurfaceNet::Corners& c, const Vector3f& t, Vector3f* gradient) {
  float value = 0;
  gradient->setZero();
  for (int i = 0; i < 8; ++i) {
    Vector3f w, d;
    for (int axis = 0; axis < 3; ++axis) {
      const bool high = (i >> axis & 1) != 0;
      w[axis] = high ? t[axis] : 1 - t[axis];
      d[axis] = high ? 1.0F : -1.0F;
    }
    const float corner = c[static_cast<size_t>(i)];
    value += corner * w.prod();
    *gradient += corner * Vector3f(d.x() * w.y() * w.z(), w.x() * d.y() * w.z(), w.x() * w.y() * d.z());
  }
  return value;
}

}  // namespace

Vector3f ProjectToLevel(const SurfaceNet::Corners& corners, Vector3f t, Vector3f* gradient) {
  for (int i = 0; i < 2; ++i) {
    const float value = CellValue(corners, t, gradient);
    const float length = gradient->squaredNorm();
    if (length < 1e-12F) break;
    t = (t - *gradient * (value / length)).cwiseMax(0.0F).cwiseMin(1.0F);
  }
  return t;
}

bool SurfaceNet::AddCell(const Vector3i& cell, const Corners& corners) {
  uint8_t signs = 0;
  for (size_t i = 0; i < 8; ++i) signs |= static_cast<uint8_t>((corners[i] > 0 ? 1U : 0U) << i);
  if (signs == 0 || signs == 0xFF) return false;
  vertex_of_cell_.emplace(CellKey(cell), static_cast<int32_t>(cells_.size()));
  cells_.push_back(cell);
  signs_.push_back(signs);
  vertices_.push_back(cell.cast<float>() + MeanCrossing(corners));
  return true;
}

TriangleMesh SurfaceNet::Build() const {
  TriangleMesh mesh;
  mesh.vertices = vertices_;
  for (size_t i = 0; i < cells_.size(); ++i) AddQuads(i, mesh);
  return mesh;
}

// One quad for each of the three edges at the cell's first corner that the level crosses.
void SurfaceNet::AddQuads(size_t vertex, TriangleMesh& mesh) const {
  for (int axis = 0; axis < 3; ++axis) {
    const bool from_air = (signs_[vertex] & 1) != 0;
    const bool to_air = (signs_[vertex] >> (1 << axis) & 1) != 0;
    if (from_air == to_air) continue;
    const int u = (axis + 1) % 3;
    const int v = (axis + 2) % 3;
    std::array<int32_t, 4> ring{};
    const int offsets[4][2] = {{0, 0}, {-1, 0}, {-1, -1}, {0, -1}};
    bool complete = true;
    for (size_t i = 0; i < 4 && complete; ++i) {
      Vector3i neighbour = cells_[vertex];
      neighbour[u] += offsets[i][0];
      neighbour[v] += offsets[i][1];
      const auto found =
          neighbour.minCoeff() < 0 ? vertex_of_cell_.end() : vertex_of_cell_.find(CellKey(neighbour));
      complete = found != vertex_of_cell_.end();
      if (complete) ring[i] = found->second;
    }
    if (!complete) continue;
    if (from_air) std::swap(ring[1], ring[3]);
    mesh.triangles.push_back({ring[0], ring[1], ring[2]});
    mesh.triangles.push_back({ring[0], ring[2], ring[3]});
  }
}

}  // namespace lumen
