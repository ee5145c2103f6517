#include "lumen/apps/turntable.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "lumen/base/parallel.h"

namespace lumen {

namespace {

constexpr float kDistance = 3.2F;  // of the eye, in radii of the object
constexpr float kAmbient = 0.3F;

// The object centred, its longest direction along x, its size about 1.
struct Stage {
  std::vector<Eigen::Vector3f> points;
  std::vector<Eigen::Vector3f> colors;
};

Stage PutOnStage(const TriangleMesh& mesh) {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (const Eigen::Vector3f& point : mesh.vertices) mean += point.cast<double>();
  mean /= static_cast<double>(mesh.vertices.size());
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  for (const Eigen::Vector3f& point : mesh.vertices) {
    const Eigen::Vector3d d = point.cast<double>() - mean;
    spread += d * d.transpose();
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(spread);
  Eigen::Matrix3d axes;  // rows: longest, middle, shortest
  axes.row(0) = solver.eigenvectors().col(2).transpose();
  axes.row(1) = solver.eigenvectors().col(1).transpose();
  axes.row(2) = axes.row(0).cross(axes.row(1));
  Stage stage;
  std::vector<float> radii;
  for (const Eigen::Vector3f& point : mesh.vertices) {
    stage.points.emplace_back((axes * (point.cast<double>() - mean)).cast<float>());
    radii.push_back(stage.points.back().norm());
  }
  // A few points far out (a wrong depth) shall not make all the rest small.
  const auto most = radii.begin() + static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(radii.size() - 1));
  std::nth_element(radii.begin(), most, radii.end());
  const float scale = *most > 0 ? 1 / *most : 1;
  for (Eigen::Vector3f& point : stage.points) point *= scale;
  for (size_t i = 0; i < stage.points.size(); ++i) {
    const auto color = mesh.colors.empty() ? std::array<uint8_t, 3>{205, 150, 140} : mesh.colors[i];
    // An endoscope's light falls off quickly; what it left dark is lifted.
    const auto lift = [](uint8_t value) { return 255 * std::pow(static_cast<float>(value) / 255, 0.75F); };
    stage.colors.emplace_back(lift(color[0]), lift(color[1]), lift(color[2]));
  }
  return stage;
}

// What a vertex is in the picture: column, row, and depth.
struct Screen {
  Eigen::Matrix3f eye_from_stage;
  float focal = 1, cx = 0, cy = 0;

  Eigen::Vector3f ToEye(const Eigen::Vector3f& x) const {
    return eye_from_stage * x + Eigen::Vector3f(0, 0, kDistance);
  }
  Eigen::Vector3f Project(const Eigen::Vector3f& in_eye) const {
    return {cx + focal * in_eye.x() / in_eye.z(), cy + focal * in_eye.y() / in_eye.z(), in_eye.z()};
  }
};

class Canvas {
 public:
  Canvas(int width, int height, uint8_t background)
      : image_(width, height, 3, background),
        depth_(width, height, 1, std::numeric_limits<float>::infinity()) {}

  void Put(int x, int y, float depth, const Eigen::Vector3f& color) {
    if (!image_.Contains(x, y) || depth >= depth_(x, y)) return;
    depth_(x, y) = depth;
    for (int c = 0; c < 3; ++c) image_(x, y, c) = static_cast<uint8_t>(std::clamp(color[c], 0.0F, 255.0F));
  }
  RgbImage Take() { return std::move(image_); }

