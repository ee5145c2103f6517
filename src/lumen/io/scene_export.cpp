#include "lumen/io/scene_export.h"

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::string Numbers(std::initializer_list<double> values) {
  std::string text;
  for (const double value : values) text += StrCat(text.empty() ? "" : " ", FormatDouble(value));
  return text;
}

const PinholeCamera& PinholeOf(const ExportedScene& scene) {
  LUMEN_CHECK(scene.camera.AsPinhole() != nullptr, "an export's pictures are undistorted");
  return *scene.camera.AsPinhole();
}

std::string FormatImages(const ExportedScene& scene) {
  std::string text = "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, then POINTS2D as X Y POINT3D_ID\n";
  for (size_t i = 0; i < scene.images.size(); ++i) {
    const ExportedImage& image = scene.images[i];
    const Rigid3 pose = image.world_from_camera.Inverse();
    const Eigen::Quaterniond& q = pose.Rotation();
    const Eigen::Vector3d& t = pose.Translation();
    text += StrCat(i + 1, " ", Numbers({q.w(), q.x(), q.y(), q.z(), t.x(), t.y(), t.z()}), " 1 ", image.name,
                   "\n");
    std::string pixels;
    for (const ExportedPixel& seen : image.pixels) {
      char entry[80];
      std::snprintf(entry, sizeof(entry), "%s%.4f %.4f %d", pixels.empty() ? "" : " ", seen.pixel.x() + 0.5,
                    seen.pixel.y() + 0.5, seen.point + 1);
      pixels += entry;
    }
    text += pixels + "\n";
  }
  return text;
}

std::string FormatPoints(const ExportedScene& scene) {
  std::string text = "# POINT3D_ID X Y Z R G B ERROR TRACK as IMAGE_ID POINT2D_IDX\n";
  for (size_t i = 0; i < scene.points.size(); ++i) {
    const ExportedPoint& point = scene.points[i];
    text += StrCat(i + 1, " ", Numbers({point.position.x(), point.position.y(), point.position.z()}));
    for (const uint8_t channel : point.colour) text += StrCat(" ", static_cast<int>(channel));
    text += StrCat(" ", FormatDouble(point.error));
    for (const ExportedSighting& sighting : point.sightings)
      text += StrCat(" ", sighting.image + 1, " ", sighting.pixel);
    text += "\n";
  }
  return text;
}

// Camera to world; OpenGL's camera looks backwards along its z, and its y points up.
Json TransformMatrix(const Rigid3& world_from_camera) {
  const Eigen::Matrix4d matrix =
      world_from_camera.Matrix() * Eigen::Vector4d(1, -1, -1, 1).asDiagonal().toDenseMatrix();
  Json rows = Json::MakeArray();
  for (int y = 0; y < 4; ++y) {
    Json row = Json::MakeArray();
    for (int x = 0; x < 4; ++x) row.Append(matrix(y, x));
    rows.Append(row);
  }
  return rows;
}

}  // namespace

void SaveColmapScene(const fs::path& folder, const ExportedScene& scene) {
  const PinholeCamera& k = PinholeOf(scene);
  const fs::path model = folder / "sparse" / "0";
  MakeDirectories(model);
  WriteFileAtomically(model / "cameras.txt",
                      StrCat("1 PINHOLE ", scene.camera.Width(), " ", scene.camera.Height(), " ",
                             Numbers({k.fx, k.fy, k.cx + 0.5, k.cy + 0.5}), "\n"));
  WriteFileAtomically(model / "images.txt", FormatImages(scene));
  WriteFileAtomically(model / "points3D.txt", FormatPoints(scene));
}

void SaveNerfstudioScene(const fs::path& folder, const ExportedScene& scene) {
  const PinholeCamera& k = PinholeOf(scene);
  Json json = Json::MakeObject();
  json["camera_model"] = "OPENCV";
  json["w"] = scene.camera.Width();
  json["h"] = scene.camera.Height();
  json["fl_x"] = k.fx;
  json["fl_y"] = k.fy;
  json["cx"] = k.cx + 0.5;
  json["cy"] = k.cy + 0.5;
  for (const char* key : {"k1", "k2", "p1", "p2"}) json[key] = 0.0;
  json["ply_file_path"] = "points.ply";
  json["frames"] = Json::MakeArray();
  for (const ExportedImage& image : scene.images) {
    Json frame = Json::MakeObject();
    frame["file_path"] = "images/" + image.name;
    if (scene.has_mask) frame["mask_path"] = "mask.png";
    if (image.has_depth) frame["depth_file_path"] = "depth/" + image.name;
    frame["transform_matrix"] = TransformMatrix(image.world_from_camera);
    json["frames"].Append(frame);
  }
  MakeDirectories(folder);
  WriteFileAtomically(folder / "transforms.json", json.Dump(2) + "\n");
  SaveScenePoints(folder / "points.ply", scene);
}

void SaveScenePoints(const fs::path& path, const ExportedScene& scene) {
  TriangleMesh cloud;
  for (const ExportedPoint& point : scene.points) {
    cloud.vertices.push_back(point.position.cast<float>());
    cloud.colors.push_back({point.colour[0], point.colour[1], point.colour[2]});
  }
  SaveMesh(path, cloud);
}

}  // namespace lumen
