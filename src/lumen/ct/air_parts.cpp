#include "lumen/ct/air_parts.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lumen/base/parallel.h"

namespace lumen {

using Eigen::Vector3i;

namespace {

using Rows = std::vector<std::vector<AirRun>>;  // one of each (y, z)

Rows FindRuns(const Vector3i& size, const std::function<bool(int, int, int)>& inside, int threads) {
  Rows rows(static_cast<size_t>(size.y()) * static_cast<size_t>(size.z()));
  ParallelFor(size.z(), threads, [&](int64_t slice) {
    const int z = static_cast<int>(slice);
    for (int y = 0; y < size.y(); ++y) {
      std::vector<AirRun>& row =
          rows[static_cast<size_t>(z) * static_cast<size_t>(size.y()) + static_cast<size_t>(y)];
      int begin = -1;
      for (int x = 0; x <= size.x(); ++x) {
        const bool in = x < size.x() && inside(x, y, z);
        if (in && begin < 0) begin = x;
        if (!in && begin >= 0) row.push_back({begin, x - begin, y, z});
        if (!in) begin = -1;
      }
    }
  });
  return rows;
}

// Union-find over all runs, numbered row by row.
class RunJoiner {
 public:
  explicit RunJoiner(const Rows& rows) : first_(rows.size() + 1, 0) {
    for (size_t i = 0; i < rows.size(); ++i) first_[i + 1] = first_[i] + rows[i].size();
    parent_.resize(first_.back());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }

  size_t Number(size_t row, size_t i) const { return first_[row] + i; }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // Runs of two neighbouring rows that share a face.
  void JoinRows(const Rows& rows, size_t a, size_t b) {
    for (size_t i = 0, k = 0; i < rows[a].size() && k < rows[b].size();) {
      const AirRun &p = rows[a][i], &q = rows[b][k];
      if (p.x < q.x + q.length && q.x < p.x + p.length) Join(Number(a, i), Number(b, k));
      if (p.x + p.length < q.x + q.length)
        ++i;
      else
        ++k;
    }
  }

 private:
  void Join(size_t a, size_t b) {
    a = Root(a);
    b = Root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  std::vector<size_t> first_, parent_;
};

}  // namespace

double MlPerVoxel(const Volume& volume) {
  return std::abs(volume.lps_from_index.topLeftCorner<3, 3>().determinant()) / 1000;
}

std::vector<AirPart> FindAirParts(const Vector3i& size, const std::function<bool(int, int, int)>& inside,
                                  int64_t least, int threads) {
  const Rows rows = FindRuns(size, inside, threads);
  RunJoiner joiner(rows);
  const auto height = static_cast<size_t>(size.y());
  for (size_t row = 0; row < rows.size(); ++row) {
    if (row % height > 0) joiner.JoinRows(rows, row - 1, row);
    if (row >= height) joiner.JoinRows(rows, row - height, row);
  }
  std::vector<int64_t> voxels(joiner.Number(rows.size(), 0), 0);
  for (size_t row = 0; row < rows.size(); ++row)
    for (size_t i = 0; i < rows[row].size(); ++i)
      voxels[joiner.Root(joiner.Number(row, i))] += rows[row][i].length;
  std::vector<int64_t> part_of_root(voxels.size(), -1);
  std::vector<AirPart> parts;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows[row].size(); ++i) {
      const size_t root = joiner.Root(joiner.Number(row, i));
      if (voxels[root] < least) continue;
      if (part_of_root[root] < 0) {
        part_of_root[root] = static_cast<int64_t>(parts.size());
        parts.push_back({{}, voxels[root], {}});
      }
      AirPart& part = parts[static_cast<size_t>(part_of_root[root])];
      const AirRun& run = rows[row][i];
      part.runs.push_back(run);
      part.box.extend(Vector3i(run.x, run.y, run.z));
      part.box.extend(Vector3i(run.x + run.length - 1, run.y, run.z));
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const AirPart& a, const AirPart& b) { return a.voxels > b.voxels; });
  return parts;
}

VoxelMask MaskOf(const AirPart& part, const Vector3i& volume_size, int margin) {
  VoxelMask mask;
  mask.first = (part.box.min() - Vector3i::Constant(margin)).cwiseMax(0);
  const Vector3i last =
      (part.box.max() + Vector3i::Constant(margin)).cwiseMin(volume_size - Vector3i::Ones());
  mask.size = last - mask.first + Vector3i::Ones();
  mask.marks.assign(static_cast<size_t>(mask.size.cast<int64_t>().prod()), 0);
  for (const AirRun& run : part.runs) {
    const size_t begin = mask.Index(run.x - mask.first.x(), run.y - mask.first.y(), run.z - mask.first.z());
    std::fill_n(mask.marks.begin() + static_cast<std::ptrdiff_t>(begin), run.length, uint8_t{1});
  }
  return mask;
}

VoxelMask ErodeMask(const VoxelMask& mask) {
  VoxelMask eroded = mask;
  const auto marked = [&](int x, int y, int z) {
    return mask.Holds(x, y, z) && mask.marks[mask.Index(x, y, z)] != 0;
  };
  for (int z = 0; z < mask.size.z(); ++z)
    for (int y = 0; y < mask.size.y(); ++y)
      for (int x = 0; x < mask.size.x(); ++x)
        if (!(marked(x - 1, y, z) && marked(x + 1, y, z) && marked(x, y - 1, z) && marked(x, y + 1, z) &&
              marked(x, y, z - 1) && marked(x, y, z + 1)))
          eroded.marks[mask.Index(x, y, z)] = 0;
  return eroded;
}

std::vector<AirPart> FindMaskParts(const VoxelMask& mask, int64_t least, int threads) {
  return FindAirParts(
      mask.size, [&](int x, int y, int z) { return mask.marks[mask.Index(x, y, z)] != 0; }, least, threads);
}

}  // namespace lumen
