// Structure from motion by COLMAP, read from its text (cameras.txt, images.txt, points3D.txt) or its binary
// files (.bin): the camera, and of every image that it could place where it stands and which points it sees
// how far away. Pixels are ours: centres at whole numbers, COLMAP's lie at .5.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/image/image.h"
#include "lumen/io/sparse_depth.h"

namespace lumen {

struct ColmapView {
  std::string name;  // of the image, relative to the folder COLMAP was given
  Rigid3 world_from_camera;
  std::vector<SparsePoint> points;  // before the camera
};

struct ColmapModel {
  std::filesystem::path folder;
  Camera camera;
  std::vector<ColmapView> views;  // in COLMAP's order
};

// `folder` holds the model, or models in folders called 0, 1, …: then the one with the most images, or
// `submodel`. Throws InputError for files that are cut short or make no sense, for images of different
// cameras, and for a model without a point before any camera.
ColmapModel LoadColmapModel(const std::filesystem::path& folder, int submodel = -1);

// A depth map as COLMAP's stereo writes it (NAME.geometric.bin): along the optical axis, 0 = unknown.
DepthImage LoadColmapDepthMap(const std::filesystem::path& path);

}  // namespace lumen
