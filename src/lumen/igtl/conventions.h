// How OpenIGTLink tells places and times.
#pragma once

#include "lumen/geometry/rigid3.h"
#include "lumen/scene/mesh.h"

namespace lumen {

// LPS (x left, y back, z up) and RAS differ by half a turn about z. It turns the space alone: the camera's
// own axes stay x right, y down, z forward.
Rigid3 RasFromLps(const Rigid3& lps_from_camera);
TriangleMesh RasFromLps(TriangleMesh mesh);

// Seconds since 1970.
double LinkNow();
// A frame's own time where that is one of a clock (after 2001), else now: the time of a recording starts
// anywhere, and would be taken for 1970.
double LinkTime(double frame_time);

}  // namespace lumen
