#include "lumen/surface/gathered_depth.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/image/grey.h"
#include "lumen/image/resize.h"
#include "lumen/surface/enlarged_depth.h"
#include "lumen/surface/seen_depth.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

void GatherOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("views", views,
                {.min = 0, .help = "other keyframes that are asked for a place's depth, at most"});
  visitor.Field("same", same, {.min = 1, .help = "ratio of two depths that may be the same place"});
  visitor.Field("edge", edge,
                {.min = 1, .help = "ratio of neighbouring pixels beyond which there is an edge"});
}

namespace {

// How far those who spoke are from what was taken.
void Weigh(const std::vector<Said>& said, float taken, size_t pixel, DepthEvidence& evidence) {
  float whole = 0, squares = 0;
  for (const Said& one : said) {
    const float off = std::log(one.value / taken);
    whole += one.weight;
    squares += one.weight * off * off;
  }
  const auto count = static_cast<float>(said.size());
  evidence.views.Data()[pixel] = count;
  evidence.finer.Data()[pixel] = whole / count;
  evidence.spread.Data()[pixel] = std::sqrt(squares / whole);
}

}  // namespace

GatheredDepth GatherDepth(const DepthView& view, const std::vector<const DepthView*>& others,
                          const GatherOptions& options) {
  std::vector<SeenDepth> seen;
  for (const DepthView* other : others) seen.push_back(SeeFrom(view, *other, options.edge));
  const auto same = static_cast<float>(options.same);
  const Image<float> none(view.depth.Width(), view.depth.Height());
  GatheredDepth gathered{view.depth, {none, none, none}};
  std::vector<Said> said;
  for (size_t i = 0; i < view.depth.Size(); ++i) {
    const float own = view.depth.Data()[i];
    if (!(own > 0)) continue;
    said.assign(1, {own, 1});
    for (const SeenDepth& one : seen) {
      const float depth = one.depth.Data()[i], finer = one.finer.Data()[i];
      // What lies elsewhere is hidden here, or hides.
      if (depth < same * own && same * depth > own) said.push_back({depth, finer * finer});
    }
    gathered.depth.Data()[i] = WeightedMiddle(said);
    Weigh(said, gathered.depth.Data()[i], i, gathered.evidence);
  }
  return gathered;
}

namespace {

// A map at the size it is gathered at, and its picture in grey; none where that is no finer than the map.
struct Enlarged {
  DepthView view;
  Image<uint8_t> guide;
};

Enlarged Enlarge(const DepthView& view) {
  Enlarged fine{{view.camera, view.world_from_camera, view.depth, {}}, {}};
  const int width = 2 * view.depth.Width(), height = 2 * view.depth.Height();
  if (view.image.Width() < width || view.image.Height() < height) return fine;
  fine.guide = ToGrey(ResizeArea(view.image.View(), width, height));
  fine.view.depth = EnlargeDepth(view.depth, fine.guide);
  fine.view.camera = view.camera.Scaled(2, 2);
  return fine;
}

// A view as far as it takes to tell who sees the same: depth on a coarse grid.
struct Sketch {
  UnifiedCamera camera;
  Rigid3 world_from_camera;
  DepthImage depth;
  double farthest = 0;
};

Sketch SketchOf(const DepthView& view) {
  constexpr int kWidth = 40;
  const int times = std::max(1, view.depth.Width() / kWidth);
  const int width = view.depth.Width() / times, height = view.depth.Height() / times;
  Sketch sketch{view.camera.Scaled(1.0 / times, 1.0 / times), view.world_from_camera,
                ResizeNearest(view.depth.View(), width, height)};
  sketch.farthest = *std::max_element(sketch.depth.Data(), sketch.depth.Data() + sketch.depth.Size());
  return sketch;
}

// The share of a view that another sees, counting more what it sees from nearer by.
double Worth(const Sketch& from, const Sketch& to) {
  constexpr int kStride = 3;
  constexpr double kHidden = 1.15;  // times the depth that is seen there
  constexpr double kMost = 2;       // times nearer
  const Rigid3 to_from = to.world_from_camera.Inverse() * from.world_from_camera;
  if (to_from.Translation().norm() > from.farthest + to.farthest) return 0;
  double worth = 0;
  int count = 0;
  for (int y = kStride / 2; y < from.depth.Height(); y += kStride) {
    for (int x = kStride / 2; x < from.depth.Width(); x += kStride) {
      if (!(from.depth(x, y) > 0)) continue;
      ++count;
      const Eigen::Vector3d at = static_cast<double>(from.depth(x, y)) * from.camera.RayAtUnitDepth(x, y);
      const Eigen::Vector3d there = to_from * at;
      const auto pixel = to.camera.IsBefore(there, 1e-6) ? to.camera.Project(there) : std::nullopt;
      if (!pixel || !(pixel->cwiseAbs().maxCoeff() < 1e6)) continue;
      const int u = static_cast<int>(std::lround(pixel->x())), v = static_cast<int>(std::lround(pixel->y()));
      if (!to.depth.Contains(u, v) || to.camera.Depth(there) > kHidden * to.depth(u, v)) continue;
      worth += std::min(kMost, at.norm() / there.norm());
    }
  }
  return count > 0 ? worth / count : 0;
}

// Those that see most of it.
std::vector<size_t> ChooseOthers(const std::vector<Sketch>& sketches, size_t view, int most) {
  constexpr double kLeast = 0.02;
  std::vector<std::pair<double, size_t>> candidates;
  for (size_t other = 0; other < sketches.size(); ++other) {
    const double worth = other == view ? 0 : Worth(sketches[view], sketches[other]);
    if (worth > kLeast) candidates.emplace_back(-worth, other);
  }
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > static_cast<size_t>(most)) candidates.resize(static_cast<size_t>(most));
  std::vector<size_t> chosen;
  for (const auto& [worth, other] : candidates) chosen.push_back(other);
  return chosen;
}

}  // namespace

