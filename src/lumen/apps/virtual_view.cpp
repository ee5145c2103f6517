#include "lumen/apps/virtual_view.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/image/resize.h"
#include "lumen/io/image_file.h"
#include "lumen/io/run_keyframes.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

constexpr size_t kPairs = 4;
constexpr int kPairWidth = 320, kPairGap = 6;

// Light to a pixel: bright places saturate softly, towards the lamp's white; the wet film shines where it
// faces the lamp.
std::array<uint8_t, 3> TissueColor(float light, float shine) {
  static const Vector3f kTissue(1.0F, 0.29F, 0.23F);
  std::array<uint8_t, 3> rgb{};
  for (int c = 0; c < 3; ++c) {
    const float linear = 1 - std::exp(-light * (kTissue[c] + shine));
    rgb[static_cast<size_t>(c)] = static_cast<uint8_t>(std::lround(255 * std::pow(linear, 1 / 2.2F)));
  }
  return rgb;
}

// What makes the mean of the lit part as bright as an automatic exposure would.
float Exposure(const Image<float>& light) {
  constexpr float kTarget = 0.6F, kBrightest = 0.95F;
  std::vector<float> lit;
  for (size_t i = 0; i < light.Size(); ++i)
    if (light.Data()[i] > 0) lit.push_back(light.Data()[i]);
  if (lit.empty()) return 1;
  const auto bright =
      lit.begin() + static_cast<std::ptrdiff_t>(kBrightest * static_cast<float>(lit.size() - 1));
  std::nth_element(lit.begin(), bright, lit.end());
  double sum = 0;
  for (const float value : lit) sum += std::min(value, *bright);
  return kTarget * static_cast<float>(static_cast<double>(lit.size()) / sum);
}

}  // namespace

VirtualView::VirtualView(const TriangleMesh& wall, const TriangleTree& tree)
    : wall_(wall), tree_(tree), normals_(ComputeVertexNormals(wall)) {}

// Between the corners' normals: a wall of a millimetre's triangles shall not look cut from paper.
Vector3f VirtualView::NormalAt(const SurfaceHit& hit) const {
  const auto& triangle = wall_.triangles[static_cast<size_t>(hit.triangle)];
  std::array<Vector3f, 3> corners;
  for (size_t i = 0; i < 3; ++i) corners[i] = wall_.vertices[static_cast<size_t>(triangle[i])];
  const Vector3f p = hit.point.cast<float>(),
                 whole = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
  const float area = whole.squaredNorm();
  if (!(area > 0)) return hit.normal.cast<float>();
  const float b = whole.dot((p - corners[0]).cross(corners[2] - corners[0])) / area;
  const float c = whole.dot((corners[1] - corners[0]).cross(p - corners[0])) / area;
  const auto normal = [&](size_t i) { return normals_[static_cast<size_t>(triangle[i])]; };
  const Vector3f mean = (1 - b - c) * normal(0) + b * normal(1) + c * normal(2);
  return mean.norm() > 0.1F ? mean.normalized() : hit.normal.cast<float>();
}

