#include "lumen/surface/mesh_tools.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

const Vector3f& CornerOf(const TriangleMesh& mesh, const std::array<int32_t, 3>& triangle, size_t k) {
  return mesh.vertices[static_cast<size_t>(triangle[k])];
}

// Twice the area long.
Vector3f FaceVector(const TriangleMesh& mesh, const std::array<int32_t, 3>& t) {
  return (CornerOf(mesh, t, 1) - CornerOf(mesh, t, 0)).cross(CornerOf(mesh, t, 2) - CornerOf(mesh, t, 0));
}

const VertexAttribute* FindAttribute(const TriangleMesh& mesh, const std::string& name) {
  const auto found = std::find_if(mesh.attributes.begin(), mesh.attributes.end(),
                                  [&](const VertexAttribute& a) { return a.name == name; });
  return found != mesh.attributes.end() ? &*found : nullptr;
}

float AtLeastZero(float weight) { return std::isfinite(weight) && weight > 0 ? weight : 0; }

class Forest {
 public:
  explicit Forest(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int i) {
    while (At(i) != i) i = At(i) = At(At(i));
    return i;
  }
  void Join(int a, int b) { At(Find(a)) = Find(b); }

 private:
  int& At(int i) { return parent_[static_cast<size_t>(i)]; }
  std::vector<int> parent_;
};

}  // namespace

std::vector<Vector3f> ComputeVertexNormals(const TriangleMesh& mesh) {
  std::vector<Vector3f> normals(mesh.vertices.size(), Vector3f::Zero());
  for (const auto& t : mesh.triangles)
    for (const int32_t vertex : t) normals[static_cast<size_t>(vertex)] += FaceVector(mesh, t);
  for (Vector3f& normal : normals) normal = normal.norm() > 0 ? normal.normalized() : normal;
  return normals;
}

double ComputeArea(const TriangleMesh& mesh) {
  double area = 0;
  for (const auto& t : mesh.triangles) area += 0.5 * static_cast<double>(FaceVector(mesh, t).norm());
  return area;
}

bool HasArea(const TriangleMesh& mesh) {
  Eigen::AlignedBox3f box;
  for (const Vector3f& vertex : mesh.vertices) box.extend(vertex);
  constexpr double kLeast = 1e-5;  // of the extent's square; rounding gives lines some
  return ComputeArea(mesh) > kLeast * static_cast<double>(box.diagonal().squaredNorm());
}

TriangleMesh FlipTriangles(TriangleMesh mesh) {
  for (auto& t : mesh.triangles) std::swap(t[1], t[2]);
  for (Vector3f& normal : mesh.normals) normal = -normal;
  return mesh;
}

MeshParts FindParts(const TriangleMesh& mesh) {
  Forest forest(mesh.vertices.size());
  for (const auto& t : mesh.triangles) {
    forest.Join(t[0], t[1]);
    forest.Join(t[0], t[2]);
  }
  MeshParts parts;
  parts.part_of_vertex.assign(mesh.vertices.size(), -1);
  std::vector<int> part_of_root(mesh.vertices.size(), -1);
  for (const auto& t : mesh.triangles) {
    int& part = part_of_root[static_cast<size_t>(forest.Find(t[0]))];
    if (part < 0) {
      part = static_cast<int>(parts.area.size());
      parts.area.push_back(0);
    }
    parts.area[static_cast<size_t>(part)] += 0.5 * static_cast<double>(FaceVector(mesh, t).norm());
    for (const int32_t vertex : t) parts.part_of_vertex[static_cast<size_t>(vertex)] = part;
  }
  return parts;
}

TriangleMesh KeepParts(const TriangleMesh& mesh, const MeshParts& parts, const std::vector<char>& keep) {
  TriangleMesh kept;
  for (const VertexAttribute& attribute : mesh.attributes) kept.attributes.push_back({attribute.name, {}});
  std::vector<int32_t> new_index(mesh.vertices.size(), -1);
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    const int part = parts.part_of_vertex[i];
    if (part < 0 || !keep[static_cast<size_t>(part)]) continue;
    new_index[i] = static_cast<int32_t>(kept.vertices.size());
    kept.vertices.push_back(mesh.vertices[i]);
    if (!mesh.normals.empty()) kept.normals.push_back(mesh.normals[i]);
    if (!mesh.colors.empty()) kept.colors.push_back(mesh.colors[i]);
    for (size_t k = 0; k < mesh.attributes.size(); ++k)
      kept.attributes[k].values.push_back(mesh.attributes[k].values[i]);
  }
  for (const auto& t : mesh.triangles) {
    const auto at = [&](size_t k) { return new_index[static_cast<size_t>(t[k])]; };
    if (at(0) >= 0) kept.triangles.push_back({at(0), at(1), at(2)});
  }
  return kept;
}

