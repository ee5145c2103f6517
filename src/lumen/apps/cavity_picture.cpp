#include "lumen/apps/cavity_picture.h"

#include <algorithm>
#include <cmath>

#include "lumen/apps/ct_model.h"
#include "lumen/base/text.h"
#include "lumen/eval/svg.h"
#include "lumen/image/image.h"
#include "lumen/io/png.h"

namespace lumen {

using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

// A direction to look along: the patient's axes that run across and down the picture.
struct Look {
  const char* words;
  Vector3d across, down, towards_eye;
};

const Look kLooks[] = {{"from the front", {1, 0, 0}, {0, 0, -1}, {0, -1, 0}},
                       {"from the left", {0, 1, 0}, {0, 0, -1}, {1, 0, 0}},
                       {"from below", {1, 0, 0}, {0, 1, 0}, {0, 0, -1}}};

constexpr double kEnlarged = 1.5;  // pixels of the page to one of the picture

struct Sheet {
  Vector2d low = Vector2d::Constant(1e9), high = Vector2d::Constant(-1e9);
  double pixel = 1;  // mm
  Vector2d At(const Look& look, const Vector3d& p) const {
    return (Vector2d(look.across.dot(p), look.down.dot(p)) - low) / pixel;
  }
};

Sheet SheetOf(const Volume& volume, const Look& look) {
  Sheet sheet;
  for (int corner = 0; corner < 8; ++corner) {
    const Vector3d index((corner & 1) != 0 ? volume.size.x() - 1 : 0,
                         (corner & 2) != 0 ? volume.size.y() - 1 : 0,
                         (corner & 4) != 0 ? volume.size.z() - 1 : 0);
    const Vector3d p = (volume.lps_from_index * index.homogeneous()).head<3>();
    const Vector2d at(look.across.dot(p), look.down.dot(p));
    sheet.low = sheet.low.cwiseMin(at);
    sheet.high = sheet.high.cwiseMax(at);
  }
  constexpr double kLongest = 420;
  sheet.pixel = std::max((sheet.high - sheet.low).maxCoeff(), 1.0) / kLongest;
  for (int axis = 0; axis < 3; ++axis)  // every pixel is met by a voxel
    sheet.pixel = std::max(sheet.pixel, 1.01 * volume.lps_from_index.block<3, 1>(0, axis).norm());
  return sheet;
}

struct Canvas {
  RgbImage image;
  Image<float> depth;  // of the nearest wall
};

// How much lies on the way through, darkest where there is nothing.
Canvas DrawBody(const Volume& volume, const AirSpaces& all, const Look& look, const Sheet& sheet) {
  const Vector2d size = (sheet.high - sheet.low) / sheet.pixel;
  const int width = static_cast<int>(size.x()) + 2, height = static_cast<int>(size.y()) + 2;
  Image<float> sum(width, height, 1), count(width, height, 1);
  for (int z = 0; z < volume.size.z(); ++z)
    for (int y = 0; y < volume.size.y(); ++y)
      for (int x = 0; x < volume.size.x(); x += 2) {
        const Vector3d p = (volume.lps_from_index * Vector3d(x, y, z).homogeneous()).head<3>();
        const Vector2d at = sheet.At(look, p);
        const int u = std::clamp(static_cast<int>(at.x()), 0, width - 1);
        const int v = std::clamp(static_cast<int>(at.y()), 0, height - 1);
        const double share = (volume.At(x, y, z) - all.levels.air) / (all.levels.tissue - all.levels.air);
        sum(u, v) += static_cast<float>(std::clamp(share, 0.0, 2.0));
        count(u, v) += 1;
      }
  float most = 1e-6F;
  for (int v = 0; v < height; ++v)
    for (int u = 0; u < width; ++u) {
      if (count(u, v) == 0 && u > 0) {
        sum(u, v) = sum(u - 1, v);
        count(u, v) = count(u - 1, v);
      }
      if (count(u, v) > 0) most = std::max(most, sum(u, v) / count(u, v));
    }
  Canvas canvas{RgbImage(width, height, 3), Image<float>(width, height, 1)};
  for (int v = 0; v < height; ++v)
    for (int u = 0; u < width; ++u) {
      const float mean = count(u, v) > 0 ? sum(u, v) / count(u, v) : 0;
      for (int c = 0; c < 3; ++c)
        canvas.image(u, v, c) =
            static_cast<uint8_t>(18 + 190 * std::sqrt(std::clamp(mean / most, 0.0F, 1.0F)));
      canvas.depth(u, v) = -1e9F;
    }
  return canvas;
}

std::string ColorOf(const AirSpace& space) {
  return space.kind == AirSpaceKind::kLungs ? kGrey : SeriesColor(static_cast<size_t>(space.number - 1));
}

std::array<double, 3> ParseColor(const std::string& color) {
  std::array<double, 3> rgb{};
  for (size_t i = 0; i < 3; ++i) rgb[i] = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16);
  return rgb;
}

