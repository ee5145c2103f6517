#include "lumen/surface/map_surface.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/surface/surface_world_test.h"

namespace lumen {
namespace {

// Keyframes of the truth: a depth of half its size at a scale of two, two thirds of them in sub-map 0.
std::shared_ptr<const MapSnapshot> TrueMap(const SimulatedSequence& sequence) {
  auto view = std::make_shared<View>();
  view->camera = *sequence.View().AsUnified();
  view->mask = Mask(sequence.View().Width(), sequence.View().Height(), 1, 255);
  for (int x = 0; x < view->mask.Width(); ++x) view->mask(x, 0) = 0;
  auto map = std::make_shared<MapSnapshot>();
  const ViewList truth = TrueViews(sequence, 10);
  for (int i = 0; i < truth.count; ++i) {
    const DepthView seen = truth.load(i);
    auto frame = std::make_shared<Frame>();
    frame->view = view;
    auto keyframe = std::make_shared<Keyframe>();
    keyframe->frame = frame;
    keyframe->depth.average = seen.depth;
    for (size_t k = 0; k < seen.depth.Size(); ++k) keyframe->depth.average.Data()[k] /= 2;
    map->keyframes[i] = {keyframe, {seen.world_from_camera, std::log(2.0), {}}, i % 3 == 2 ? 1 : 0, -1};
  }
  return map;
}

TEST(MapSurface, AMapOfTheTruthLiesOnTheAnatomy) {
  const SimulatedSequence sequence(SmallSequence(AnatomyKind::kNasal, 5, 60));
  const auto map = TrueMap(sequence);
  EXPECT_EQ(ListMapViews(map, 0).count, 4);
  EXPECT_EQ(ListMapViews(map, 1).count, 2);
  const DepthImage depth = KeyframeDepth(map->keyframes.at(0)), truth = sequence.RenderDepth(0);
  for (int x = 0; x < depth.Width(); ++x) {
    EXPECT_EQ(depth(x, 0), 0) << "outside the content";
    EXPECT_NEAR(depth(x, 30), truth(x, 30), 1e-4F * truth(x, 30));
  }
  const FusionResult fused = FuseMap(map, 0, {}, {}, 2);
  ASSERT_EQ(fused.status, FusionStatus::kOk);
  EXPECT_LT(MeanDistance(fused.mesh, sequence.Surface()), 0.2);
}

TEST(MapSurface, AnEmptyMapHasNone) {
  EXPECT_EQ(FuseMap(std::make_shared<MapSnapshot>(), 0, {}, {}, 1).status, FusionStatus::kNoDepth);
}

}  // namespace
}  // namespace lumen
