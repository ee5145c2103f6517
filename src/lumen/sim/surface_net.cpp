#include "lumen/sim/surface_net.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace lumen {

using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

constexpr int kRow = DistanceField::kNodes;
constexpr int kSlice = kRow * kRow;

uint64_t CellKey(const Vector3i& cell) {
  return static_cast<uint64_t>(cell.x()) | static_cast<uint64_t>(cell.y()) << 20 |
         static_cast<uint64_t>(cell.z()) << 40;
}

class SurfaceNet {
 public:
  explicit SurfaceNet(const DistanceField& field) : field_(field) {}

  TriangleMesh Extract() {
    const std::vector<DistanceField::Block> blocks = field_.Blocks();
    for (const DistanceField::Block& block : blocks) ForEachCell(block, &SurfaceNet::AddVertex);
    for (const DistanceField::Block& block : blocks) ForEachCell(block, &SurfaceNet::AddQuads);
    return std::move(mesh_);
  }

 private:
  using Corners = std::array<float, 8>;  // x fastest
  using CellAction = void (SurfaceNet::*)(const Vector3i& cell, const Corners& corners);

  void ForEachCell(const DistanceField::Block& block, CellAction action) {
    for (int z = 0; z < DistanceField::kBlock; ++z) {
      for (int y = 0; y < DistanceField::kBlock; ++y) {
        for (int x = 0; x < DistanceField::kBlock; ++x) {
          const float* v = block.values + z * kSlice + y * kRow + x;
          const Corners corners = {v[0],      v[1],          v[kRow],          v[kRow + 1],
                                   v[kSlice], v[kSlice + 1], v[kSlice + kRow], v[kSlice + kRow + 1]};
          int inside = 0;
          for (const float corner : corners) inside += corner > 0 ? 1 : 0;
          if (inside != 0 && inside != 8) (this->*action)(block.first_node + Vector3i(x, y, z), corners);
        }
      }
    }
  }

  // Mean of the edges' crossings, then onto the zero level along the gradient.
  void AddVertex(const Vector3i& cell, const Corners& corners) {
    Vector3f sum = Vector3f::Zero();
    int crossings = 0;
    for (int a = 0; a < 8; ++a) {
      for (int axis = 0; axis < 3; ++axis) {
        const int b = a | 1 << axis;
        const float from = corners[static_cast<size_t>(a)];
        const float to = corners[static_cast<size_t>(b)];
        if (a == b || (from > 0) == (to > 0)) continue;
        Vector3f at(a & 1, a >> 1 & 1, a >> 2 & 1);
        at[axis] += from / (from - to);
        sum += at;
        ++crossings;
      }
    }
    Vector3f p = field_.NodePosition(cell.cast<float>() + sum / static_cast<float>(crossings));
    for (int i = 0; i < 4; ++i) {
      const Vector3f gradient = field_.Gradient(p);
      const Vector3f step = gradient * (field_.Distance(p) / (gradient.squaredNorm() + 1e-6F));
      p -= step * std::min(1.0F, 0.3F * field_.Voxel() / (step.norm() + 1e-9F));
    }
    vertex_of_cell_.emplace(CellKey(cell), static_cast<int32_t>(mesh_.vertices.size()));
    mesh_.vertices.push_back(p);
    mesh_.normals.push_back(field_.Gradient(p).normalized());
  }

  // One quad for each of the three edges at the cell's first corner that the wall crosses.
  void AddQuads(const Vector3i& cell, const Corners& corners) {
    for (int axis = 0; axis < 3; ++axis) {
      const bool from_air = corners[0] > 0;
      const bool to_air = corners[size_t{1} << axis] > 0;
      if (from_air == to_air) continue;
      const int u = (axis + 1) % 3;
      const int v = (axis + 2) % 3;
      std::array<int32_t, 4> ring;
      const int offsets[4][2] = {{0, 0}, {-1, 0}, {-1, -1}, {0, -1}};
      for (size_t i = 0; i < 4; ++i) {
        Vector3i neighbour = cell;
        neighbour[u] += offsets[i][0];
        neighbour[v] += offsets[i][1];
        ring[i] = vertex_of_cell_.at(CellKey(neighbour));
      }
      if (from_air) std::swap(ring[1], ring[3]);
      mesh_.triangles.push_back({ring[0], ring[1], ring[2]});
      mesh_.triangles.push_back({ring[0], ring[2], ring[3]});
    }
  }

  const DistanceField& field_;
  TriangleMesh mesh_;
  std::unordered_map<uint64_t, int32_t> vertex_of_cell_;
};

}  // namespace

TriangleMesh ExtractSurfaceNet(const DistanceField& field) { return SurfaceNet(field).Extract(); }

}  // namespace lumen
