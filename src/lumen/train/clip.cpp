#include "lumen/train/clip.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr int kOverlapStride = 4;  // pixels of the depth map
constexpr double kDepthAgreement =
    0.1;  // a point is hidden where the other view's depth is less by this share

bool IsContentAt(const Clip& clip, int x, int y) { return clip.mask(2 * x, 2 * y) != 0; }

// Whether a point of this depth that falls onto (u, v) is seen there. Where depth is known at single places
// only, whatever none of them near by stands before.
bool IsSeen(const ClipFrame& frame, int u, int v, double depth) {
  const auto open = [&](float there) { return there > (1 - kDepthAgreement) * depth; };
  if (!frame.sparse) return frame.depth(u, v) > 0 && open(frame.depth(u, v));
  for (int y = v - 1; y <= v + 1; ++y) {
    for (int x = u - 1; x <= u + 1; ++x) {
      if (frame.depth.Contains(x, y) && frame.depth(x, y) > 0 && !open(frame.depth(x, y))) return false;
    }
  }
  return true;
}

}  // namespace

DepthImage HalveDepth(const DepthImage& depth) {
  DepthImage half(depth.Width() / 2, depth.Height() / 2);
  for (int y = 0; y < half.Height(); ++y) {
    for (int x = 0; x < half.Width(); ++x) {
      float sum = 0;
      bool known = true;
      for (int k = 0; k < 4; ++k) {
        const float value = depth(2 * x + k % 2, 2 * y + k / 2);
        known = known && value > 0;
        sum += value;
      }
      half(x, y) = known ? sum / 4 : 0;
    }
  }
  return half;
}

double MedianDepth(const DepthImage& depth) {
  std::vector<float> known;
  for (size_t i = 0; i < depth.Size(); ++i) {
    if (depth.Data()[i] > 0) known.push_back(depth.Data()[i]);
  }
  if (known.empty()) return 1;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

double ComputeOverlap(const Clip& clip, int source, int target) {
  const ClipFrame& from = clip.frames.at(static_cast<size_t>(source));
  const ClipFrame& to = clip.frames.at(static_cast<size_t>(target));
  const Rigid3 target_from_source = to.world_from_camera.Inverse() * from.world_from_camera;
  const int stride = from.sparse ? 1 : kOverlapStride;
  int content = 0;
  int seen = 0;
  for (int y = stride / 2; y < from.depth.Height(); y += stride) {
    for (int x = stride / 2; x < from.depth.Width(); x += stride) {
      const double depth = from.depth(x, y);
      if (depth <= 0 || !IsContentAt(clip, x, y)) continue;
      ++content;
      const Eigen::Vector3d point = target_from_source * (depth * clip.camera.RayAtUnitDepth(x, y));
      const auto uv = clip.camera.Project(point);
      if (!uv) continue;
      const auto u = static_cast<int>(std::lround(uv->x()));
      const auto v = static_cast<int>(std::lround(uv->y()));
      if (!to.depth.Contains(u, v) || !IsContentAt(clip, u, v)) continue;
      if (IsSeen(to, u, v, clip.camera.Depth(point))) ++seen;
    }
  }
  return content > 0 ? static_cast<double>(seen) / content : 0.0;
}

void FillOverlaps(Clip& clip) {
  const auto count = static_cast<Eigen::Index>(clip.frames.size());
  clip.overlap = Eigen::MatrixXf::Identity(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < count; ++j) {
      if (i != j)
        clip.overlap(i, j) =
            static_cast<float>(ComputeOverlap(clip, static_cast<int>(i), static_cast<int>(j)));
    }
  }
}

std::vector<PairIndex> ListPairs(const Clip& clip, const PairRules& rules) {
  LUMEN_CHECK(clip.overlap.rows() == static_cast<Eigen::Index>(clip.frames.size()));
  std::vector<PairIndex> pairs;
  const auto count = static_cast<int>(clip.frames.size());
  for (int i = 0; i < count; ++i) {
    // Who sees least of this frame, seen from either side.
    int far_frame = -1;
    float least = static_cast<float>(rules.max_far_overlap);
    for (int k = 0; k < count; ++k) {
      const float both = std::max(clip.overlap(i, k), clip.overlap(k, i));
      if (k != i && both <= least) {
        least = both;
        far_frame = k;
      }
    }
    for (int j = 0; j < count; ++j) {
      const float both = std::min(clip.overlap(i, j), clip.overlap(j, i));
      const int64_t number = clip.frames[static_cast<size_t>(i)].number;
      const bool same = j == i || (number >= 0 && clip.frames[static_cast<size_t>(j)].number == number);
      if (!same && both >= static_cast<float>(rules.min_overlap)) pairs.push_back({i, j, far_frame});
    }
  }
  return pairs;
}

MixedClipSource::MixedClipSource(std::shared_ptr<const ClipSource> first,
                                 std::shared_ptr<const ClipSource> second, double share)
    : first_(std::move(first)), second_(std::move(second)), share_(share) {
  LUMEN_CHECK(share >= 0 && share < 1);
  LUMEN_CHECK(first_->ClipsPerScene() == second_->ClipsPerScene() &&
              first_->FramesPerClip() == second_->FramesPerClip());
}

int64_t MixedClipSource::SecondBefore(int64_t scene) const {
  return static_cast<int64_t>(std::floor(static_cast<double>(scene) * share_ + 1e-9));
}

std::vector<Clip> MixedClipSource::MakeScene(int64_t scene) const {
  const int64_t before = SecondBefore(scene);
  return SecondBefore(scene + 1) > before ? second_->MakeScene(before) : first_->MakeScene(scene - before);
}

int64_t MixedClipSource::ScenesToSeeAll() const {
  return static_cast<int64_t>(std::ceil(static_cast<double>(first_->ScenesToSeeAll()) / (1 - share_)));
}

ShardedClipSource::ShardedClipSource(std::shared_ptr<const ClipSource> whole, int shard, int shards)
    : whole_(std::move(whole)), shard_(shard), shards_(shards) {
  LUMEN_CHECK(whole_ != nullptr && shard >= 0 && shard < shards);
}

int64_t ShardedClipSource::ScenesToSeeAll() const {
  return (whole_->ScenesToSeeAll() + shards_ - 1) / shards_;
}

}  // namespace lumen