void DrawWall(const AirSpace& space, const Look& look, const Sheet& sheet, Canvas& canvas) {
  const auto color = ParseColor(ColorOf(space));
  for (size_t i = 0; i < space.wall.vertices.size(); ++i) {
    const Vector3d p = space.wall.vertices[i].cast<double>();
    // Seen from outside the body the wall is a solid: its normals point inwards.
    const double light = -space.wall.normals[i].cast<double>().dot(look.towards_eye);
    if (light <= 0) continue;
    const Vector2d at = sheet.At(look, p);
    const auto depth = static_cast<float>(look.towards_eye.dot(p));
    for (int v = static_cast<int>(at.y()); v <= static_cast<int>(at.y()) + 1; ++v)
      for (int u = static_cast<int>(at.x()); u <= static_cast<int>(at.x()) + 1; ++u) {
        if (u < 0 || v < 0 || u >= canvas.image.Width() || v >= canvas.image.Height() ||
            depth <= canvas.depth(u, v))
          continue;
        canvas.depth(u, v) = depth;
        for (int c = 0; c < 3; ++c)
          canvas.image(u, v, c) = static_cast<uint8_t>(
              std::min(255.0, (0.35 + 0.65 * light) * color[static_cast<size_t>(c)] + 25 * light));
      }
  }
}

// On the space as it is seen: a bent one's middle may lie beside it.
Vector2d LabelPlace(const AirSpace& space, const Look& look, const Sheet& sheet) {
  Vector3d middle = Vector3d::Zero();
  for (const Eigen::Vector3f& vertex : space.wall.vertices)
    middle += vertex.cast<double>() / static_cast<double>(space.wall.vertices.size());
  const Vector2d wanted = sheet.At(look, middle);
  Vector2d best = wanted;
  double least = 1e18;
  for (const Eigen::Vector3f& vertex : space.wall.vertices) {
    const Vector2d at = sheet.At(look, vertex.cast<double>());
    if ((at - wanted).squaredNorm() >= least) continue;
    least = (at - wanted).squaredNorm();
    best = at;
  }
  return best;
}

void Label(const AirSpaces& all, const Look& look, const Sheet& sheet, const Vector2d& corner, Svg& svg) {
  for (const AirSpace& space : all.spaces) {
    const Vector2d at = corner + kEnlarged * LabelPlace(space, look, sheet) + Vector2d(0, 5);
    for (const Vector2d& off : {Vector2d(1, 1), Vector2d(-1, 1), Vector2d(1, -1), Vector2d(-1, -1)})
      svg.Text(at + off, StrCat(space.number), {.size = 15, .anchor = "middle", .bold = true});
    svg.Text(at, StrCat(space.number), {.size = 15, .anchor = "middle", .bold = true, .color = "#FFFFFF"});
  }
}

}  // namespace

std::string DrawAirSpaces(const Volume& volume, const AirSpaces& all) {
  constexpr double kGap = 16, kTop = 28, kLine = 18;
  double width = kGap, height = 0;
  std::vector<Canvas> canvases;
  std::vector<Sheet> sheets;
  for (const Look& look : kLooks) {
    sheets.push_back(SheetOf(volume, look));
    canvases.push_back(DrawBody(volume, all, look, sheets.back()));
    for (const AirSpace& space : all.spaces) DrawWall(space, look, sheets.back(), canvases.back());
    width += kEnlarged * canvases.back().image.Width() + kGap;
    height = std::max(height, kEnlarged * canvases.back().image.Height());
  }
  Svg svg(width, kTop + height + kGap + kLine * (static_cast<double>(all.spaces.size()) + 1));
  double x = kGap;
  for (size_t i = 0; i < canvases.size(); ++i) {
    const RgbImage& image = canvases[i].image;
    svg.Text({x, kTop - 10}, kLooks[i].words, {.size = 14, .bold = true});
    svg.Image({x, kTop, kEnlarged * image.Width(), kEnlarged * image.Height()}, EncodePng(image));
    Label(all, kLooks[i], sheets[i], {x, kTop}, svg);
    x += kEnlarged * image.Width() + kGap;
  }
  double y = kTop + height + kGap + 8;
  for (const AirSpace& space : all.spaces) {
    svg.Marker({kGap + 5, y - 4}, MarkerShape::kSquare, 5, ColorOf(space));
    svg.Text({kGap + 18, y}, StrCat(space.number, ": ", AirSpaceInWords(space)), {.size = 13});
    y += kLine;
  }
  return svg.Finish();
}

}  // namespace lumen
