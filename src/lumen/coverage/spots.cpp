#include "lumen/coverage/spots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace lumen {

using Eigen::Vector3d;

namespace {

// Triangles on the other side of each edge.
using EdgeNeighbours = std::vector<std::array<int, 3>>;
EdgeNeighbours FindNeighbours(const TriangleMesh& mesh, const std::vector<char>& wanted) {
  EdgeNeighbours neighbours(mesh.triangles.size(), {-1, -1, -1});
  std::map<std::pair<int32_t, int32_t>, std::pair<int, int>> open;  // edge → triangle and its side
  for (size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (wanted[t] == 0) continue;
    for (int side = 0; side < 3; ++side) {
      const int32_t a = mesh.triangles[t][static_cast<size_t>(side)];
      const int32_t b = mesh.triangles[t][static_cast<size_t>((side + 1) % 3)];
      const auto [found, fresh] = open.try_emplace(std::minmax(a, b), static_cast<int>(t), side);
      if (fresh) continue;
      const auto [other, other_side] = found->second;
      neighbours[t][static_cast<size_t>(side)] = other;
      neighbours[static_cast<size_t>(other)][static_cast<size_t>(other_side)] = static_cast<int>(t);
    }
  }
  return neighbours;
}

double AreaOf(const std::vector<int>& spot, const std::vector<WallPiece>& pieces) {
  return std::accumulate(spot.begin(), spot.end(), 0.0, [&](double sum, int piece) {
    return sum + pieces[static_cast<size_t>(piece)].area;
  });
}

// The piece that is nearest to the middle of them all.
int MiddlePiece(const std::vector<int>& spot, const std::vector<WallPiece>& pieces) {
  Vector3d middle = Vector3d::Zero();
  double area = 0;
  for (const int i : spot) {
    middle += pieces[static_cast<size_t>(i)].area * pieces[static_cast<size_t>(i)].middle;
    area += pieces[static_cast<size_t>(i)].area;
  }
  middle /= std::max(area, 1e-300);
  return *std::min_element(spot.begin(), spot.end(), [&](int a, int b) {
    return (pieces[static_cast<size_t>(a)].middle - middle).squaredNorm() <
           (pieces[static_cast<size_t>(b)].middle - middle).squaredNorm();
  });
}

// The nearest frame from whose place it would be open to view, however the tip was turned; else the nearest.
const CoverageFrame* FrameToGoBackTo(const WallPiece& at, const TriangleTree& wall,
                                     const CoverageInput& input) {
  std::vector<const CoverageFrame*> frames;
  for (const CoverageFrame& frame : input.frames) frames.push_back(&frame);
  const auto distance = [&](const CoverageFrame* frame) {
    return (frame->world_from_camera.Translation() - at.middle).norm();
  };
  std::sort(frames.begin(), frames.end(),
            [&](const CoverageFrame* a, const CoverageFrame* b) { return distance(a) < distance(b); });
  const double least_cosine = std::cos(kFlattestDegrees * M_PI / 180);
  for (const CoverageFrame* frame : frames) {
    const Vector3d place = frame->world_from_camera.Translation();
    if (at.normal.dot(place - at.middle) < least_cosine * distance(frame)) continue;
    if (!wall.Blocks(at.middle, place, 0.05 * distance(frame))) return frame;
  }
  return frames.empty() ? nullptr : frames.front();
}

}  // namespace

std::vector<std::vector<int>> FindSpots(const TriangleMesh& mesh, const std::vector<WallPiece>& pieces,
                                        const std::vector<char>& wanted, double least_area) {
  const EdgeNeighbours neighbours = FindNeighbours(mesh, wanted);
  std::vector<char> known(mesh.triangles.size(), 0);
  std::vector<std::vector<int>> spots;
  for (size_t start = 0; start < known.size(); ++start) {
    if (wanted[start] == 0 || known[start] != 0) continue;
    std::vector<int> spot = {static_cast<int>(start)};
    known[start] = 1;
    for (size_t i = 0; i < spot.size(); ++i) {
      for (const int next : neighbours[static_cast<size_t>(spot[i])]) {
        if (next < 0 || known[static_cast<size_t>(next)] != 0) continue;
        known[static_cast<size_t>(next)] = 1;
        spot.push_back(next);
      }
    }
    if (AreaOf(spot, pieces) >= least_area) spots.push_back(std::move(spot));
  }
  std::stable_sort(spots.begin(), spots.end(), [&](const std::vector<int>& a, const std::vector<int>& b) {
    return AreaOf(a, pieces) > AreaOf(b, pieces);
  });
  return spots;
}

MissedSpot DescribeSpot(const std::vector<int>& spot, const std::vector<WallPiece>& pieces,
                        const std::vector<DepthSighting>& sightings,
                        const std::vector<std::optional<PlaceOnWay>>& places, const TriangleTree& wall,
                        const CoverageInput& input) {
  const auto middle = static_cast<size_t>(MiddlePiece(spot, pieces));
  MissedSpot missed;
  missed.way = places[middle]->way;
  missed.along = static_cast<double>(places[middle]->place.s);
  missed.area = AreaOf(spot, pieces);
  missed.middle = pieces[middle].middle;
  double hidden = 0;
  for (const int i : spot) {
    const auto k = static_cast<size_t>(i);
    hidden += sightings[k].hidden > 0 ? pieces[k].area : 0;
    missed.extent = std::max(missed.extent, 2 * (pieces[k].middle - missed.middle).norm());
  }
  missed.behind_fold = hidden > 0.5 * missed.area;
  if (const CoverageFrame* frame = FrameToGoBackTo(pieces[middle], wall, input)) {
    missed.frame = frame->frame;
    missed.time = frame->time;
    const Vector3d x = frame->world_from_camera.Inverse() * missed.middle;
    const auto hour = static_cast<int>(std::lround(std::atan2(x.x(), -x.y()) * 6 / M_PI));
    missed.clock = (hour + 11) % 12 + 1;
    missed.is_ahead = x.z() > 0;
  }
  return missed;
}

}  // namespace lumen
