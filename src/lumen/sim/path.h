// Camera paths like a hand's: in along a route, looking about, out again; smooth, with tremor, never
// through the wall. Speeds follow what was measured on tracked scopes at 30 frames a second.
#pragma once

#include <string>
#include <vector>

#include "lumen/geometry/rigid3.h"
#include "lumen/sim/anatomy.h"

namespace lumen {

enum class PathKind {
  kInsertion,         // inwards all the way
  kInsertionRetreat,  // in, and out the same way: the loop every examination has
  kHover,             // nearly still, looking about
  kExplore,           // inwards with stops and steps back, looking about more
  kRevisit            // in, out, a wait near the entrance, in again
};

const std::vector<std::string>& PathNames();
std::string PathName(PathKind kind);
// Throws InputError, with the nearest name, for a name that is none.
PathKind ParsePathKind(const std::string& name);

struct PathOptions {
  PathKind kind = PathKind::kInsertionRetreat;
  int frames = 300;
  double fps = 30;
  double speed = 0;  // median mm per frame at 30 fps; 0 = usual for the anatomy
  int loops = 1;     // times in and out, at least (insertion-retreat); more where the way is too short
  int route = 0;     // which of the anatomy's routes, modulo their number
  uint64_t seed = 0;
};

// Camera-to-world per frame. Throws InputError for options that make no sense.
std::vector<Rigid3> MakePath(const Anatomy& anatomy, const PathOptions& options);

struct PathStatistics {
  double median_mm = 0, p95_mm = 0;    // motion per frame
  double median_deg = 0, p95_deg = 0;  // rotation per frame
  double length_mm = 0;
};
PathStatistics ComputePathStatistics(const std::vector<Rigid3>& world_from_camera);

}  // namespace lumen
