#include "lumen/sim/surface_net.h"

#include <algorithm>

#include "lumen/scene/surface_net.h"

namespace lumen {

using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

constexpr int kRow = DistanceField::kNodes;
constexpr int kSlice = kRow * kRow;

void AddBlock(const DistanceField::Block& block, SurfaceNet& net) {
  for (int z = 0; z < DistanceField::kBlock; ++z) {
    for (int y = 0; y < DistanceField::kBlock; ++y) {
      for (int x = 0; x < DistanceField::kBlock; ++x) {
        const float* v = block.values + z * kSlice + y * kRow + x;
        net.AddCell(block.first_node + Vector3i(x, y, z),
                    {v[0], v[1], v[kRow], v[kRow + 1], v[kSlice], v[kSlice + 1], v[kSlice + kRow],
                     v[kSlice + kRow + 1]});
      }
    }
  }
}

// Onto the zero level along the gradient.
Vector3f Refine(const DistanceField& field, Vector3f p) {
  for (int i = 0; i < 4; ++i) {
    const Vector3f gradient = field.Gradient(p);
    const Vector3f step = gradient * (field.Distance(p) / (gradient.squaredNorm() + 1e-6F));
    p -= step * std::min(1.0F, 0.3F * field.Voxel() / (step.norm() + 1e-9F));
  }
  return p;
}

}  // namespace

TriangleMesh ExtractSurfaceNet(const DistanceField& field) {
  SurfaceNet net;
  for (const DistanceField::Block& block : field.Blocks()) AddBlock(block, net);
  TriangleMesh mesh = net.Build();
  for (Vector3f& vertex : mesh.vertices) {
    vertex = Refine(field, field.NodePosition(vertex));
    mesh.normals.push_back(field.Gradient(vertex).normalized());
  }
  return mesh;
}

}  // namespace lumen
