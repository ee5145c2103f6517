#include "lumen/sim/body.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/base/random.h"
#include "lumen/geometry/grid.h"
#include "lumen/sim/body_parts.h"

namespace lumen {

using Eigen::Vector3f;
using Eigen::Vector3i;

namespace {

constexpr int kScanBlock = 8;         // voxels along the edge of what is looked through at once
constexpr double kSample = 0.5;       // mm: parts are looked at this closely near their surfaces
constexpr int kMostSamples = 3;       // along an axis of a voxel
constexpr double kPsf = 0.4;          // mm, standard deviation of the scanner's blur in the plane
constexpr float kCarefulness = 1.4F;  // solids know their distances about as well as this
constexpr float kLeastHu = -1024, kMostHu = 3071;  // 12 bits, as scanners write
constexpr float kPadding = -2000;                  // outside the circle that is scanned

struct ScanGrid {
  Vector3i size;
  Vector3f origin, spacing;  // LPS
};

ScanGrid MakeScanGrid(const Body& body, const CtScanOptions& options) {
  const Eigen::Vector3d spacing(options.pixel_mm, options.pixel_mm, options.slice_mm);
  const Eigen::Vector3d extent = body.field_of_view.sizes().cast<double>();
  const Eigen::Vector3d middle = body.lps_from_body * body.field_of_view.center().cast<double>();
  ScanGrid grid;
  grid.size = extent.cwiseQuotient(spacing).array().ceil().cast<int>().max(1).matrix();
  grid.spacing = spacing.cast<float>();
  const Eigen::Vector3d span = spacing.cwiseProduct((grid.size.array() - 1).matrix().cast<double>());
  grid.origin = (middle - 0.5 * span).cast<float>();
  return grid;
}

// A matter's share of a sample whose middle lies this far outside of it.
float ShareOf(float distance, float sample) { return std::clamp(0.5F - distance / sample, 0.0F, 1.0F); }

// Paints voxels: block by block and voxel by voxel only those parts are asked whose surface may be there, and
// only there is a voxel looked at in more than one place.
class BodyPainter {
 public:
  BodyPainter(const Body& body, const ScanGrid& grid) : body_(body), grid_(grid) {
    const Rigid3 body_from_lps = body.lps_from_body.Inverse();
    turn_ = body_from_lps.RotationMatrix().cast<float>();
    shift_ = body_from_lps.Translation().cast<float>();
    for (int k = 0; k < 3; ++k)
      samples_[k] = std::clamp(static_cast<int>(std::ceil(grid.spacing[k] / kSample)), 1, kMostSamples);
    sample_ = grid.spacing.cwiseQuotient(samples_.cast<float>()).maxCoeff();
  }

  // Slices from `first` on, up to kScanBlock of them.
  void PaintSlab(int first, std::vector<float>& values) const {
    const int last = std::min(first + kScanBlock, grid_.size.z());
    Choice all(body_.Parts().size());
    std::iota(all.begin(), all.end(), 0);
    Choice slab;
    Choose(all, {0, 0, first}, {grid_.size.x(), grid_.size.y(), last}, slab);
    for (int y = 0; y < grid_.size.y(); y += kScanBlock) {
      for (int x = 0; x < grid_.size.x(); x += kScanBlock) PaintBlock(slab, {x, y, first}, values);
    }
  }

 private:
  using Choice = std::vector<int>;  // parts that count, in the order they are painted

  Vector3f InBody(const Vector3f& voxel) const {
    return turn_ * (grid_.origin + grid_.spacing.cwiseProduct(voxel)) + shift_;
  }

  // Of these parts, those that may be in the voxels from `first` to before `end`, down to one that fills all.
  // Whether there was one such.
  bool Choose(const Choice& from, const Vector3i& first, const Vector3i& end, Choice& chosen) const {
    const Vector3f voxel = 0.5F * (first + end).cast<float>() - Vector3f::Constant(0.5F);
    const Vector3f middle = InBody(voxel);
    const float radius =
        0.5F * grid_.spacing.cwiseProduct((end - first).cast<float>()).norm() + 0.5F * sample_;
    bool filled = false;
    chosen.clear();
    for (auto part = from.rbegin(); part != from.rend(); ++part) {
      const BodySolid& solid = PartAt(*part).solid;
      if (solid.box.squaredExteriorDistance(middle) > radius * radius) continue;
      const float distance = solid.distance(middle);
      if (distance > kCarefulness * radius) continue;
      chosen.push_back(*part);
      filled = distance < -kCarefulness * radius;
      if (filled) break;
    }
    std::reverse(chosen.begin(), chosen.end());
    return filled;
  }

