// For this room's tests: anatomies made once per process, and the true distance to a mesh.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "lumen/sim/anatomy.h"
#include "lumen/sim/path.h"

namespace lumen {

inline constexpr AnatomyKind kAllAnatomies[] = {AnatomyKind::kNasal, AnatomyKind::kColon,
                                                AnatomyKind::kBronchus, AnatomyKind::kStomach};

// A subject as the parameter of a test, with a name that test programs can print.
struct TestSubject {
  AnatomyKind kind;
  uint64_t seed;
};
inline std::string NameOf(const TestSubject& subject) {
  return AnatomyName(subject.kind) + std::to_string(subject.seed);
}
inline void PrintTo(const TestSubject& subject, std::ostream* out) { *out << NameOf(subject); }

inline std::shared_ptr<const Anatomy> SharedAnatomy(AnatomyKind kind, uint64_t seed) {
  static std::map<std::pair<AnatomyKind, uint64_t>, std::shared_ptr<const Anatomy>> made;
  std::shared_ptr<const Anatomy>& anatomy = made[{kind, seed}];
  if (anatomy == nullptr) anatomy = MakeAnatomy(kind, seed, 2);
  return anatomy;
}

// Poses along the anatomy's main way, `count` of them.
inline std::vector<Rigid3> SomePoses(const Anatomy& anatomy, int count) {
  PathOptions options;
  options.kind = PathKind::kInsertion;
  options.frames = 40 * count;
  const std::vector<Rigid3> path = MakePath(anatomy, options);
  std::vector<Rigid3> poses;
  for (int i = 0; i < count; ++i) poses.push_back(path[static_cast<size_t>(40 * i + 20)]);
  return poses;
}

inline float PointToTriangle(const Eigen::Vector3f& p, const Eigen::Vector3f& a, const Eigen::Vector3f& b,
                             const Eigen::Vector3f& c) {
  const Eigen::Vector3f normal = (b - a).cross(c - a);
  const float area = normal.norm();
  const auto inside = [&](const Eigen::Vector3f& u, const Eigen::Vector3f& v) {
    return normal.dot((v - u).cross(p - u)) >= 0;
  };
  if (area > 1e-12F && inside(a, b) && inside(b, c) && inside(c, a))
    return std::abs(normal.dot(p - a)) / area;
  const auto to_segment = [&](const Eigen::Vector3f& u, const Eigen::Vector3f& v) {
    const float t = std::min(1.0F, std::max(0.0F, (p - u).dot(v - u) / ((v - u).squaredNorm() + 1e-20F)));
    return (p - u - t * (v - u)).norm();
  };
  return std::min({to_segment(a, b), to_segment(b, c), to_segment(c, a)});
}

// Distance to a mesh of small triangles, exact up to one cell.
class MeshDistance {
 public:
  MeshDistance(const TriangleMesh& mesh, float cell) : mesh_(mesh), cell_(cell) {
    for (size_t i = 0; i < mesh.triangles.size(); ++i) {
      buckets_[Key(Cell(mesh.vertices[static_cast<size_t>(mesh.triangles[i][0])]))].push_back(i);
    }
  }
  // `cell` if nothing is nearer.
  float To(const Eigen::Vector3f& p) const {
    float nearest = cell_;
    const Eigen::Vector3i middle = Cell(p);
    for (int i = 0; i < 27; ++i) {
      const auto found = buckets_.find(Key(middle + Eigen::Vector3i(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1)));
      if (found == buckets_.end()) continue;
      for (const size_t t : found->second) nearest = std::min(nearest, ToTriangle(p, t));
    }
    return nearest;
  }

 private:
  float ToTriangle(const Eigen::Vector3f& p, size_t t) const {
    const auto& corners = mesh_.triangles[t];
    const auto at = [&](size_t i) { return mesh_.vertices[static_cast<size_t>(corners[i])]; };
    return PointToTriangle(p, at(0), at(1), at(2));
  }
  Eigen::Vector3i Cell(const Eigen::Vector3f& p) const { return (p / cell_).array().floor().cast<int>(); }
  static uint64_t Key(const Eigen::Vector3i& cell) {
    const Eigen::Vector3i shifted = cell.array() + (1 << 19);
    return static_cast<uint64_t>(shifted.x()) | static_cast<uint64_t>(shifted.y()) << 20 |
           static_cast<uint64_t>(shifted.z()) << 40;
  }

  const TriangleMesh& mesh_;
  float cell_;
  std::unordered_map<uint64_t, std::vector<size_t>> buckets_;
};

}  // namespace lumen
