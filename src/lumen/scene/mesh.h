// A triangle mesh with optional normals, colours and further numbers per vertex.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lumen {

struct VertexAttribute {
  std::string name;  // one word
  std::vector<float> values;
};

// Names of attributes of a fused surface: the mean place it was seen from.
inline constexpr std::array<const char*, 3> kSeenFrom = {"seen_from_x", "seen_from_y", "seen_from_z"};

// How far a vertex may be off along its normal: standard deviation, in the mesh's unit.
inline constexpr const char* kSigma = "sigma";

struct TriangleMesh {
  std::vector<Eigen::Vector3f> vertices;
  std::vector<std::array<int32_t, 3>> triangles;
  std::vector<Eigen::Vector3f> normals;        // empty, or one per vertex
  std::vector<std::array<uint8_t, 3>> colors;  // empty, or one per vertex (RGB)
  std::vector<VertexAttribute> attributes;     // each with one value per vertex
};

}  // namespace lumen
