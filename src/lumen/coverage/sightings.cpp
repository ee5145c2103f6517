#include "lumen/coverage/sightings.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"

namespace lumen {

using Eigen::Vector3d;

namespace {

constexpr int64_t kPiecesAtOnce = 500;

double CosineOf(double degrees) { return std::cos(degrees * M_PI / 180); }

// Whether the picture shows a point of the camera's frame.
bool InPicture(const Eye& eye, const Vector3d& x) {
  const auto uv = eye.camera.Project(x);
  if (!uv) return false;
  const double u = uv->x() + 0.5, v = uv->y() + 0.5;  // from the picture's corner
  if (!(u >= 0 && v >= 0 && u < eye.camera.Width() && v < eye.camera.Height())) return false;
  if (eye.mask.Empty()) return true;
  const int mx = static_cast<int>(u * eye.mask.Width() / eye.camera.Width());
  const int my = static_cast<int>(v * eye.mask.Height() / eye.camera.Height());
  return eye.mask(mx, my) != 0;
}

// A frame's camera, ready to be asked about many pieces.
struct Glance {
  explicit Glance(const Rigid3& world_from_camera)
      : camera_from_world(world_from_camera.Inverse()), place(world_from_camera.Translation()) {}
  Rigid3 camera_from_world;
  Vector3d place;
};

bool IsBlocked(const WallPiece& piece, const TriangleTree& wall, const Vector3d& place, double slack) {
  constexpr double kOwn = 1e-6;  // of the distance: the piece does not hide itself
  return wall.Blocks(piece.middle, place, std::max(slack, kOwn * (place - piece.middle).norm()));
}

bool IsSeen(const WallPiece& piece, double least_cosine, const TriangleTree& wall, const Eye& eye,
            const Glance& glance, double slack, double& cosine) {
  const Vector3d sight = glance.place - piece.middle;
  cosine = piece.normal.dot(sight) / sight.norm();
  return cosine > least_cosine && InPicture(eye, glance.camera_from_world * piece.middle) &&
         !IsBlocked(piece, wall, glance.place, slack);
}

WallSighting FindWallSighting(const WallPiece& piece, const TriangleTree& wall, const Eye& eye,
                              const std::vector<Glance>& glances, const SightingOptions& options) {
  const double least_cosine = CosineOf(options.flattest_degrees);
  WallSighting sighting;
  for (const Glance& glance : glances) {
    double cosine = 0;
    if (!IsSeen(piece, 0, wall, eye, glance, options.slack, cosine)) continue;
    sighting.straightest = std::max(sighting.straightest, cosine);
    sighting.frames += cosine > least_cosine ? 1 : 0;
  }
  return sighting;
}

// Whether any frame sees it; asks first the one that saw the piece before, which is mostly beside it.
bool IsEverSeen(const WallPiece& piece, const TriangleTree& wall, const Eye& eye,
                const std::vector<Glance>& glances, const SightingOptions& options, size_t& first) {
  const double least_cosine = CosineOf(options.flattest_degrees);
  for (size_t k = 0; k < glances.size(); ++k) {
    const size_t at = (first + k) % glances.size();
    double cosine = 0;
    if (!IsSeen(piece, least_cosine, wall, eye, glances[at], options.slack, cosine)) continue;
    first = at;
    return true;
  }
  return false;
}

// A view's depth where it looks at a point, 0 where it has none or does not look.
double DepthTowards(const DepthView& view, const Vector3d& x_in_camera, int border) {
  const auto uv = view.camera.Project(x_in_camera);
  if (!uv) return 0;
  const int x = static_cast<int>(std::lround(uv->x())), y = static_cast<int>(std::lround(uv->y()));
  if (x < border || y < border || x >= view.depth.Width() - border || y >= view.depth.Height() - border)
    return 0;
  return static_cast<double>(view.depth(x, y));
}

void Ask(const DepthView& view, const Glance& glance, int index, const WallPiece& piece,
         const DepthSightingOptions& options, double least_cosine, DepthSighting& sighting) {
  const Vector3d x_in_camera = glance.camera_from_world * piece.middle;
  const double depth = DepthTowards(view, x_in_camera, options.border_pixels);
  if (!(depth > 0)) return;
  const double beyond = view.camera.Depth(x_in_camera) / depth - 1;  // of the piece, behind what is shown
  const Vector3d sight = glance.place - piece.middle;
  const double distance = sight.norm(), cosine = piece.normal.dot(sight) / distance;
  if (beyond > options.slack) ++sighting.hidden;
  if (beyond < -options.through) ++sighting.through;
  if (std::abs(beyond) >= options.slack) return;
  sighting.straightest = std::max(sighting.straightest, cosine);
  if (!(cosine > least_cosine)) return;
  ++sighting.views;
  if (distance >= sighting.nearest) return;
  sighting.nearest = distance;
  sighting.nearest_view = index;
}

}  // namespace

std::vector<WallPiece> PiecesOf(const TriangleMesh& mesh) {
  std::vector<WallPiece> pieces;
  pieces.reserve(mesh.triangles.size());
  for (const auto& triangle : mesh.triangles) {
    std::array<Vector3d, 3> corners;
    for (size_t k = 0; k < 3; ++k)
      corners[k] = mesh.vertices[static_cast<size_t>(triangle[k])].cast<double>();
    const Vector3d across = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    const double twice = across.norm();
    pieces.push_back({(corners[0] + corners[1] + corners[2]) / 3,
                      twice > 0 ? Vector3d(across / twice) : Vector3d::Zero(), 0.5 * twice});
  }
  return pieces;
}

std::vector<WallSighting> FindWallSightings(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                            const Eye& eye, const std::vector<Rigid3>& world_from_camera,
                                            const SightingOptions& options, int threads) {
  const std::vector<Glance> glances(world_from_camera.begin(), world_from_camera.end());
  std::vector<WallSighting> sightings(pieces.size());
  ParallelChunks(static_cast<int64_t>(pieces.size()), kPiecesAtOnce, threads,
                 [&](int64_t begin, int64_t end) {
                   for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
                     sightings[i] = FindWallSighting(pieces[i], wall, eye, glances, options);
                 });
  return sightings;
}

std::vector<char> FindSeenPieces(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                 const Eye& eye, const std::vector<Rigid3>& world_from_camera,
                                 const SightingOptions& options, int threads) {
  const std::vector<Glance> glances(world_from_camera.begin(), world_from_camera.end());
  std::vector<char> seen(pieces.size());
  ParallelChunks(static_cast<int64_t>(pieces.size()), kPiecesAtOnce, threads,
                 [&](int64_t begin, int64_t end) {
                   size_t first = 0;
                   for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
                     seen[i] = IsEverSeen(pieces[i], wall, eye, glances, options, first) ? 1 : 0;
                 });
  return seen;
}

std::vector<char> FindOpenPieces(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                 const std::vector<Vector3d>& places, const SightingOptions& options,
                                 int threads) {
  const double least_cosine = CosineOf(options.flattest_degrees);
  std::vector<char> open(pieces.size(), 0);
  ParallelChunks(static_cast<int64_t>(pieces.size()), kPiecesAtOnce, threads,
                 [&](int64_t begin, int64_t end) {
                   for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
                     open[i] = std::any_of(places.begin(), places.end(), [&](const Vector3d& place) {
                       const Vector3d sight = place - pieces[i].middle;
                       return pieces[i].normal.dot(sight) > least_cosine * sight.norm() &&
                              !IsBlocked(pieces[i], wall, place, options.slack);
                     });
                   }
                 });
  return open;
}

