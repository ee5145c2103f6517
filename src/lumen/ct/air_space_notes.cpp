#include "lumen/ct/air_space_notes.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>

#include "lumen/base/text.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

std::string Millilitres(double ml) {
  return StrCat(ml < 10 ? std::round(10 * ml) / 10 : std::round(ml), " ml");
}

const char* Third(double share, const char* low, const char* middle, const char* high) {
  return share < 0.38 ? low : share > 0.62 ? high : middle;
}

// Parts that hang together only by what is two voxels thin.
void NoteNarrows(const Volume& volume, const VoxelMask& mask, int threads, AirSpace& space) {
  constexpr double kLeastShare = 0.15, kLeastMl = 1;
  const double ml = MlPerVoxel(volume);
  int64_t whole = 0;
  std::string parts;
  int count = 0;
  const std::vector<AirPart> inner = FindMaskParts(ErodeMask(mask), 10, threads);
  for (const AirPart& part : inner) whole += part.voxels;
  for (const AirPart& part : inner) {
    const auto voxels = static_cast<double>(part.voxels);
    if (voxels < kLeastShare * static_cast<double>(whole) || voxels * ml < kLeastMl) continue;
    parts += (count++ > 0 ? ", " : "") + Millilitres(voxels * ml);
  }
  if (count > 1)
    space.notes.push_back(StrCat("holds together only where it is two voxels thin (inner parts of ", parts,
                                 "): a thin wall may have been lost there"));
}

// Fluid lies flat, below the air: a level is a good part of the wall, all at one height and all level, which
// no tissue is.
void NoteFluid(AirSpace& space) {
  constexpr double kLevel = 0.996, kBin = 0.3;  // cosine; mm
  constexpr double kLeastArea = 100, kLeastShare = 0.013;
  std::map<std::pair<int, int>, double> area;  // by which way is down, and height
  for (const auto& triangle : space.wall.triangles) {
    const Vector3f& a = space.wall.vertices[static_cast<size_t>(triangle[0])];
    const Vector3f& b = space.wall.vertices[static_cast<size_t>(triangle[1])];
    const Vector3f& c = space.wall.vertices[static_cast<size_t>(triangle[2])];
    const Vector3d n = 0.5 * (b - a).cross(c - a).cast<double>();
    if (std::abs(n.y()) < kLevel * n.norm() || !(n.norm() > 0)) continue;
    const int bin = static_cast<int>(std::floor(static_cast<double>(a.y() + b.y() + c.y()) / 3 / kBin));
    area[{n.y() < 0 ? 1 : -1, bin}] += n.norm();
  }
  double most = 0;
  int down = 1;
  for (const auto& [key, value] : area) {
    const auto next = area.find({key.first, key.second + 1});
    const double sum = value + (next == area.end() ? 0 : next->second);
    if (sum <= most) continue;
    most = sum;
    down = key.first;
  }
  if (most < kLeastArea || most < kLeastShare * 100 * space.area_cm2) return;
  space.notes.push_back(StrCat("a fluid level of ", std::round(most / 10) / 10, " cm2 towards ",
                               down > 0 ? "the back" : "the front",
                               ": what lies below it is not in the model"));
}

double LeastDistance(const AirSpace& from, const TriangleTree& to, double reach) {
  double least = reach;
  const size_t step = from.wall.vertices.size() / 20000 + 1;
  for (size_t i = 0; i < from.wall.vertices.size(); i += step)
    if (const auto hit = to.FindNearest(from.wall.vertices[i].cast<double>(), least))
      least = std::sqrt(hit->cost);
  return least;
}

}  // namespace

std::string PlaceInBody(const Volume& volume, const Eigen::AlignedBox3i& body,
                        const Eigen::AlignedBox3d& box) {
  if (body.isEmpty()) return "";
  Eigen::AlignedBox3d whole;
  for (int corner = 0; corner < 8; ++corner) {
    const Vector3i c = body.corner(static_cast<Eigen::AlignedBox3i::CornerType>(corner));
    whole.extend((volume.lps_from_index * c.cast<double>().homogeneous()).head<3>());
  }
  const Vector3d share = (box.center() - whole.min()).cwiseQuotient(whole.sizes().cwiseMax(1e-9));
  return StrCat(Third(share.y(), "front", "middle", "back"), ", ",
                Third(share.x(), "right", "in the midline", "left"), ", ",
                Third(share.z(), "lower", "middle height", "upper"));
}

