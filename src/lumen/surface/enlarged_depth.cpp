#include "lumen/surface/enlarged_depth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "lumen/image/resize.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

namespace {

// A piece of a plane: in inverse depth, planes are linear over a pinhole's picture.
struct Facet {
  float value = 0;  // 1 / depth; 0: unknown
  float by_x = 0, by_y = 0;
  float clean = 1;  // less where an edge runs through it
};

// The smaller of two slopes, none where they disagree: beside an edge, that of the pixel's own side.
float SmallerSlope(float before, float after) {
  if (before * after <= 0) return 0;
  return std::abs(before) < std::abs(after) ? before : after;
}

Image<Facet> FacetsOf(const DepthImage& depth) {
  constexpr float kBend = 0.05F;  // of the inverse depth, as a share of it, that halves a facet's weight
  const auto value = [&](int x, int y) {
    return depth.Contains(x, y) && depth(x, y) > 0 ? 1 / depth(x, y) : 0.0F;
  };
  Image<Facet> facets(depth.Width(), depth.Height());
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      Facet& facet = facets(x, y);
      facet.value = value(x, y);
      if (facet.value <= 0) continue;
      float bend = 0;
      const auto slope = [&](float before, float after) {
        if (before <= 0 || after <= 0) return 0.0F;
        bend = std::max(bend, std::abs(before + after - 2 * facet.value) / facet.value);
        return SmallerSlope(facet.value - before, after - facet.value);
      };
      facet.by_x = slope(value(x - 1, y), value(x + 1, y));
      facet.by_y = slope(value(x, y - 1), value(x, y + 1));
      facet.clean = 1 / (1 + bend * bend / (kBend * kBend));
    }
  }
  return facets;
}

// How much a coarse pixel counts by how bright it is, for each brightness of the fine one.
using Likeness = std::array<std::array<float, 256>, 256>;

const Likeness& LikenessTable() {
  constexpr double kChange = 0.15;  // share of the brightness
  constexpr double kLeast = 6;      // levels that are added to it, for noise
  static const auto table = [] {
    auto likeness = std::make_unique<Likeness>();
    for (int fine = 0; fine < 256; ++fine) {
      for (int coarse = 0; coarse < 256; ++coarse) {
        const double change = (fine - coarse) / (kChange * (fine + kLeast));
        (*likeness)[static_cast<size_t>(fine)][static_cast<size_t>(coarse)] =
            static_cast<float>(std::exp(-0.5 * change * change));
      }
    }
    return likeness;
  }();
  return *table;
}

constexpr int kAround = 2;  // coarse pixels either way
constexpr int kSide = 2 * kAround + 1;

// The coarse pixels around a fine one along one axis: how far off each is, and how much it counts for that.
struct Neighbours {
  int nearest = 0;
  std::array<float, kSide> off{}, weight{};
};

std::vector<Neighbours> NeighboursAlong(int fine, int coarse) {
  constexpr double kReach = 0.8;  // coarse pixels, as a Gaussian
  std::vector<Neighbours> all(static_cast<size_t>(fine));
  for (int x = 0; x < fine; ++x) {
    const double u = (x + 0.5) * coarse / fine - 0.5;
    Neighbours& here = all[static_cast<size_t>(x)];
    here.nearest = std::clamp(static_cast<int>(std::lround(u)), 0, coarse - 1);
    for (int k = 0; k < kSide; ++k) {
      const double off = (u - (here.nearest + k - kAround)) / kReach;
      here.off[static_cast<size_t>(k)] = static_cast<float>(off * kReach);
      here.weight[static_cast<size_t>(k)] = static_cast<float>(std::exp(-0.5 * off * off));
    }
  }
  return all;
}

}  // namespace

DepthImage EnlargeDepth(const DepthImage& coarse, ImageView<const uint8_t> guide) {
  constexpr float kLeast = 1e-9F;  // weight
  const Image<uint8_t> coarse_guide = ResizeArea(guide, coarse.Width(), coarse.Height());
  const Image<Facet> facets = FacetsOf(coarse);
  const Likeness& likeness = LikenessTable();
  DepthImage fine(guide.Width(), guide.Height());
  const std::vector<Neighbours> columns = NeighboursAlong(fine.Width(), coarse.Width());
  const std::vector<Neighbours> rows = NeighboursAlong(fine.Height(), coarse.Height());
  std::vector<Said> said;
  for (int y = 0; y < fine.Height(); ++y) {
    const Neighbours& row = rows[static_cast<size_t>(y)];
    for (int x = 0; x < fine.Width(); ++x) {
      const Neighbours& column = columns[static_cast<size_t>(x)];
      if (!(coarse(column.nearest, row.nearest) > 0)) continue;
      const std::array<float, 256>& like = likeness[guide(x, y)];
      said.clear();
      for (size_t j = 0; j < kSide; ++j) {
        for (size_t i = 0; i < kSide; ++i) {
          const int u = column.nearest + static_cast<int>(i) - kAround;
          const int v = row.nearest + static_cast<int>(j) - kAround;
          if (!facets.Contains(u, v) || facets(u, v).value <= 0) continue;
          const Facet& facet = facets(u, v);
          const float value = facet.value + facet.by_x * column.off[i] + facet.by_y * row.off[j];
          const float weight = facet.clean * column.weight[i] * row.weight[j] * like[coarse_guide(u, v)];
          said.push_back({std::max(0.5F * facet.value, value), weight + kLeast});
        }
      }
      fine(x, y) = 1 / WeightedMiddle(said);
    }
  }
  return fine;
}

}  // namespace lumen