std::vector<DepthSighting> FindDepthSightings(const std::vector<WallPiece>& pieces, const ViewList& views,
                                              const DepthSightingOptions& options, int threads) {
  const double least_cosine = CosineOf(options.flattest_degrees);
  std::vector<DepthSighting> sightings(pieces.size());
  for (int i = 0; i < views.count; ++i) {
    const DepthView view = views.load(i);
    const Glance glance(view.world_from_camera);
    ParallelChunks(static_cast<int64_t>(pieces.size()), kPiecesAtOnce, threads,
                   [&](int64_t begin, int64_t end) {
                     for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k)
                       Ask(view, glance, i, pieces[k], options, least_cosine, sightings[k]);
                   });
  }
  return sightings;
}

double ChanceSeen(const DepthSighting& sighting, const WallSighting& by_rays, double off_degrees) {
  constexpr double kByRaysAlone = 0.3;  // what no depth map shows is rarely where the closed wall has it
  const auto degrees_of = [](double cosine) { return std::acos(std::clamp(cosine, 0.0, 1.0)) * 180 / M_PI; };
  const auto chance = [&](double degrees) {
    const double within = (kFlattestDegrees + off_degrees - degrees) / kReliefDegrees;
    return 0.5 * std::erfc(-within / std::sqrt(2.0));
  };
  const double by_maps = degrees_of(sighting.straightest), by_all = degrees_of(by_rays.straightest);
  if (sighting.straightest > 0) return chance(0.5 * (by_maps + std::min(by_maps, by_all)));
  return by_rays.straightest > 0 ? kByRaysAlone * chance(by_all) : 0;
}

}  // namespace lumen
