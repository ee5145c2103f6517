// Points of a run that parallax alone places: corners found again in several keyframes, put where their rays
// meet. Unlike the fused surface they do not take the networks' word for any depth.
#pragma once

#include "lumen/io/run_folder.h"
#include "lumen/io/scene_export.h"
#include "lumen/scene/map.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {

// As RegisterSurface takes them, in the map's frame: each with the surface's normal near by, the mean place
// it was seen from, and 1 / σ of where it lies across the wall as its weight. `pixel`: σ of a sighting.
// Points far from any wall, or whose rays hardly cross, are left out.
SurfacePoints PointsOnSurface(const ExportedScene& scene, double pixel, const TriangleMesh& surface);

// From the pictures that a map's keyframes keep; none where the view is no pinhole.
SurfacePoints MeasureMapPoints(const MapSnapshot& map, int submap, const TriangleMesh& surface, int threads);

// From the pictures in the run's folder; none where it has none.
SurfacePoints MeasureRunPoints(const RunFolder& run, const TriangleMesh& surface);

}  // namespace lumen