  void PaintBlock(const Choice& slab, const Vector3i& first, std::vector<float>& values) const {
    const Vector3i end = (first.array() + kScanBlock).matrix().cwiseMin(grid_.size);
    Choice parts;
    Choose(slab, first, end, parts);
    Choice here;
    for (int z = first.z(); z < end.z(); ++z) {
      for (int y = first.y(); y < end.y(); ++y) {
        float* row = &values[FlatIndex({0, y, z}, grid_.size)];
        for (int x = first.x(); x < end.x(); ++x) row[x] = PaintVoxel(parts, {x, y, z}, here);
      }
    }
  }

  float PaintVoxel(const Choice& block, const Vector3i& voxel, Choice& here) const {
    if (block.empty()) return kAirMatter.hu;
    const bool filled = Choose(block, voxel, (voxel.array() + 1).matrix(), here);
    if (here.empty()) return kAirMatter.hu;
    const Vector3f middle = InBody(voxel.cast<float>());
    if (filled && here.size() == 1) return body_.Texture(PartAt(here.front()).matter, middle);
    return AverageSamples(here, middle, voxel.cast<float>());
  }

  float AverageSamples(const Choice& parts, const Vector3f& middle, const Vector3f& voxel) const {
    constexpr size_t kMostParts = 32;
    float hu[kMostParts];
    const size_t skipped = parts.size() > kMostParts ? parts.size() - kMostParts : 0;
    for (size_t i = skipped; i < parts.size(); ++i)
      hu[i - skipped] = body_.Texture(PartAt(parts[i]).matter, middle);
    float sum = 0;
    ForEachCell(samples_, [&](const Vector3i& sample) {
      const Vector3f share =
          (sample.cast<float>().array() + 0.5F).matrix().cwiseQuotient(samples_.cast<float>());
      const Vector3f at = InBody(voxel + share - Vector3f::Constant(0.5F));
      float value = kAirMatter.hu;
      for (size_t i = skipped; i < parts.size(); ++i) {
        const float covered = ShareOf(PartAt(parts[i]).solid.distance(at), sample_);
        value += covered * (hu[i - skipped] - value);
      }
      sum += value;
    });
    return sum / static_cast<float>(samples_.prod());
  }

  const Body::Part& PartAt(int index) const { return body_.Parts()[static_cast<size_t>(index)]; }