void GatherDepths(const ViewList& views, const GatherOptions& options, int threads,
                  const std::function<void(int, const DepthView&)>& done) {
  const auto count = static_cast<size_t>(views.count);
  std::vector<Enlarged> enlarged(count);
  std::vector<Sketch> sketches(count);
  ParallelFor(views.count, threads, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    const DepthView view = views.load(static_cast<int>(i));
    sketches[k] = SketchOf(view);
    enlarged[k] = Enlarge(view);
    enlarged[k].view.depth = enlarged[k].view.depth.On(DiskMemory::Instance());
  });
  const size_t at_once = static_cast<size_t>(std::max(1, threads));
  for (size_t first = 0; first < count; first += at_once) {
    std::vector<DepthView> gathered(std::min(at_once, count - first));
    ParallelFor(static_cast<int64_t>(gathered.size()), threads, [&](int64_t i) {
      const size_t view = first + static_cast<size_t>(i);
      std::vector<const DepthView*> others;
      for (const size_t other : ChooseOthers(sketches, view, options.views))
        others.push_back(&enlarged[other].view);
      DepthView& result = gathered[static_cast<size_t>(i)];
      const Enlarged& own = enlarged[view];
      result = own.view;
      const auto [depth, evidence] = GatherDepth(own.view, others, options);
      result.depth = own.guide.Empty() ? depth : EnlargeDepth(depth, own.guide);
      result.sigma = EstimateDepthSigma(result.depth, evidence);
    });
    for (size_t i = 0; i < gathered.size(); ++i) done(static_cast<int>(first + i), gathered[i]);
  }
}

ViewList GatherViews(const ViewList& views, const GatherOptions& options, int threads,
                     const std::function<void(int)>& progress) {
  auto gathered = std::make_shared<std::vector<DepthView>>();
  GatherDepths(views, options, threads, [&](int i, const DepthView& view) {
    gathered->push_back({view.camera,
                         view.world_from_camera,
                         view.depth.On(DiskMemory::Instance()),
                         {},
                         view.sigma.On(DiskMemory::Instance())});
    if (progress) progress(i + 1);
  });
  return {views.count, [gathered, load = views.load](int i) {
            DepthView view = (*gathered)[static_cast<size_t>(i)];
            view.image = load(i).image;
            return view;
          }};
}

}  // namespace lumen
