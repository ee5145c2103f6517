#include "lumen/surface/model_parts.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <numeric>

#include "lumen/surface/mesh_tools.h"

namespace lumen {

using Eigen::Vector3d;

namespace {

struct PartShape {
  Eigen::AlignedBox3d box;
  double volume = 0;  // of what its triangles enclose: negative where they face inwards
};

std::vector<PartShape> MeasureParts(const TriangleMesh& mesh, const MeshParts& parts) {
  std::vector<PartShape> shapes(parts.area.size());
  const auto at = [&](int32_t corner) {
    return mesh.vertices[static_cast<size_t>(corner)].cast<double>().eval();
  };
  const auto shape_of = [&](const auto& triangle) -> PartShape& {
    return shapes[static_cast<size_t>(parts.part_of_vertex[static_cast<size_t>(triangle[0])])];
  };
  for (const auto& triangle : mesh.triangles)
    for (const int32_t corner : triangle) shape_of(triangle).box.extend(at(corner));
  for (const auto& triangle : mesh.triangles) {
    PartShape& shape = shape_of(triangle);
    const Vector3d centre = shape.box.center();  // an open part's sign hangs least on where it is taken about
    shape.volume +=
        (at(triangle[0]) - centre).dot((at(triangle[1]) - centre).cross(at(triangle[2]) - centre)) / 6;
  }
  return shapes;
}

}  // namespace

std::vector<TriangleMesh> SplitModel(const TriangleMesh& model, double least_share) {
  const MeshParts parts = FindParts(model);
  if (parts.area.size() < 2) return {model};
  const std::vector<PartShape> shapes = MeasureParts(model, parts);
  std::vector<size_t> order(parts.area.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts.area[a] > parts.area[b]; });
  const bool inwards = shapes[order.front()].volume < 0;
  std::vector<std::vector<char>> kept;
  std::vector<size_t> mains;
  for (const size_t part : order) {
    const bool stands_free = (shapes[part].volume < 0) != inwards;
    if (!stands_free) {
      if (parts.area[part] < least_share * parts.area[order.front()]) continue;
      mains.push_back(part);
      kept.emplace_back(parts.area.size(), char{0});
      kept.back()[part] = 1;
      continue;
    }
    for (size_t i = mains.size(); i-- > 0;) {  // the smallest that surrounds it
      if (!shapes[mains[i]].box.contains(shapes[part].box)) continue;
      kept[i][part] = 1;
      break;
    }
  }
  std::vector<TriangleMesh> pieces;
  for (const std::vector<char>& keep : kept) pieces.push_back(KeepParts(model, parts, keep));
  return pieces;
}

}  // namespace lumen
