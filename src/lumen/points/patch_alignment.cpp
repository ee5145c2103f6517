#include "lumen/points/patch_alignment.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

namespace lumen {

namespace {

constexpr int kPatchReach = 5;  // half a patch's side
constexpr int kSide = 2 * kPatchReach + 1;
constexpr int kPixels = kSide * kSide;
using Patch = std::array<float, kPixels>;

float Bilinear(const Image<uint8_t>& image, float u, float v) {
  const int x = static_cast<int>(u), y = static_cast<int>(v);
  const float a = u - static_cast<float>(x), b = v - static_cast<float>(y);
  const uint8_t* p = image.Pixel(x, y);
  const uint8_t* q = p + image.Width();
  const float top = static_cast<float>(p[0]) + a * static_cast<float>(p[1] - p[0]);
  const float bottom = static_cast<float>(q[0]) + a * static_cast<float>(q[1] - q[0]);
  return top + b * (bottom - top);
}

bool Contains(const Image<uint8_t>& image, double u, double v, double margin) {
  return u >= margin && v >= margin && u < image.Width() - 1 - margin && v < image.Height() - 1 - margin;
}

// The source's side at one level: the patch without its plane, and its gradients without theirs.
struct Template {
  Patch grey, by_x, by_y;
  float variance = 0;  // summed
  Eigen::Matrix2f hessian = Eigen::Matrix2f::Zero();
};

// Takes the mean and the even slopes off: light that falls off across a patch is none of its pattern.
void TakePlane(Patch& patch) {
  float mean = 0, along_x = 0, along_y = 0;
  for (int j = -kPatchReach, at = 0; j <= kPatchReach; ++j) {
    float row = 0;
    for (int i = -kPatchReach; i <= kPatchReach; ++i, ++at) {
      row += patch[static_cast<size_t>(at)];
      along_x += static_cast<float>(i) * patch[static_cast<size_t>(at)];
    }
    mean += row;
    along_y += static_cast<float>(j) * row;
  }
  constexpr float kSquares =
      kSide * (kPatchReach * (kPatchReach + 1) * (2 * kPatchReach + 1) / 3.0F);  // Σ i² over a patch
  mean /= kPixels;
  along_x /= kSquares;
  along_y /= kSquares;
  for (int j = -kPatchReach, at = 0; j <= kPatchReach; ++j) {
    for (int i = -kPatchReach; i <= kPatchReach; ++i, ++at)
      patch[static_cast<size_t>(at)] -=
          mean + along_x * static_cast<float>(i) + along_y * static_cast<float>(j);
  }
}

float Dot(const Patch& a, const Patch& b) {
  float sum = 0;
  for (int i = 0; i < kPixels; ++i) sum += a[static_cast<size_t>(i)] * b[static_cast<size_t>(i)];
  return sum;
}

std::optional<Template> MakeTemplate(const Image<uint8_t>& image, const Eigen::Vector2d& centre) {
  if (!Contains(image, centre.x(), centre.y(), kPatchReach + 1)) return std::nullopt;
  constexpr int kWide = kSide + 2;
  std::array<float, static_cast<size_t>(kWide) * kWide> wide;
  for (int j = 0; j < kWide; ++j) {
    for (int i = 0; i < kWide; ++i)
      wide[static_cast<size_t>(j * kWide + i)] =
          Bilinear(image, static_cast<float>(centre.x() + i - kPatchReach - 1),
                   static_cast<float>(centre.y() + j - kPatchReach - 1));
  }
  Template result;
  for (int j = 0; j < kSide; ++j) {
    for (int i = 0; i < kSide; ++i) {
      const auto at = static_cast<size_t>((j + 1) * kWide + i + 1);
      const auto to = static_cast<size_t>(j * kSide + i);
      result.grey[to] = wide[at];
      result.by_x[to] = 0.5F * (wide[at + 1] - wide[at - 1]);
      result.by_y[to] = 0.5F * (wide[at + kWide] - wide[at - kWide]);
    }
  }
  TakePlane(result.grey);
  TakePlane(result.by_x);
  TakePlane(result.by_y);
  result.variance = Dot(result.grey, result.grey);
  const float xy = Dot(result.by_x, result.by_y);
  result.hessian << Dot(result.by_x, result.by_x), xy, xy, Dot(result.by_y, result.by_y);
  if (!(result.variance > kPixels) || !(result.hessian.determinant() > 1e-3F * result.hessian.squaredNorm()))
    return std::nullopt;
  return result;
}

// How far to shift the patch, in the template's pixels, to fit the target better; and how alike they are.
struct PatchStep {
  Eigen::Vector2f shift{0, 0};
  float likeness = 0;
  float residual = 0;  // summed squares, in the template's grey levels
};

std::optional<PatchStep> CompareAt(const Template& source, const Image<uint8_t>& target,
                                   const Eigen::Vector2d& centre, const Eigen::Matrix2f& affine) {
  const double reach = kPatchReach * (affine.cwiseAbs().rowwise().sum().maxCoeff()) + 1;
  if (!Contains(target, centre.x(), centre.y(), reach)) return std::nullopt;
  Patch seen;
  const auto u = static_cast<float>(centre.x()), v = static_cast<float>(centre.y());
  for (int j = -kPatchReach; j <= kPatchReach; ++j) {
    const float row_u = u + affine(0, 1) * static_cast<float>(j),
                row_v = v + affine(1, 1) * static_cast<float>(j);
    for (int i = -kPatchReach; i <= kPatchReach; ++i)
      seen[static_cast<size_t>((j + kPatchReach) * kSide + i + kPatchReach)] = Bilinear(
          target, row_u + affine(0, 0) * static_cast<float>(i), row_v + affine(1, 0) * static_cast<float>(i));
  }
  TakePlane(seen);
  const float seen_variance = Dot(seen, seen);
  if (!(seen_variance > 0.02F * kPixels)) return std::nullopt;
  const float product = Dot(source.grey, seen);
  const float gain = product / seen_variance;
  PatchStep step;
  step.likeness = product / std::sqrt(seen_variance * source.variance);
  Eigen::Vector2f pull(0, 0);
  for (int i = 0; i < kPixels; ++i) {
    const auto at = static_cast<size_t>(i);
    const float difference = source.grey[at] - gain * seen[at];
    step.residual += difference * difference;
    pull += difference * Eigen::Vector2f(source.by_x[at], source.by_y[at]);
  }
  step.shift = source.hessian.inverse() * pull;
  return step;
}

}  // namespace

void PatchOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("coarse_levels", coarse_levels,
                {.min = 1, .max = 4, .help = "sizes of the picture a point is searched in"});
  visitor.Field("iterations", iterations, {.min = 1, .max = 100, .help = "steps of a search on one of them"});
  visitor.Field("converged", converged, {.min = 1e-4, .unit = "px", .help = "a step that ends it"});
  visitor.Field("least_likeness", least_likeness,
                {.min = 0, .max = 1, .help = "correlation that a sighting needs"});
  visitor.Field("floor", floor, {.min = 0, .unit = "px", .help = "no sighting is thought better than that"});
  visitor.Field("correlated", correlated, {.min = 0, .help = "pixels that share one error"});
}

