#include "lumen/sim/flow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

class WarpedDepth : public testing::TestWithParam<TestSubject> {};
INSTANTIATE_TEST_SUITE_P(Sim, WarpedDepth,
                         testing::Values(TestSubject{AnatomyKind::kNasal, 1},
                                         TestSubject{AnatomyKind::kNasal, 14},
                                         TestSubject{AnatomyKind::kColon, 6},
                                         TestSubject{AnatomyKind::kBronchus, 9},
                                         TestSubject{AnatomyKind::kStomach, 11}),
                         [](const auto& test) { return NameOf(test.param); });

// Two views some way apart, turned against each other.
struct Views {
  explicit Views(const TestSubject& subject)
      : anatomy(SharedAnatomy(subject.kind, subject.seed)),
        renderer(anatomy, Camera::FromFieldOfView(77, 160, 128), MakeAppearance(subject.kind, subject.seed),
                 2) {
    PathOptions options;
    options.kind = PathKind::kInsertion;
    const std::vector<Rigid3> path = MakePath(*anatomy, options);
    world_from_first = path[40];
    world_from_second = path[55] * Rigid3(ExpSO3({0.03, -0.08, 0.3}), Vector3d::Zero());
    first_depth = renderer.RenderDepth(world_from_first);
    second_depth = renderer.RenderDepth(world_from_second);
    flow = ComputeFlow(renderer, first_depth, world_from_first, world_from_second);
  }
  std::shared_ptr<const Anatomy> anatomy;
  Renderer renderer;
  Rigid3 world_from_first, world_from_second;
  DepthImage first_depth, second_depth;
  FlowField flow;
};

void ExpectBetweenItsNeighbours(const Views& views) {
  EXPECT_GT(views.flow.overlap, 0.2);
  int checked = 0;
  int wrong = 0;
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 160; ++x) {
      if (views.flow.visible(x, y) == 0) continue;
      const double u = x + views.flow.flow(x, y, 0);
      const double v = y + views.flow.flow(x, y, 1);
      const int x0 = static_cast<int>(std::floor(u));
      const int y0 = static_cast<int>(std::floor(v));
      float low = 1e9F;
      float high = 0;
      bool content = true;
      for (const auto& [dx, dy] : {std::pair(0, 0), {1, 0}, {0, 1}, {1, 1}}) {
        if (!views.second_depth.Contains(x0 + dx, y0 + dy) || views.second_depth(x0 + dx, y0 + dy) == 0) {
          content = false;
          break;
        }
        low = std::min(low, views.second_depth(x0 + dx, y0 + dy));
        high = std::max(high, views.second_depth(x0 + dx, y0 + dy));
      }
      if (!content) continue;
      // Between the four pixels around it, with a little to spare for the surface's bend between them.
      const float spare = 0.02F * low + 0.3F * (high - low) + 0.05F;
      ++checked;
      wrong += views.flow.depth(x, y) < low - spare || views.flow.depth(x, y) > high + spare ? 1 : 0;
    }
  }
  EXPECT_GT(checked, 2000);
  EXPECT_LT(wrong, 0.003 * checked);
}

void ExpectWhereARayOfTheOtherCameraEnds(const Views& views) {
  double sum = 0;
  int count = 0;
  for (int y = 0; y < 128; y += 3) {
    for (int x = 0; x < 160; x += 3) {
      if (views.flow.visible(x, y) == 0) continue;
      const Vector3d ray =
          *views.renderer.View().Unproject({x + views.flow.flow(x, y, 0), y + views.flow.flow(x, y, 1)});
      const Vector3d in_world = views.world_from_second.Rotation() * ray;
      const float distance = views.renderer.TraceDistance(
          {views.world_from_second.Translation().cast<float>(), in_world.cast<float>()});
      sum += std::abs(distance * ray.z() - views.flow.depth(x, y));
      ++count;
    }
  }
  EXPECT_LT(sum / count, 0.03);
}

TEST_P(WarpedDepth, LandsOnTheOtherDepthWhereNothingIsInTheWay) {
  const Views views(GetParam());
  ExpectBetweenItsNeighbours(views);
  ExpectWhereARayOfTheOtherCameraEnds(views);
}

TEST(Flow, ToTheSameViewIsZeroAndOverlapsWhole) {
  const Views views(TestSubject{AnatomyKind::kColon, 6});
  const FlowField same =
      ComputeFlow(views.renderer, views.first_depth, views.world_from_first, views.world_from_first);
  EXPECT_GT(same.overlap, 0.999);
  for (size_t i = 0; i < same.flow.Size(); ++i) ASSERT_NEAR(same.flow.Data()[i], 0, 1e-3);
}

// What the flow calls hidden is hidden: a nearer wall stands in the other camera's way.
TEST(Flow, FlagsWhatIsHiddenAndNothingElse) {
  const Views views(TestSubject{AnatomyKind::kNasal, 1});
  int hidden = 0;
  int wrongly = 0;
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 160; ++x) {
      if (views.first_depth(x, y) == 0 || views.flow.visible(x, y) != 0) continue;
      const Vector3d ray = *views.renderer.View().Unproject({x, y});
      const Vector3d in_second = views.world_from_second.Inverse() * views.world_from_first *
                                 Vector3d(ray * (views.first_depth(x, y) / ray.z()));
      const auto uv = views.renderer.View().Project(in_second);
      if (!uv || uv->x() < 1 || uv->y() < 1 || uv->x() > 158 || uv->y() > 126) continue;
      const int u = static_cast<int>(std::lround(uv->x()));
      const int v = static_cast<int>(std::lround(uv->y()));
      if (views.second_depth(u, v) == 0) continue;
      ++hidden;
      float nearest = 1e9F;
      for (int i = 0; i < 9; ++i) {
        const float around = views.second_depth(u + i % 3 - 1, v + i / 3 - 1);
        if (around > 0) nearest = std::min(nearest, around);
      }
      wrongly += nearest > 0.995F * in_second.z() ? 1 : 0;
    }
  }
  EXPECT_GT(hidden, 100);
  EXPECT_LT(wrongly, 0.02 * hidden);
}

}  // namespace
}  // namespace lumen
