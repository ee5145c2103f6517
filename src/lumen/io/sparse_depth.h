// Depth at single places of a sequence's frames, from structure from motion: `sparse_depth.csv` beside the
// frames, a line each with frame, u, v (pixels of the frame, their centres whole numbers), depth along the
// optical axis in the sequence's units and, where known, the point's track length and reprojection error.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include <Eigen/Core>

namespace lumen {

struct SparsePoint {
  Eigen::Vector2d uv{0, 0};
  double depth = 0;
  int track_length = 0;  // frames that see it; 0: not told
  double error = 0;      // mean reprojection error, px
};

using SparseDepth = std::map<int64_t, std::vector<SparsePoint>>;  // by frame

inline constexpr const char* kSparseDepthFile = "sparse_depth.csv";

// Four or six columns below a header line. Throws InputError, with the line, on anything else; depths that
// are not positive are left out.
SparseDepth LoadSparseDepth(const std::filesystem::path& path);
// All six columns.
void SaveSparseDepth(const std::filesystem::path& path, const SparseDepth& depth);

}  // namespace lumen