namespace {

// The finest levels on which both pictures show a place at about the same size.
struct LevelPair {
  int source = 0, target = 0;
};
std::optional<LevelPair> MatchLevels(const Eigen::Matrix2d& affine) {
  constexpr double kMostZoom = 4;
  const double zoom = std::sqrt(std::abs(affine.determinant()));
  if (!affine.allFinite() || !(zoom > 1 / kMostZoom && zoom < kMostZoom)) return std::nullopt;
  const int change = static_cast<int>(std::lround(std::log2(zoom)));
  return LevelPair{std::max(0, -change), std::max(0, change)};
}

}  // namespace

std::optional<double> ShiftOfPatch(const FinePicture& source, const Eigen::Vector2d& pixel,
                                   const FinePicture& target, const PatchGuess& guess) {
  const auto levels = MatchLevels(guess.affine);
  if (!levels || levels->source >= source.NumLevels() || levels->target >= target.NumLevels())
    return std::nullopt;
  const auto patch =
      MakeTemplate(source.levels[static_cast<size_t>(levels->source)], AtLevel(pixel, levels->source));
  if (!patch) return std::nullopt;
  const double scale = std::ldexp(1.0, levels->source - levels->target);
  const Eigen::Matrix2f affine = (guess.affine * scale).cast<float>();
  const auto step = CompareAt(*patch, target.levels[static_cast<size_t>(levels->target)],
                              AtLevel(guess.centre, levels->target), affine);
  if (!step || !step->shift.allFinite()) return std::nullopt;
  return (affine * step->shift).norm() * std::ldexp(1.0, levels->target);
}

std::optional<PatchFit> AlignPatch(const FinePicture& source, const Eigen::Vector2d& pixel,
                                   const FinePicture& target, const PatchGuess& guess,
                                   const PatchOptions& options) {
  constexpr double kNear = 0.15;  // pixels
  const auto levels = MatchLevels(guess.affine);
  if (!levels) return std::nullopt;
  const int source_finest = levels->source, target_finest = levels->target;
  const int extra = std::min({options.coarse_levels - 1, source.NumLevels() - 1 - source_finest,
                              target.NumLevels() - 1 - target_finest});
  PatchFit fit;
  fit.centre = guess.centre;
  for (int coarse = extra; coarse >= 0; --coarse) {
    const int from = source_finest + coarse, to = target_finest + coarse;
    const auto patch = MakeTemplate(source.levels[static_cast<size_t>(from)], AtLevel(pixel, from));
    if (!patch) {
      if (coarse > 0) continue;  // too near to the edge there
      return std::nullopt;
    }
    const double scale = std::ldexp(1.0, from - to);
    const Eigen::Matrix2f affine = (guess.affine * scale).cast<float>();
    const Image<uint8_t>& picture = target.levels[static_cast<size_t>(to)];
    Eigen::Vector2d centre = AtLevel(fit.centre, to);
    std::optional<PatchStep> step;
    bool settled = false;
    for (int i = 0; i < options.iterations && !settled; ++i) {
      step = CompareAt(*patch, picture, centre, affine);
      if (!step || !step->shift.allFinite() || step->shift.norm() > kPatchReach) break;
      centre += (affine * step->shift).cast<double>();
      // A coarse level has only to bring the next one near.
      settled = step->shift.norm() < (coarse > 0 ? kNear : options.converged);
    }
    if (!settled) {
      if (coarse > 0) continue;  // the finer level may still find it
      return std::nullopt;
    }
    fit.centre = FromLevel(centre, to);
    if (coarse > 0) continue;
    fit.likeness = step->likeness;
    if (fit.likeness < options.least_likeness) return std::nullopt;
    const double noise = options.correlated * step->residual / (kPixels - 4);
    const Eigen::Matrix2d to_finest = guess.affine * std::ldexp(1.0, from);
    fit.covariance = noise * to_finest * patch->hessian.cast<double>().inverse() * to_finest.transpose() +
                     options.floor * options.floor * Eigen::Matrix2d::Identity();
  }
  return fit;
}

}  // namespace lumen
