#include "lumen/sim/tissue_motion.h"

#include <gtest/gtest.h>

#include "lumen/sim/sequence.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

TEST(TissueMotion, GoesToAndFroWithinItsBoundAndNeighboursTogether) {
  const TissueMotion motion(6, 3);
  float largest = 0;
  for (int i = 0; i < 200; ++i) {
    const Eigen::Vector3f place(0.7F * static_cast<float>(i), 20, -5);
    EXPECT_EQ(motion.Displacement(place, 0).norm(), 0) << "it begins at rest";
    for (const double time : {0.4, 1.1, 2.3, 5.0}) {
      const Eigen::Vector3f way = motion.Displacement(place, time);
      EXPECT_LE(way.norm(), 6.01F);
      largest = std::max(largest, way.norm());
      EXPECT_LT((motion.Displacement(place + Eigen::Vector3f(0.5F, 0, 0), time) - way).norm(), 0.6F);
    }
  }
  EXPECT_GT(largest, 1.5F);
}

SequenceOptions Breathing(int severity) {
  SequenceOptions options;
  options.anatomy = AnatomyKind::kColon;
  options.seed = 2;
  options.width = 96;
  options.height = 80;
  options.path.frames = 60;
  options.degradations = {{DegradationKind::kBreathing, severity}};
  return options;
}

// Picture, depth and flow tell of one and the same motion: what a pixel shows lay elsewhere at rest.
TEST(TissueMotion, MovesPictureAndDepthAlike) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kColon, 2);
  const SimulatedSequence rests(anatomy, Breathing(0)), breathes(anatomy, Breathing(3));
  EXPECT_EQ(rests.Render(0).depth, breathes.Render(0).depth);
  const SimulatedFrame rest = rests.Render(50), moved = breathes.Render(50);
  EXPECT_EQ(rest.world_from_camera.Matrix(), moved.world_from_camera.Matrix())
      << "the camera does not breathe";
  EXPECT_EQ(moved.depth, breathes.RenderDepth(50));
  const Image<float> flow = breathes.TissueFlow(50);
  const TissueMotion motion(6, 2);
  int checked = 0;
  double worst = 0, change = 0;
  for (int y = 12; y < 68; y += 4) {
    for (int x = 12; x < 84; x += 4) {
      const Eigen::Vector2d source(x - flow(x, y, 0), y - flow(x, y, 1));
      const int u = static_cast<int>(std::lround(source.x())), v = static_cast<int>(std::lround(source.y()));
      if (!rest.depth.Contains(u, v) || !(rest.depth(u, v) > 0)) continue;
      const Eigen::Vector3d ray = *rests.View().Unproject(source);
      const Eigen::Vector3d there = ray * (rest.depth(u, v) / ray.z());
      const Eigen::Vector3d world = rest.world_from_camera * there;
      const Eigen::Vector3d way = motion.Displacement(world.cast<float>(), breathes.Time(50)).cast<double>();
      if (way.norm() > 0.3 * there.norm()) continue;
      const Eigen::Vector3d now = rest.world_from_camera.Inverse() * (world + way);
      const auto seen = rests.View().Project(now);
      ASSERT_TRUE(seen.has_value());
      ++checked;
      // At folds one pixel more or less is another depth.
      if ((*seen - Eigen::Vector2d(x, y)).norm() > 1) continue;
      worst = std::max(worst, std::abs(now.z() - moved.depth(x, y)) / now.z());
      change += std::abs(moved.depth(x, y) - rest.depth(x, y));
    }
  }
  EXPECT_GT(checked, 150);
  EXPECT_LT(worst, 0.35) << "at a fold; elsewhere a few percent";
  EXPECT_GT(change / checked, 0.3) << "millimetres";
}

}  // namespace
}  // namespace lumen
