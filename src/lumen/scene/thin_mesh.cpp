#include "lumen/scene/thin_mesh.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr int kGone = -1;
constexpr double kFinest = 1024, kCoarser = 1.25;  // cells along the diagonal, and how they grow

struct Cells {
  std::vector<int> of_vertex;  // kGone: not finite
  size_t count = 0;
};

Eigen::AlignedBox3f BoxOf(const TriangleMesh& mesh) {
  Eigen::AlignedBox3f box;
  for (const Eigen::Vector3f& v : mesh.vertices)
    if (v.allFinite()) box.extend(v);
  return box;
}

Cells FindCells(const TriangleMesh& mesh, const Eigen::AlignedBox3f& box, double size) {
  Cells cells;
  std::unordered_map<uint64_t, int> known;
  for (const Eigen::Vector3f& v : mesh.vertices) {
    cells.of_vertex.push_back(kGone);
    if (!v.allFinite()) continue;
    uint64_t key = 0;
    constexpr uint64_t most = 1 << 20;
    for (int k = 0; k < 3; ++k)
      key = key * (most + 1) + std::min<uint64_t>(most, static_cast<uint64_t>((v[k] - box.min()[k]) / size));
    cells.of_vertex.back() = known.emplace(key, static_cast<int>(known.size())).first->second;
  }
  cells.count = known.size();
  return cells;
}

std::vector<float> MeanOf(const std::vector<float>& values, const Cells& cells) {
  std::vector<double> sum(cells.count), weight(cells.count);
  for (size_t i = 0; i < values.size(); ++i) {
    if (cells.of_vertex[i] == kGone || !std::isfinite(values[i])) continue;
    sum[static_cast<size_t>(cells.of_vertex[i])] += values[i];
    weight[static_cast<size_t>(cells.of_vertex[i])] += 1;
  }
  std::vector<float> mean(cells.count);
  for (size_t i = 0; i < cells.count; ++i)
    mean[i] = weight[i] > 0 ? static_cast<float>(sum[i] / weight[i]) : 0;
  return mean;
}

TriangleMesh Gather(const TriangleMesh& mesh, const Cells& cells) {
  TriangleMesh thin;
  thin.vertices.resize(cells.count);
  for (int k = 0; k < 3; ++k) {
    std::vector<float> values;
    for (const Eigen::Vector3f& v : mesh.vertices) values.push_back(v[k]);
    const std::vector<float> mean = MeanOf(values, cells);
    for (size_t i = 0; i < cells.count; ++i) thin.vertices[i][k] = mean[i];
  }
  for (const VertexAttribute& attribute : mesh.attributes)
    thin.attributes.push_back({attribute.name, MeanOf(attribute.values, cells)});
  if (!mesh.colors.empty()) thin.colors.resize(cells.count);
  for (size_t c = 0; c < 3 && !mesh.colors.empty(); ++c) {
    std::vector<float> values;
    for (const auto& color : mesh.colors) values.push_back(color[c]);
    const std::vector<float> mean = MeanOf(values, cells);
    for (size_t i = 0; i < cells.count; ++i) thin.colors[i][c] = static_cast<uint8_t>(mean[i]);
  }
  std::set<std::array<int32_t, 3>> known;
  for (const auto& triangle : mesh.triangles) {
    std::array<int32_t, 3> corners{};
    for (size_t k = 0; k < 3; ++k) corners[k] = cells.of_vertex[static_cast<size_t>(triangle[k])];
    auto sorted = corners;
    std::sort(sorted.begin(), sorted.end());
    const bool flat = sorted[0] == sorted[1] || sorted[1] == sorted[2] || sorted[0] == kGone;
    if (!flat && known.insert(sorted).second) thin.triangles.push_back(corners);
  }
  return thin;
}

double AreaOf(const TriangleMesh& mesh) {
  double area = 0;
  for (const auto& [a, b, c] : mesh.triangles) {
    const auto at = [&](int32_t i) { return mesh.vertices[static_cast<size_t>(i)]; };
    const double one = 0.5 * (at(b) - at(a)).cross(at(c) - at(a)).norm();
    if (std::isfinite(one)) area += one;
  }
  return area;
}

}  // namespace

TriangleMesh ThinMesh(const TriangleMesh& mesh, const MeshBound& most) {
  LUMEN_CHECK(most.vertices > 0);
  const bool finite = std::all_of(mesh.vertices.begin(), mesh.vertices.end(),
                                  [](const Eigen::Vector3f& v) { return v.allFinite(); });
  const bool many = mesh.triangles.size() > most.triangles;
  if (finite && !many && mesh.vertices.size() <= most.vertices) return mesh;
  const Eigen::AlignedBox3f box = BoxOf(mesh);
  if (box.isEmpty()) return {};
  double size = std::max<double>(box.diagonal().norm(), 1e-6) / kFinest;
  // Two triangles to a cell.
  if (many && most.triangles > 0)
    size = std::max(size, std::sqrt(2 * AreaOf(mesh) / static_cast<double>(most.triangles)));
  for (;; size *= kCoarser) {
    const Cells cells = FindCells(mesh, box, size);
    if (cells.count > most.vertices) continue;
    TriangleMesh thin = Gather(mesh, cells);
    if (thin.triangles.size() <= most.triangles) return thin;
  }
}

}  // namespace lumen
