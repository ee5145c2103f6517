#include "lumen/eval/svg.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "lumen/base/text.h"

namespace lumen {

namespace {

// Hundredths of a pixel are enough, and keep files small.
std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f", value);
  std::string number = text;
  while (number.back() == '0') number.pop_back();
  if (number.back() == '.') number.pop_back();
  return number == "-0" ? "0" : number;
}

std::string Attribute(const char* name, double value) {
  return StrCat(" ", name, "=\"", Number(value), "\"");
}

std::string StrokeAttributes(const Stroke& stroke) {
  if (stroke.color == "none") return "";
  std::string text = StrCat(" stroke=\"", stroke.color, "\"", Attribute("stroke-width", stroke.width));
  if (!stroke.dash.empty()) text += StrCat(" stroke-dasharray=\"", stroke.dash, "\"");
  return text;
}

std::string PointList(const std::vector<Eigen::Vector2d>& points) {
  std::string text;
  for (const Eigen::Vector2d& point : points)
    text += StrCat(text.empty() ? "" : " ", Number(point.x()), ",", Number(point.y()));
  return text;
}

std::vector<Eigen::Vector2d> MarkerCorners(const Eigen::Vector2d& at, MarkerShape shape, double size) {
  const double r = size / 2;
  std::vector<Eigen::Vector2d> corners;
  if (shape == MarkerShape::kSquare) corners = {{-r, -r}, {r, -r}, {r, r}, {-r, r}};
  if (shape == MarkerShape::kDiamond) corners = {{0, -1.3 * r}, {1.3 * r, 0}, {0, 1.3 * r}, {-1.3 * r, 0}};
  if (shape == MarkerShape::kTriangle) corners = {{0, -1.2 * r}, {1.1 * r, 0.8 * r}, {-1.1 * r, 0.8 * r}};
  for (Eigen::Vector2d& corner : corners) corner += at;
  return corners;
}

}  // namespace

const char* SeriesColor(size_t index) {
  constexpr std::array<const char*, 7> colors = {kBlue, kVermillion, kGreen, kPurple, kOrange, kSky, kGrey};
  return colors[index % colors.size()];
}

Svg::Svg(double width, double height) : width_(width), height_(height) {
  Rect({0, 0, width, height}, "#FFFFFF");
}

void Svg::Line(const Eigen::Vector2d& from, const Eigen::Vector2d& to, const Stroke& stroke) {
  body_ += StrCat("<line", Attribute("x1", from.x()), Attribute("y1", from.y()), Attribute("x2", to.x()),
                  Attribute("y2", to.y()), StrokeAttributes(stroke), "/>\n");
}

void Svg::Polyline(const std::vector<Eigen::Vector2d>& points, const Stroke& stroke) {
  if (points.size() < 2) return;
  body_ += StrCat("<polyline points=\"", PointList(points), "\" fill=\"none\" stroke-linejoin=\"round\"",
                  StrokeAttributes(stroke), "/>\n");
}

void Svg::Rect(const Box& box, const std::string& fill, const Stroke& stroke, double opacity) {
  body_ += StrCat("<rect", Attribute("x", box.x), Attribute("y", box.y), Attribute("width", box.width),
                  Attribute("height", box.height), " fill=\"", fill, "\"",
                  opacity < 1 ? Attribute("fill-opacity", opacity) : "", StrokeAttributes(stroke), "/>\n");
}

void Svg::Marker(const Eigen::Vector2d& at, MarkerShape shape, double size, const std::string& fill,
                 const Stroke& stroke) {
  if (shape == MarkerShape::kCircle) {
    body_ += StrCat("<circle", Attribute("cx", at.x()), Attribute("cy", at.y()), Attribute("r", size / 2),
                    " fill=\"", fill, "\"", StrokeAttributes(stroke), "/>\n");
    return;
  }
  body_ += StrCat("<polygon points=\"", PointList(MarkerCorners(at, shape, size)), "\" fill=\"", fill, "\"",
                  StrokeAttributes(stroke), "/>\n");
}

void Svg::Text(const Eigen::Vector2d& at, const std::string& text, const TextStyle& style) {
  body_ += StrCat("<text", Attribute("x", at.x()), Attribute("y", at.y()), Attribute("font-size", style.size),
                  " text-anchor=\"", style.anchor, "\" fill=\"", style.color, "\"");
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (style.degrees != 0)
    body_ += StrCat(" transform=\"rotate(", Number(style.degrees), " ", Number(at.x()), " ", Number(at.y()),
                    ")\"");
  body_ += StrCat(">", EscapeXml(text), "</text>\n");
}

void Svg::Image(const Box& box, std::string_view png) {
  body_ += StrCat("<image", Attribute("x", box.x), Attribute("y", box.y), Attribute("width", box.width),
                  Attribute("height", box.height),
                  " preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" "
                  "xlink:href=\"data:image/png;base64,",
                  EncodeBase64(png), "\"/>\n");
}

std::string Svg::Finish() const {
  return StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"",
                Attribute("width", width_), Attribute("height", height_), " viewBox=\"0 0 ", Number(width_),
                " ", Number(height_), "\" font-family=\"Helvetica, Arial, sans-serif\">\n", body_,
                "</svg>\n");
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string EncodeBase64(std::string_view bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? letters[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

}  // namespace lumen
