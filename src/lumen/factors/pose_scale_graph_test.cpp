#include "lumen/factors/pose_scale_graph.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/factors/pose_scale_scene_test.h"

namespace lumen {
namespace {

TEST(PoseScaleGraph, ClosesALoopAndDistributesTheDrift) {
  const PoseScaleScene scene = MakePoseScaleScene({.keyframes = 60, .loops = 1, .seed = 1});
  const PoseScaleResult result = SolvePoseScaleGraph(scene.problem);
  EXPECT_EQ(result.status, PoseScaleStatus::kConverged) << result.reason;
  EXPECT_LT(MeanPositionError(result.keyframes, scene.truth),
            MeanPositionError(scene.problem.keyframes, scene.truth));
  // The loop's own ends meet as verified, up to what the connections hold against it.
  const PoseScaleLoop& loop = scene.problem.loops[0];
  const auto gap = [&](const std::map<int64_t, PoseScale>& keyframes) {
    const Rigid3 relative =
        keyframes.at(loop.target).world_from_camera.Inverse() * keyframes.at(loop.source).world_from_camera;
    return relative.Local(loop.goal.target_from_source).norm();
  };
  EXPECT_LT(gap(result.keyframes), 0.2 * gap(scene.problem.keyframes));
  EXPECT_LT(result.solver.final_error, 0.1 * result.solver.initial_error);
}

TEST(PoseScaleGraph, FiveHundredKeyframesWithFiftyLoopsConverge) {
  const PoseScaleScene scene = MakePoseScaleScene({.keyframes = 500, .loops = 50, .seed = 2});
  const PoseScaleResult result = SolvePoseScaleGraph(scene.problem);
  EXPECT_EQ(result.status, PoseScaleStatus::kConverged) << result.reason;
  EXPECT_LT(MeanPositionError(result.keyframes, scene.truth),
            0.2 * MeanPositionError(scene.problem.keyframes, scene.truth));
  // Solving again from the solution moves nothing beyond the thresholds.
  PoseScaleProblem again = scene.problem;
  PoseScaleOptions tight;
  tight.solver.settled_steps = 0;
  const PoseScaleResult exact = SolvePoseScaleGraph(again, tight);
  for (const auto& [id, state] : result.keyframes) {
    const PoseScale& best = exact.keyframes.at(id);
    EXPECT_LT(state.world_from_camera.Local(best.world_from_camera).cwiseAbs().maxCoeff(), 3e-3) << id;
    EXPECT_NEAR(state.log_scale, best.log_scale, 1e-2) << id;
  }
}

TEST(PoseScaleGraph, ExactLoopChangesNothing) {
  PoseScaleScene scene = MakePoseScaleScene({.keyframes = 30, .loops = 1, .seed = 3});
  scene.problem.keyframes = scene.truth;
  const PoseScaleResult result = SolvePoseScaleGraph(scene.problem);
  EXPECT_EQ(result.status, PoseScaleStatus::kConverged) << result.reason;
  EXPECT_LT(MeanPositionError(result.keyframes, scene.truth), 1e-9);
  EXPECT_LT(result.solver.final_error, 1e-15);
}

TEST(PoseScaleGraph, AnchorStaysAndLoneKeyframesStay) {
  PoseScaleScene scene = MakePoseScaleScene({.keyframes = 30, .loops = 2, .seed = 4});
  const PoseScale alone{Rigid3(Eigen::Quaterniond::Identity(), {7, 8, 9}), 0.4};
  scene.problem.keyframes[99] = alone;
  const PoseScaleResult result = SolvePoseScaleGraph(scene.problem);
  EXPECT_EQ(result.keyframes.at(99).world_from_camera.Matrix(), alone.world_from_camera.Matrix());
  EXPECT_EQ(result.keyframes.at(99).log_scale, 0.4);
  const Rigid3& anchor = result.keyframes.at(0).world_from_camera;
  EXPECT_LT(anchor.Local(scene.problem.keyframes.at(0).world_from_camera).norm(), 1e-3);
}

TEST(PoseScaleGraph, SaysWhenThereIsNoLoopAndWhenItRunsOutOfIterations) {
  PoseScaleScene scene = MakePoseScaleScene({.keyframes = 30, .loops = 1, .seed = 5});
  PoseScaleOptions options;
  options.solver.max_iterations = 1;
  EXPECT_EQ(SolvePoseScaleGraph(scene.problem, options).status, PoseScaleStatus::kNotConverged);
  scene.problem.loops.clear();
  const PoseScaleResult result = SolvePoseScaleGraph(scene.problem);
  EXPECT_EQ(result.status, PoseScaleStatus::kNothingToDo);
  EXPECT_FALSE(result.reason.empty());
  EXPECT_EQ(result.keyframes.size(), 30U);
}

TEST(PoseScaleGraph, LinksToKeyframesThatAreNotThereBreakTheContract) {
  PoseScaleScene scene = MakePoseScaleScene({.keyframes = 10, .loops = 1, .seed = 6});
  PoseScaleProblem broken = scene.problem;
  broken.connections.emplace_back(3, 77);
  EXPECT_THROW(SolvePoseScaleGraph(broken), ContractError);
  broken = scene.problem;
  broken.loops[0].target = broken.loops[0].source;
  EXPECT_THROW(SolvePoseScaleGraph(broken), ContractError);
  broken = scene.problem;
  broken.anchor = 55;
  EXPECT_THROW(SolvePoseScaleGraph(broken), ContractError);
}

}  // namespace
}  // namespace lumen