RgbImage VirtualView::Render(const Camera& camera, const Rigid3& ct_from_camera, int threads) const {
  Image<float> light(camera.Width(), camera.Height(), 1, 0.0F), shine = light;
  const Vector3d eye = ct_from_camera.Translation(), axis = ct_from_camera.Rotation() * Vector3d::UnitZ();
  ParallelFor(camera.Height(), threads, [&](int64_t row) {
    const auto y = static_cast<int>(row);
    for (int x = 0; x < camera.Width(); ++x) {
      const auto ray = camera.Unproject({x, y});
      if (!ray) continue;
      const Vector3d direction = ct_from_camera.Rotation() * *ray;
      const auto hit = tree_.FindFirstFace(eye, direction);
      if (!hit) continue;
      // The lamp sits beside the lens: what faces it is bright, and what is far is dark.
      constexpr double kNearest = 1;  // mm
      constexpr double kOfAllAround = 0.12;
      const double distance = std::max(kNearest, std::sqrt(hit->cost));
      const double facing = std::abs(NormalAt(*hit).cast<double>().dot(direction));
      constexpr double kSharpness = 90, kShine = 0.5;
      shine(x, y) = static_cast<float>(kShine * std::pow(facing, kSharpness));
      const double cone = std::max(0.15, axis.dot(direction));
      light(x, y) =
          static_cast<float>(cone * (kOfAllAround + (1 - kOfAllAround) * facing) / (distance * distance));
    }
  });
  const float exposure = Exposure(light);
  RgbImage image(camera.Width(), camera.Height(), 3, 0);
  for (int y = 0; y < camera.Height(); ++y)
    for (int x = 0; x < camera.Width(); ++x) {
      if (!(light(x, y) > 0)) continue;
      const auto rgb = TissueColor(exposure * light(x, y), shine(x, y));
      for (int c = 0; c < 3; ++c) image(x, y, c) = rgb[static_cast<size_t>(c)];
    }
  return image;
}

namespace {

// Keyframes with pictures, spread evenly over the run.
std::vector<RunKeyframe> ChooseKeyframes(const RunFolder& run) {
  std::vector<RunKeyframe> all = ListRunKeyframes(run), chosen;
  std::erase_if(all, [](const RunKeyframe& keyframe) { return keyframe.image.empty(); });
  const size_t count = std::min(kPairs, all.size());
  for (size_t i = 0; i < count; ++i) chosen.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  return chosen;
}

// What is black in every picture lies outside the endoscope's field.
void HideOutside(const std::vector<RgbImage>& pictures, RgbImage& image) {
  constexpr uint8_t kBlack = 10;
  for (int y = 0; y < image.Height(); ++y)
    for (int x = 0; x < image.Width(); ++x) {
      const bool black = std::all_of(pictures.begin(), pictures.end(), [&](const RgbImage& picture) {
        return std::max({picture(x, y, 0), picture(x, y, 1), picture(x, y, 2)}) < kBlack;
      });
      if (black) std::fill_n(image.Pixel(x, y), 3, uint8_t{0});
    }
}

void PutPicture(const RgbImage& picture, int left, int top, RgbImage& sheet) {
  for (int y = 0; y < picture.Height(); ++y)
    std::copy_n(picture.Row(y), 3 * static_cast<size_t>(picture.Width()), sheet.Pixel(left, top + y));
}

}  // namespace

RgbImage DrawSideBySide(const RunFolder& run, const Sim3& ct_from_map, const VirtualView& view, int threads) {
  if (!run.depth_camera) return {};
  const std::vector<RunKeyframe> keyframes = ChooseKeyframes(run);
  if (keyframes.empty()) return {};
  const int height = kPairWidth * run.depth_camera->Height() / run.depth_camera->Width();
  const Camera camera = run.depth_camera->Resized(kPairWidth, height);
  std::vector<RgbImage> pictures;
  for (const RunKeyframe& keyframe : keyframes)
    pictures.push_back(ResizeArea(LoadRgb(keyframe.image).View(), kPairWidth, height));
  const int count = static_cast<int>(pictures.size());
  RgbImage sheet(count * (kPairWidth + kPairGap) + kPairGap, 2 * (height + kPairGap) + kPairGap, 3, 32);
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(i);
    RgbImage virtual_picture =
        view.Render(camera, ct_from_map.TransformPose(keyframes[k].world_from_camera), threads);
    HideOutside(pictures, virtual_picture);
    const int left = kPairGap + i * (kPairWidth + kPairGap);
    PutPicture(pictures[k], left, kPairGap, sheet);
    PutPicture(virtual_picture, left, 2 * kPairGap + height, sheet);
  }
  return sheet;
}

}  // namespace lumen
