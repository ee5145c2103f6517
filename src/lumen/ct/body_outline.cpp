#include "lumen/ct/body_outline.h"

#include <algorithm>
#include <cmath>

#include "lumen/geometry/grid.h"

namespace lumen {

using Eigen::Vector3i;

namespace {

constexpr double kCellSize = 2;  // mm

const Vector3i kSides[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};

Vector3i CellStep(const Volume& volume) {
  Vector3i step;
  for (int axis = 0; axis < 3; ++axis) {
    const double spacing = volume.lps_from_index.block<3, 1>(0, axis).norm();
    step[axis] = std::clamp(static_cast<int>(std::lround(kCellSize / spacing)), 1, volume.size[axis]);
  }
  return step;
}

}  // namespace

BodyOutline::BodyOutline(const Volume& volume, double threshold)
    : step_(CellStep(volume)), size_((volume.size + step_ - Vector3i::Ones()).cwiseQuotient(step_)) {
  const Cells body = FindBody(FindTissue(volume, threshold));
  ForEachCell(size_, [&](const Vector3i& c) {
    if (body[Index(c)] == 0) return;
    box_.extend(c.cwiseProduct(step_));
    box_.extend((c + Vector3i::Ones()).cwiseProduct(step_).cwiseMin(volume.size) - Vector3i::Ones());
  });
  FindEnclosed(body);
}

// Cells of which half is tissue.
BodyOutline::Cells BodyOutline::FindTissue(const Volume& volume, double threshold) const {
  std::vector<uint16_t> tissue(static_cast<size_t>(size_.prod()), 0), all(tissue.size(), 0);
  const float* value = volume.values.data();
  for (int z = 0; z < volume.size.z(); ++z) {
    for (int y = 0; y < volume.size.y(); ++y) {
      const size_t row = Index(0, y / step_.y(), z / step_.z());
      for (int x = 0; x < volume.size.x(); ++x, ++value) {
        const size_t cell = row + static_cast<size_t>(x / step_.x());
        ++all[cell];
        if (*value >= threshold) ++tissue[cell];
      }
    }
  }
  Cells cells(tissue.size());
  for (size_t i = 0; i < cells.size(); ++i) cells[i] = 2 * tissue[i] >= all[i] ? 1 : 0;
  return cells;
}

// What is thin, a table's shell and a tube, goes by one step inwards; the body's own thin parts, the front of
// a sinus, come back from all around.
BodyOutline::Cells BodyOutline::FindBody(const Cells& tissue) const {
  constexpr int kBack = 8;
  Cells body = KeepLargest(Erode(tissue));
  for (int i = 0; i < kBack; ++i) body = GrowWithin(body, tissue);
  return body;
}

// Beyond the volume's edge the body goes on.
BodyOutline::Cells BodyOutline::Erode(const Cells& cells) const {
  Cells eroded = cells;
  ForEachCell(size_, [&](const Vector3i& c) {
    for (const Vector3i& side : kSides)
      if (Holds(c + side) && cells[Index(c + side)] == 0) eroded[Index(c)] = 0;
  });
  return eroded;
}

BodyOutline::Cells BodyOutline::GrowWithin(const Cells& cells, const Cells& limit) const {
  Cells grown = cells;
  ForEachCell(size_, [&](const Vector3i& c) {
    if (cells[Index(c)] != 0 || limit[Index(c)] == 0) return;
    for (const Vector3i& side : kSides)
      if (Holds(c + side) && cells[Index(c + side)] != 0) grown[Index(c)] = 1;
  });
  return grown;
}

BodyOutline::Cells BodyOutline::KeepLargest(const Cells& cells) const {
  Cells seen(cells.size(), 0);
  std::vector<Vector3i> part, largest;
  ForEachCell(size_, [&](const Vector3i& start) {
    if (cells[Index(start)] == 0 || seen[Index(start)] != 0) return;
    part.assign(1, start);
    seen[Index(start)] = 1;
    for (size_t i = 0; i < part.size(); ++i) {
      for (const Vector3i& side : kSides) {
        const Vector3i next = part[i] + side;
        if (!Holds(next) || cells[Index(next)] == 0 || seen[Index(next)] != 0) continue;
        seen[Index(next)] = 1;
        part.push_back(next);
      }
    }
    if (part.size() > largest.size()) largest.swap(part);
  });
  Cells kept(cells.size(), 0);
  for (const Vector3i& c : largest) kept[Index(c)] = 1;
  return kept;
}

// Where the volume cuts the body, hollow organs are cut with it: what the body surrounds on a face of the
// volume is closed there.
BodyOutline::Cells BodyOutline::FindLids(const Cells& body) const {
  Cells lids(body.size(), 0);
  for (int axis = 0; axis < 3; ++axis)
    for (const int at : {0, size_[axis] - 1}) AddLids(body, axis, at, lids);
  return lids;
}

void BodyOutline::AddLids(const Cells& body, int axis, int at, Cells& lids) const {
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  Cells seen(static_cast<size_t>(size_[u]) * static_cast<size_t>(size_[v]), 0);
  const auto flat = [&](const Vector3i& c) {
    return static_cast<size_t>(c[v]) * static_cast<size_t>(size_[u]) + static_cast<size_t>(c[u]);
  };
  std::vector<Vector3i> part;
  Vector3i start;
  start[axis] = at;
  for (start[v] = 0; start[v] < size_[v]; ++start[v]) {
    for (start[u] = 0; start[u] < size_[u]; ++start[u]) {
      if (body[Index(start)] != 0 || seen[flat(start)] != 0) continue;
      bool at_edge = false;
      part.assign(1, start);
      seen[flat(start)] = 1;
      for (size_t i = 0; i < part.size(); ++i) {
        for (const Vector3i& side : kSides) {
          const Vector3i next = part[i] + side;
          if (side[axis] != 0) continue;
          if (!Holds(next)) {
            at_edge = true;
          } else if (body[Index(next)] == 0 && seen[flat(next)] == 0) {
            seen[flat(next)] = 1;
            part.push_back(next);
          }
        }
      }
      if (!at_edge)
        for (const Vector3i& c : part) lids[Index(c)] = 1;
    }
  }
}

// Which cells' way in this direction ends on the body.
void BodyOutline::CountHits(const Cells& body, const Cells& lids, const Vector3i& direction,
                            std::vector<uint8_t>& counts) const {
  Cells hits(body.size(), 0);
  const auto order = [&](int axis, int i) { return direction[axis] > 0 ? size_[axis] - 1 - i : i; };
  ForEachCell(size_, [&](const Vector3i& i) {
    const Vector3i c(order(0, i.x()), order(1, i.y()), order(2, i.z()));
    const Vector3i next = c + direction;
    const size_t index = Index(c);
    if (Holds(next)) {
      const size_t ahead = Index(next);
      hits[index] = body[ahead] != 0 ? 1 : hits[ahead];
    } else {
      hits[index] = lids[index];
    }
    counts[index] = static_cast<uint8_t>(counts[index] + hits[index]);
  });
}

void BodyOutline::FindEnclosed(const Cells& body) {
  const Cells lids = FindLids(body);
  std::vector<uint8_t> counts(body.size(), 0);
  int directions = 0;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        if (const Vector3i direction(x, y, z); !direction.isZero()) {
          CountHits(body, lids, direction, counts);
          ++directions;
        }
  // Few directions make ragged edges: the mean of the air around counts, at the body's edge too, where some
  // of a cell's voxels are air.
  constexpr double kEnclosed = 0.85;
  enclosed_.assign(body.size(), 0);
  ForEachCell(size_, [&](const Vector3i& c) {
    int sum = 0, cells = 0;
    for (int z = std::max(c.z() - 1, 0); z <= std::min(c.z() + 1, size_.z() - 1); ++z)
      for (int y = std::max(c.y() - 1, 0); y <= std::min(c.y() + 1, size_.y() - 1); ++y)
        for (int x = std::max(c.x() - 1, 0); x <= std::min(c.x() + 1, size_.x() - 1); ++x) {
          if (const size_t index = Index(x, y, z); body[index] == 0) {
            sum += counts[index];
            ++cells;
          }
        }
    enclosed_[Index(c)] = sum >= kEnclosed * directions * cells ? 1 : 0;
  });
}

}  // namespace lumen