TriangleMesh RemoveSpecks(const TriangleMesh& mesh, double least_share) {
  const MeshParts parts = FindParts(mesh);
  if (parts.area.empty()) return {};
  const double largest = *std::max_element(parts.area.begin(), parts.area.end());
  std::vector<char> keep;
  for (const double area : parts.area) keep.push_back(area >= least_share * largest ? 1 : 0);
  return KeepParts(mesh, parts, keep);
}

TriangleMesh KeepLargestPart(const TriangleMesh& mesh) { return RemoveSpecks(mesh, 1.0); }

std::vector<Vector3d> SeenFrom(const TriangleMesh& mesh) {
  std::vector<Vector3d> places(mesh.vertices.size());
  for (size_t k = 0; k < kSeenFrom.size(); ++k) {
    const VertexAttribute* attribute = FindAttribute(mesh, kSeenFrom[k]);
    if (attribute == nullptr) return {};
    for (size_t i = 0; i < places.size(); ++i) {
      if (!std::isfinite(attribute->values[i])) return {};
      places[i][static_cast<Eigen::Index>(k)] = attribute->values[i];
    }
  }
  return places;
}

double ComputeFacingShare(const TriangleMesh& mesh) {
  const std::vector<Vector3d> seen_from = SeenFrom(mesh);
  if (seen_from.empty()) return 1;
  const std::vector<Vector3f> normals = ComputeVertexNormals(mesh);
  size_t facing = 0;
  for (size_t i = 0; i < normals.size(); ++i)
    facing += (seen_from[i].cast<float>() - mesh.vertices[i]).dot(normals[i]) >= 0 ? 1 : 0;
  return static_cast<double>(facing) / static_cast<double>(normals.size());
}

SurfacePoints SampleSurface(const TriangleMesh& mesh, int count, const std::string& weight_attribute) {
  const VertexAttribute* weights = FindAttribute(mesh, weight_attribute);
  if (weights != nullptr && std::none_of(weights->values.begin(), weights->values.end(),
                                         [](float w) { return AtLeastZero(w) > 0; }))
    weights = nullptr;
  const std::vector<Vector3f> normals = ComputeVertexNormals(mesh);
  const std::vector<Vector3d> seen_from = SeenFrom(mesh);
  SurfacePoints samples;
  const double step = ComputeArea(mesh) / count;
  double next = 0.5 * step;
  double passed = 0;
  // The R2 sequence (plastic number) places points within triangles.
  double a = 0.5, b = 0.5;
  for (const auto& t : mesh.triangles) {
    passed += 0.5 * static_cast<double>(FaceVector(mesh, t).norm());
    for (; next <= passed && step > 0; next += step) {
      a = std::fmod(a + 0.7548776662466927, 1.0);
      b = std::fmod(b + 0.5698402909980532, 1.0);
      const bool fold = a + b > 1;
      const double u = fold ? 1 - a : a;
      const double v = fold ? 1 - b : b;
      const Eigen::Vector3f share(static_cast<float>(1 - u - v), static_cast<float>(u),
                                  static_cast<float>(v));
      Vector3f point = Vector3f::Zero(), normal = Vector3f::Zero();
      Vector3d from = Vector3d::Zero();
      float weight = 0;
      for (size_t k = 0; k < 3; ++k) {
        const float w = share[static_cast<Eigen::Index>(k)];
        const auto vertex = static_cast<size_t>(t[k]);
        point += w * mesh.vertices[vertex];
        normal += w * normals[vertex];
        weight += w * (weights != nullptr ? AtLeastZero(weights->values[vertex]) : 1.0F);
        if (!seen_from.empty()) from += static_cast<double>(w) * seen_from[vertex];
      }
      if (normal.norm() < 1e-6F) normal = FaceVector(mesh, t);
      samples.points.push_back(point.cast<double>());
      samples.normals.push_back(normal.cast<double>().normalized());
      samples.weights.push_back(weight);
      samples.seen_from.push_back(seen_from.empty() ? samples.points.back() : from);
    }
  }
  return samples;
}

Vector3d ComputeCentre(const std::vector<Vector3d>& points) {
  Vector3d centre = Vector3d::Zero();
  for (const Vector3d& p : points) centre += p / static_cast<double>(points.size());
  return centre;
}

double ComputeRadius(const SurfacePoints& points) {
  const Eigen::Vector3d centre = ComputeCentre(points);
  double sum = 0;
  for (const Eigen::Vector3d& p : points.points) sum += (p - centre).squaredNorm();
  return std::sqrt(sum / static_cast<double>(points.Size()));
}

}  // namespace lumen
