// A drawing as SVG: the few shapes our figures need. Coordinates are pixels, y down; text is escaped here.
#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

// Okabe and Ito's colours, told apart by every kind of colour vision; black first.
inline constexpr const char* kBlack = "#000000";
inline constexpr const char* kBlue = "#0072B2";
inline constexpr const char* kVermillion = "#D55E00";
inline constexpr const char* kGreen = "#009E73";
inline constexpr const char* kOrange = "#E69F00";
inline constexpr const char* kSky = "#56B4E9";
inline constexpr const char* kPurple = "#CC79A7";
inline constexpr const char* kGrey = "#999999";
inline constexpr const char* kLightGrey = "#DDDDDD";
const char* SeriesColor(size_t index);  // blue, vermillion, green, …, and round again

struct Stroke {
  std::string color = kBlack;
  double width = 1;
  std::string dash = {};  // e.g. "4 3"; empty: solid
};

struct TextStyle {
  double size = 12;
  std::string anchor = "start";  // "start", "middle", "end"
  bool bold = false;
  double degrees = 0;  // turned about its place
  std::string color = kBlack;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

enum class MarkerShape { kCircle, kSquare, kDiamond, kTriangle };

class Svg {
 public:
  Svg(double width, double height);

  void Line(const Eigen::Vector2d& from, const Eigen::Vector2d& to, const Stroke& stroke);
  void Polyline(const std::vector<Eigen::Vector2d>& points, const Stroke& stroke);
  void Rect(const Box& box, const std::string& fill, const Stroke& stroke = {.color = "none"},
            double opacity = 1);
  void Marker(const Eigen::Vector2d& at, MarkerShape shape, double size, const std::string& fill,
              const Stroke& stroke = {.color = "none"});
  void Text(const Eigen::Vector2d& at, const std::string& text, const TextStyle& style = {});
  void Image(const Box& box, std::string_view png);  // the file's bytes

  double Width() const { return width_; }
  double Height() const { return height_; }
  std::string Finish() const;  // the whole document

 private:
  double width_, height_;
  std::string body_;
};

std::string EscapeXml(std::string_view text);
std::string EncodeBase64(std::string_view bytes);

}  // namespace lumen