void MeasureOpenings(const Volume& volume, double threshold, const AirPart& part, const VoxelMask& mask,
                     AirSpace& space) {
  const Eigen::Matrix3d axes = volume.lps_from_index.topLeftCorner<3, 3>();
  double open = 0, cut = 0;
  const auto look = [&](int x, int y, int z, int axis, int step) {
    const double face = axes.col((axis + 1) % 3).cross(axes.col((axis + 2) % 3)).norm();
    Vector3i next(x, y, z);
    next[axis] += step;
    if (next[axis] < 0 || next[axis] >= volume.size[axis]) {
      cut += face;
      return;
    }
    const Vector3i local = next - mask.first;
    if (mask.marks[mask.Index(local.x(), local.y(), local.z())] == 0 &&
        volume.At(next.x(), next.y(), next.z()) < threshold)
      open += face;
  };
  for (const AirRun& run : part.runs) {
    for (int x = run.x; x < run.x + run.length; ++x)
      for (int axis = 1; axis < 3; ++axis)
        for (const int step : {-1, 1}) look(x, run.y, run.z, axis, step);
    look(run.x, run.y, run.z, 0, -1);
    look(run.x + run.length - 1, run.y, run.z, 0, 1);
  }
  space.open_cm2 = open / 100;
  space.cut_cm2 = cut / 100;
}

double WidestBall(const Volume& volume, const VoxelMask& mask) {
  // Two sweeps of a chamfer distance: steps to the six neighbours and the corners.
  std::vector<float> distance(mask.marks.size());
  for (size_t i = 0; i < distance.size(); ++i) distance[i] = mask.marks[i] != 0 ? 1e9F : 0;
  struct Step {
    int x, y, z;
    float length;
  };
  std::vector<Step> steps;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        if (z < 0 || (z == 0 && (y < 0 || (y == 0 && x < 0))))
          steps.push_back(
              {x, y, z,
               static_cast<float>((volume.lps_from_index.topLeftCorner<3, 3>() * Vector3d(x, y, z)).norm())});
  float most = 0;
  const auto sweep = [&](bool forward) {
    const int count = static_cast<int>(mask.marks.size());
    for (int k = 0; k < count; ++k) {
      const int i = forward ? k : count - 1 - k;
      float& here = distance[static_cast<size_t>(i)];
      if (here <= 0) continue;
      const int x = i % mask.size.x(), y = i / mask.size.x() % mask.size.y(),
                z = i / mask.size.x() / mask.size.y();
      const int sign = forward ? 1 : -1;
      for (const Step& step : steps) {
        const int a = x + sign * step.x, b = y + sign * step.y, c = z + sign * step.z;
        // Where the volume ends the space may go on.
        if (mask.Holds(a, b, c)) here = std::min(here, distance[mask.Index(a, b, c)] + step.length);
      }
      if (!forward) most = std::max(most, here);
    }
  };
  sweep(true);
  sweep(false);
  return most < 1e8F ? 2.0 * static_cast<double>(most) : 0;
}

void AddNotes(const Volume& volume, const VoxelMask& mask, int threads, AirSpace& space) {
  constexpr double kLeastCut = 0.2;  // cm²
  if (space.cut_cm2 > kLeastCut) space.notes.emplace_back("the volume ends within it");
  NoteNarrows(volume, mask, threads, space);
  NoteFluid(space);
}

void NoteNeighbours(std::vector<AirSpace>& spaces) {
  constexpr double kNear = 6, kLeastMl = 2;  // mm
  for (size_t i = 0; i < spaces.size(); ++i) {
    if (spaces[i].kind == AirSpaceKind::kLungs || spaces[i].volume_ml < kLeastMl) continue;
    std::optional<TriangleTree> tree;
    for (size_t k = i + 1; k < spaces.size(); ++k) {
      if (spaces[k].kind == AirSpaceKind::kLungs || spaces[k].volume_ml < kLeastMl ||
          spaces[i].box.exteriorDistance(spaces[k].box) > kNear)
        continue;
      if (!tree) tree.emplace(spaces[i].wall);
      const double distance = LeastDistance(spaces[k], *tree, kNear);
      if (distance >= kNear) continue;
      const auto note = [&](AirSpace& space, int other) {
        space.notes.push_back(StrCat("only ", std::round(10 * distance) / 10, " mm from number ", other,
                                     ": one organ, if it collapsed or is filled between"));
      };
      note(spaces[i], spaces[k].number);
      note(spaces[k], spaces[i].number);
    }
  }
}

}  // namespace lumen
