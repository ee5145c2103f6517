// What of a volume's air lies inside the body. The body is the largest piece of tissue that is not thin, so
// that the table is none; a place is inside if nearly all ways from it end on the body. So nostrils and mouth
// are closed where the body begins to surround one, and the gap between back and table stays outside.
#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <vector>

#include "lumen/scene/volume.h"

namespace lumen {

class BodyOutline {
 public:
  // `threshold`: air below, tissue above.
  BodyOutline(const Volume& volume, double threshold);

  bool Encloses(int x, int y, int z) const {  // voxels
    return enclosed_[Index(x / step_.x(), y / step_.y(), z / step_.z())] != 0;
  }
  // Of the body, in voxels; empty if there is none.
  const Eigen::AlignedBox3i& Box() const { return box_; }

 private:
  using Cells = std::vector<uint8_t>;

  size_t Index(int x, int y, int z) const {
    return (static_cast<size_t>(z) * static_cast<size_t>(size_.y()) + static_cast<size_t>(y)) *
               static_cast<size_t>(size_.x()) +
           static_cast<size_t>(x);
  }
  size_t Index(const Eigen::Vector3i& c) const { return Index(c.x(), c.y(), c.z()); }
  bool Holds(const Eigen::Vector3i& c) const {
    return (c.array() >= 0).all() && (c.array() < size_.array()).all();
  }
  Cells FindTissue(const Volume& volume, double threshold) const;
  Cells FindBody(const Cells& tissue) const;
  Cells Erode(const Cells& cells) const;
  Cells GrowWithin(const Cells& cells, const Cells& limit) const;
  Cells KeepLargest(const Cells& cells) const;
  Cells FindLids(const Cells& body) const;
  void AddLids(const Cells& body, int axis, int at, Cells& lids) const;
  void CountHits(const Cells& body, const Cells& lids, const Eigen::Vector3i& direction,
                 std::vector<uint8_t>& counts) const;
  void FindEnclosed(const Cells& body);

  Eigen::Vector3i step_, size_;  // voxels a cell; cells
  Cells enclosed_;
  Eigen::AlignedBox3i box_;
};

}  // namespace lumen