  const Body& body_;
  const ScanGrid& grid_;
  Eigen::Matrix3f turn_;
  Vector3f shift_;
  Vector3i samples_;
  float sample_;
};

// Nearly normal, standard deviation 1: a sum of four even ones.
float Grain(uint32_t seed, uint32_t voxel) {
  const uint32_t bits = HashBits(seed, voxel);
  const uint32_t more = HashBits(bits);
  const uint32_t sum = (bits & 0xffffU) + (bits >> 16) + (more & 0xffffU) + (more >> 16);
  return (static_cast<float>(sum) / 65535.0F - 2) * std::sqrt(3.0F);
}

// The scanner's blur within a slice, as weights from the middle outwards.
std::vector<float> PsfWeights(double pixel) {
  std::vector<float> weights;
  double sum = 0;
  for (int i = 0; i == 0 || i * pixel < 3 * kPsf; ++i) {
    const double weight = std::exp(-0.5 * (i * pixel / kPsf) * (i * pixel / kPsf));
    weights.push_back(static_cast<float>(weight));
    sum += i == 0 ? weight : 2 * weight;
  }
  for (float& weight : weights) weight = static_cast<float>(weight / sum);
  return weights;
}

void BlurLine(const std::vector<float>& weights, int count, int stride, std::vector<float>& line,
              float* values) {
  for (int i = 0; i < count; ++i) line[static_cast<size_t>(i)] = values[static_cast<ptrdiff_t>(i) * stride];
  const auto reach = static_cast<int>(weights.size()) - 1;
  for (int i = 0; i < count; ++i) {
    float sum = weights[0] * line[static_cast<size_t>(i)];
    for (int k = 1; k <= reach; ++k) {
      const float before = line[static_cast<size_t>(std::max(0, i - k))];
      const float after = line[static_cast<size_t>(std::min(count - 1, i + k))];
      sum += weights[static_cast<size_t>(k)] * (before + after);
    }
    values[static_cast<ptrdiff_t>(i) * stride] = sum;
  }
}

// What the scanner makes of a slice: noise, which its blur smooths too, the blur, and 12 bits.
void DevelopSlice(const CtScanOptions& options, const ScanGrid& grid, int z, float* slice) {
  const std::vector<float> weights = PsfWeights(options.pixel_mm);
  float squares = weights[0] * weights[0];
  for (size_t k = 1; k < weights.size(); ++k) squares += 2 * weights[k] * weights[k];
  const float noise = static_cast<float>(options.noise) / squares;
  const uint32_t seed = HashBits(static_cast<uint32_t>(options.seed), static_cast<uint32_t>(z));
  const int count = grid.size.x() * grid.size.y();
  for (int i = 0; i < count; ++i) slice[i] += noise * Grain(seed, static_cast<uint32_t>(i));
  std::vector<float> line(static_cast<size_t>(std::max(grid.size.x(), grid.size.y())));
  for (int y = 0; y < grid.size.y(); ++y)
    BlurLine(weights, grid.size.x(), 1, line, slice + static_cast<ptrdiff_t>(y) * grid.size.x());
  for (int x = 0; x < grid.size.x(); ++x) BlurLine(weights, grid.size.y(), grid.size.x(), line, slice + x);
  for (int i = 0; i < count; ++i) slice[i] = std::clamp(slice[i], kLeastHu, kMostHu);
}

// What lies outside the circle of the scanner is no measurement.
void PadSlice(const ScanGrid& grid, float* slice) {
  const float radius = 0.5F * static_cast<float>(std::max(grid.size.x(), grid.size.y()));
  for (int y = 0; y < grid.size.y(); ++y) {
    for (int x = 0; x < grid.size.x(); ++x) {
      const float across = static_cast<float>(x) - 0.5F * static_cast<float>(grid.size.x() - 1);
      const float down = static_cast<float>(y) - 0.5F * static_cast<float>(grid.size.y() - 1);
      if (std::hypot(across, down) > radius) slice[y * grid.size.x() + x] = kPadding;
    }
  }
}

Volume ScanGridOf(const Body& body, const CtScanOptions& options, int threads) {
  const ScanGrid grid = MakeScanGrid(body, options);
  Volume volume;
  volume.size = grid.size;
  volume.values.resize(static_cast<size_t>(grid.size.x()) * static_cast<size_t>(grid.size.y()) *
                       static_cast<size_t>(grid.size.z()));
  volume.lps_from_index.diagonal().head<3>() = grid.spacing.cast<double>();
  volume.lps_from_index.topRightCorner<3, 1>() = grid.origin.cast<double>();
  const BodyPainter painter(body, grid);
  const bool padded = Random(options.seed).Split("padding").Chance(0.5);
  ParallelFor((grid.size.z() + kScanBlock - 1) / kScanBlock, threads, [&](int64_t slab) {
    const int first = kScanBlock * static_cast<int>(slab);
    painter.PaintSlab(first, volume.values);
    for (int z = first; z < std::min(first + kScanBlock, grid.size.z()); ++z) {
      float* slice = &volume.values[FlatIndex({0, 0, z}, grid.size)];
      DevelopSlice(options, grid, z, slice);
      if (padded) PadSlice(grid, slice);
      for (int i = 0; i < grid.size.x() * grid.size.y(); ++i)
        slice[i] = static_cast<float>(options.slope * slice[i] + options.offset);
    }
  });
  return volume;
}

}  // namespace

void CheckCtScan(const CtScanOptions& options) {
  constexpr double kLeast = 0.2, kMost = 10;
  for (const double mm : {options.pixel_mm, options.slice_mm}) {
    if (!(mm >= kLeast && mm <= kMost))
      throw InputError(StrCat("a CT's pixels and slices measure ", kLeast, " to ", kMost, " mm, not ", mm));
  }
}

SimulatedCt ScanBody(const Anatomy& organ, const CtScanOptions& options, int threads) {
  CheckCtScan(options);
  const Body body = organ.Kind() == AnatomyKind::kNasal ? MakeHead(organ, options, threads)
                                                        : MakeTrunk(organ, options, threads);
  SimulatedCt ct;
  ct.volume = ScanGridOf(body, options, threads);
  ct.lps_from_anatomy = body.lps_from_body * body.body_from_anatomy;
  for (const Body::Opening& opening : body.Openings())
    ct.openings.push_back({body.lps_from_body * opening.centre.cast<double>(), opening.radius});
  return ct;
}

}  // namespace lumen
