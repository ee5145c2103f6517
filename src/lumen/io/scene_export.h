// A placed set of pictures with points, as other tools take it: COLMAP's model in text, nerfstudio's
// transforms.json. Pixels are ours inside (centres at whole numbers); both formats put them at .5.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"

namespace lumen {

struct ExportedPixel {
  Eigen::Vector2d pixel{0, 0};
  int point = -1;  // index into the points
};

struct ExportedImage {
  std::string name;  // "000042.png"
  Rigid3 world_from_camera;
  std::vector<ExportedPixel> pixels;
  bool has_depth = false;  // a map of the same name in depth/
};

struct ExportedSighting {
  int image = 0, pixel = 0;  // indices into the images and their pixels
};

struct ExportedPoint {
  Eigen::Vector3d position{0, 0, 0};
  std::array<uint8_t, 3> colour{};
  double error = 0;  // pixels, mean over the sightings
  std::vector<ExportedSighting> sightings;
};

struct ExportedScene {
  Camera camera;  // a pinhole, of all images
  std::vector<ExportedImage> images;
  std::vector<ExportedPoint> points;
  bool has_mask = false;  // mask.png: white where all images show something
};

// FOLDER/sparse/0/cameras.txt, images.txt, points3D.txt. Images and points are counted from 1.
void SaveColmapScene(const std::filesystem::path& folder, const ExportedScene& scene);
// FOLDER/transforms.json, with images/, depth/ and points.ply by name. Its cameras look along -z, y up.
void SaveNerfstudioScene(const std::filesystem::path& folder, const ExportedScene& scene);
// The points, coloured, without triangles.
void SaveScenePoints(const std::filesystem::path& path, const ExportedScene& scene);

}  // namespace lumen