 private:
  RgbImage image_;
  Image<float> depth_;
};

struct Corner {
  Eigen::Vector3f at;  // on the screen
  Eigen::Vector3f color;
};

float Cross(const Eigen::Vector3f& a, const Eigen::Vector3f& b, float x, float y) {
  return (b.x() - a.x()) * (y - a.y()) - (b.y() - a.y()) * (x - a.x());
}

void FillTriangle(const std::array<Corner, 3>& corners, float light, Canvas& canvas, int width, int height) {
  const auto& [a, b, c] = corners;
  const float area = Cross(a.at, b.at, c.at.x(), c.at.y());
  if (!(std::abs(area) > 1e-6F)) return;
  const auto [x_low, x_high] = std::minmax({a.at.x(), b.at.x(), c.at.x()});
  const auto [y_low, y_high] = std::minmax({a.at.y(), b.at.y(), c.at.y()});
  const int left = std::max(0, static_cast<int>(std::ceil(x_low)));
  const int right = std::min(width - 1, static_cast<int>(std::floor(x_high)));
  const int top = std::max(0, static_cast<int>(std::ceil(y_low)));
  const int bottom = std::min(height - 1, static_cast<int>(std::floor(y_high)));
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const auto px = static_cast<float>(x), py = static_cast<float>(y);
      const float wa = Cross(b.at, c.at, px, py) / area, wb = Cross(c.at, a.at, px, py) / area;
      const float wc = 1 - wa - wb;
      if (wa < 0 || wb < 0 || wc < 0) continue;
      canvas.Put(x, y, wa * a.at.z() + wb * b.at.z() + wc * c.at.z(),
                 light * (wa * a.color + wb * b.color + wc * c.color));
    }
  }
}

void DrawTriangles(const TriangleMesh& mesh, const Stage& stage, const Screen& screen,
                   const TurntableOptions& options, Canvas& canvas) {
  std::vector<Eigen::Vector3f> in_eye;
  in_eye.reserve(stage.points.size());
  for (const Eigen::Vector3f& point : stage.points) in_eye.push_back(screen.ToEye(point));
  for (const auto& triangle : mesh.triangles) {
    std::array<Corner, 3> corners;
    std::array<Eigen::Vector3f, 3> x;
    bool in_front = true;
    for (size_t k = 0; k < 3; ++k) {
      const auto index = static_cast<size_t>(triangle[k]);
      x[k] = in_eye[index];
      in_front = in_front && x[k].z() > 0.1F;
      corners[k] = {screen.Project(x[k]), stage.colors[index]};
    }
    if (!in_front) continue;
    const Eigen::Vector3f normal = (x[1] - x[0]).cross(x[2] - x[0]);
    const float facing = std::abs(normal.dot(x[0])) / std::max(1e-12F, normal.norm() * x[0].norm());
    FillTriangle(corners, kAmbient + (1 - kAmbient) * facing + 0.15F, canvas, options.width, options.height);
  }
}

void DrawPoints(const Stage& stage, const Screen& screen, Canvas& canvas) {
  for (size_t i = 0; i < stage.points.size(); ++i) {
    const Eigen::Vector3f in_eye = screen.ToEye(stage.points[i]);
    if (in_eye.z() <= 0.1F) continue;
    const Eigen::Vector3f at = screen.Project(in_eye);
    const int x = static_cast<int>(std::lround(at.x())), y = static_cast<int>(std::lround(at.y()));
    for (const auto& [dx, dy] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}})
      canvas.Put(x + dx, y + dy, at.z(), 1.15F * stage.colors[i]);
  }
}

}  // namespace

std::vector<RgbImage> RenderTurntable(const TriangleMesh& mesh, const TurntableOptions& options) {
  if (mesh.vertices.empty()) return {};
  const Stage stage = PutOnStage(mesh);
  std::vector<RgbImage> pictures(static_cast<size_t>(options.views));
  const auto tilt = static_cast<float>(options.tilt_degrees * std::numbers::pi / 180);
  ParallelFor(options.views, AvailableCores(), [&](int64_t view) {
    const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(view) / options.views;
    Screen screen;
    screen.eye_from_stage = (Eigen::AngleAxisf(tilt, Eigen::Vector3f::UnitY()) *
                             Eigen::AngleAxisf(angle, Eigen::Vector3f::UnitX()))
                                .toRotationMatrix();
    screen.focal = 0.47F * static_cast<float>(options.width) * kDistance / 1.05F;
    screen.cx = static_cast<float>(options.width) / 2;
    screen.cy = static_cast<float>(options.height) / 2;
    Canvas canvas(options.width, options.height, options.background);
    if (mesh.triangles.empty())
      DrawPoints(stage, screen, canvas);
    else
      DrawTriangles(mesh, stage, screen, options, canvas);
    pictures[static_cast<size_t>(view)] = canvas.Take();
  });
  return pictures;
}

}  // namespace lumen
