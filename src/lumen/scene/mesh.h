// A triangle mesh with optional normals and colours per vertex.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <vector>

namespace lumen {

struct TriangleMesh {
  std::vector<Eigen::Vector3f> vertices;
  std::vector<std::array<int32_t, 3>> triangles;
  std::vector<Eigen::Vector3f> normals;        // empty, or one per vertex
  std::vector<std::array<uint8_t, 3>> colors;  // empty, or one per vertex (RGB)
};

}  // namespace lumen
