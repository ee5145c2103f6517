#include "lumen/slam/map_changes.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "lumen/slam/perfect_video_test.h"

namespace lumen {
namespace {

// Maps made by hand from frames of one video whose depth is perfect; each map lies in a world of its own.
class MapChangesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { video_ = new PerfectVideo(PerfectVideo::OfSubject(0, 320)); }
  static void TearDownTestSuite() { delete std::exchange(video_, nullptr); }

  MapChangesTest() : mapper_(SlamOptions().mapping), changes_(SlamOptions().loop.pose_scale, mapper_) {}

  static Sim3 World(int submap) {
    return submap == 0
               ? Sim3()
               : Sim3::Exp((Vector7d() << 30 * submap, -20, 5, 0.7, -0.4 * submap, 0.3, 0.4).finished());
  }
  Rigid3 Truth(KeyframeId id) const { return video_->Sequence().Pose(frames_.at(id)); }

  // Where the truth of a keyframe lies in a map's world.
  KeyframeState StateIn(KeyframeId id, int submap) const {
    return {World(submap).TransformPose(Truth(id)), std::log(World(submap).Scale()) + LogUnit(id), {}};
  }
  // Each frame's depth comes in a unit of its own.
  double LogUnit(KeyframeId id) const { return std::log(video_->MakePriors()->TrueScale(frames_.at(id))); }
  // The size of the world a keyframe lies in.
  double LogWorld(KeyframeId id) const { return mapper_.At(id).state.log_scale - LogUnit(id); }
  KeyframeId Start(int submap, int frame) {
    const KeyframeId id = next_++;
    frames_[id] = frame;
    mapper_.Start(id, video_->MakeKeyframe(frame), StateIn(id, submap), submap);
    return id;
  }
  KeyframeId AddAfter(KeyframeId parent, int frame, KeyframeId also = -1) {
    const KeyframeId id = next_++;
    frames_[id] = frame;
    const MapKeyframe& reference = mapper_.At(parent);
    KeyframeState state = reference.state;
    state.world_from_camera = reference.state.world_from_camera * ScaledStep(parent, id);
    state.log_scale = LogWorld(parent) + LogUnit(id);
    state.code = {};
    mapper_.Add(id, video_->MakeKeyframe(frame), state, reference.submap, parent);
    mapper_.Connect(id, parent, EdgeKind::kTemporal);
    if (also >= 0) mapper_.Connect(id, also, EdgeKind::kTemporal);
    mapper_.Update();
    return id;
  }
  // Keyframes at these frames, each tracked against the one before. Returns the first one's number.
  KeyframeId Build(int submap, const std::vector<int>& frames) {
    const KeyframeId first = Start(submap, frames.front());
    for (size_t i = 1; i < frames.size(); ++i) AddAfter(next_ - 1, frames[i]);
    mapper_.Settle(10, 2);
    return first;
  }
  Rigid3 ScaledStep(KeyframeId from, KeyframeId to) const {
    const Rigid3 step = Truth(from).Inverse() * Truth(to);
    return {step.Rotation(), std::exp(LogWorld(from)) * step.Translation()};
  }
  // What a right loop says; a false one is off by this much, or takes the query for another keyframe.
  RelativePoseScaleGoal Goal(const LoopPair& loop, const Vector6d& off = Vector6d::Zero(),
                             KeyframeId taken_for = -1) const {
    const KeyframeId seen = taken_for < 0 ? loop.query : taken_for;
    return {Rigid3::Exp(off) * ScaledStep(loop.reference, seen),
            LogWorld(loop.reference) + LogUnit(loop.query), mapper_.At(loop.reference).state.log_scale};
  }
  // What the map says already.
  RelativePoseScaleGoal PresentGoal(const LoopPair& loop) const {
    const KeyframeState& query = mapper_.At(loop.query).state;
    const KeyframeState& reference = mapper_.At(loop.reference).state;
    return {reference.world_from_camera.Inverse() * query.world_from_camera, query.log_scale,
            reference.log_scale};
  }
  // Root mean square distance of some keyframes from the truth, in mm, after similarity alignment.
  double ErrorOf(const std::vector<KeyframeId>& ids) const {
    std::vector<Eigen::Vector3d> estimate, truth;
    for (const KeyframeId id : ids) {
      estimate.push_back(mapper_.At(id).state.world_from_camera.Translation());
      truth.push_back(Truth(id).Translation());
    }
    const auto alignment = EstimateAlignment(estimate, truth);
    if (!alignment) return 1e9;
    double sum = 0;
    for (size_t i = 0; i < estimate.size(); ++i) sum += (*alignment * estimate[i] - truth[i]).squaredNorm();
    return std::sqrt(sum / static_cast<double>(estimate.size()));
  }
  double ErrorOf(int submap) const { return ErrorOf(mapper_.KeyframesOf(submap)); }
  int EdgesBetweenSubmaps() const {
    int count = 0;
    for (const MapEdge& edge : mapper_.Edges())
      count += mapper_.At(edge.first).submap != mapper_.At(edge.second).submap ? 1 : 0;
    return count;
  }
  static std::vector<int> Frames(int first, int count, int step = 4) {
    std::vector<int> frames;
    for (int i = 0; i < count; ++i) frames.push_back(first + i * step);
    return frames;
  }
  static Vector6d Off() { return (Vector6d() << 3, -2, 4, 0.2, 0.3, -0.1).finished(); }

  static inline PerfectVideo* video_ = nullptr;
  std::map<KeyframeId, int> frames_;
  KeyframeId next_ = 0;
  Mapper mapper_;
  MapChanges changes_;
};

constexpr double kRight = 0.08;  // mm; a chain of perfect keyframes drifts by half of it

TEST_F(MapChangesTest, AJoiningEdgeHidesNoMoreThanAnyOther) {
  const KeyframeId a = Build(0, Frames(0, 5));
  const KeyframeId b = Build(1, Frames(20, 5));
  const LoopPair loop{b, a + 4};
  // The same two keyframes, connected in the ordinary way where the loop says they are.
  const RelativePoseScaleGoal goal = Goal(loop);
  KeyframeState placed = mapper_.At(b).state;
  placed.world_from_camera = mapper_.At(a + 4).state.world_from_camera * goal.target_from_source;
  placed.log_scale = goal.source_log_scale;
  Mapper ordinary(SlamOptions().mapping);
  ordinary.Add(loop.reference, mapper_.At(loop.reference).keyframe, mapper_.At(loop.reference).state, 0, -1);
  ordinary.Add(loop.query, mapper_.At(loop.query).keyframe, placed, 0, -1);
  ordinary.Connect(loop.query, loop.reference, EdgeKind::kTemporal);

  ASSERT_EQ(changes_.Close(loop, goal).how, LoopClosing::kJoined);
  const double usual = ordinary.HiddenShare(loop.query, loop.reference);
  const double hidden = mapper_.HiddenShare(loop.query, loop.reference);
  std::printf("hidden: %.3f on the joining edge, %.3f on an ordinary one\n", hidden, usual);
  EXPECT_NEAR(hidden, usual, 0.02);
  EXPECT_LT(hidden, 0.1);
  EXPECT_EQ(mapper_.KeyframesOf(0).size(), 10U);
  EXPECT_LT(ErrorOf(0), kRight);
}

TEST_F(MapChangesTest, AFalseJoinTakenOutLeavesNoEdgeAcrossTheCut) {
  const KeyframeId a = Build(0, Frames(0, 6));
  const KeyframeId b = Build(1, Frames(150, 6));
  const LoopPair loop{b + 2, a + 2};
  ASSERT_EQ(changes_.Close(loop, Goal(loop, Off(), a + 3)).how, LoopClosing::kJoined);
  // The map agrees with itself: another loop and a keyframe bridge the two.
  const LoopPair agreeing{b + 4, a + 4};
  ASSERT_EQ(changes_.Close(agreeing, PresentGoal(agreeing)).how, LoopClosing::kConnected);
  const KeyframeId later = AddAfter(b + 5, 174, a + 5);
  mapper_.Settle(5, 2);
  ASSERT_EQ(mapper_.KeyframesOf(0).size(), 13U);

  const std::vector<MapEdge> gone = changes_.TakeOut(loop);
  EXPECT_EQ(gone.size(), 2U);
  EXPECT_EQ(EdgesBetweenSubmaps(), 0);
  EXPECT_EQ(mapper_.KeyframesOf(0).size(), 6U);
  EXPECT_EQ(mapper_.KeyframesOf(1).size(), 7U);
  EXPECT_EQ(mapper_.At(later).submap, 1);
  std::printf("parted: %.4f and %.4f mm\n", ErrorOf(0), ErrorOf(1));
  EXPECT_LT(ErrorOf(0), kRight);
  EXPECT_LT(ErrorOf(1), kRight);
  for (const KeyframeId id : mapper_.Ids()) EXPECT_LT(mapper_.At(id).state.code.norm(), 0.05) << id;
  // Both go on: a loop within each can be closed, and they can be joined anew.
  const LoopPair within{a + 5, a};
  EXPECT_EQ(changes_.Close(within, Goal(within, 0.1 * Off())).how, LoopClosing::kBalanced);
  EXPECT_EQ(mapper_.Trouble().singular, 0);
}

TEST_F(MapChangesTest, AWayBackIsCarriedAlongByALaterJoin) {
  const KeyframeId a = Build(0, Frames(40, 5));
  const KeyframeId b = Build(1, Frames(0, 10));
  const double before = ErrorOf(1);
  const LoopPair wrong{b + 9, b};
  ASSERT_EQ(changes_.Close(wrong, Goal(wrong, Off())).how, LoopClosing::kBalanced);
  const double bent = ErrorOf(1);
  EXPECT_GT(bent, 5 * before);
  const LoopPair join{b + 9, a};
  ASSERT_EQ(changes_.Close(join, Goal(join)).how, LoopClosing::kJoined);
  changes_.TakeOut(wrong);
  std::printf("%.4f mm before, bent %.3f mm, then %.4f mm\n", before, bent, ErrorOf(0));
  EXPECT_EQ(mapper_.KeyframesOf(0).size(), 15U);
  EXPECT_LT(ErrorOf(0), kRight);
}

class TwoFalseLoops : public MapChangesTest, public testing::WithParamInterface<bool> {};

TEST_P(TwoFalseLoops, AreTakenOutInAnyOrder) {
  const KeyframeId a = Build(0, Frames(0, 12));
  const LoopPair one{a + 10, a};
  const LoopPair two{a + 11, a + 1};
  ASSERT_EQ(changes_.Close(one, Goal(one, Off())).how, LoopClosing::kBalanced);
  ASSERT_EQ(changes_.Close(two, Goal(two, -Off())).how, LoopClosing::kBalanced);
  AddAfter(a + 11, 48);
  EXPECT_GT(ErrorOf(0), 0.3);
  changes_.TakeOut(GetParam() ? one : two);
  changes_.TakeOut(GetParam() ? two : one);
  std::printf("both out: %.4f mm\n", ErrorOf(0));
  EXPECT_LT(ErrorOf(0), kRight);
  EXPECT_EQ(mapper_.KeyframesOf(0).size(), 13U);
}
INSTANTIATE_TEST_SUITE_P(MapChanges, TwoFalseLoops, testing::Bool());

TEST_F(MapChangesTest, AThirdMapGoesWithTheOneItWasJoinedBy) {
  const KeyframeId a = Build(0, Frames(0, 5));
  const KeyframeId b = Build(1, Frames(140, 5));
  const KeyframeId c = Build(2, Frames(160, 5));
  const LoopPair wrong{b, a + 2};
  ASSERT_EQ(changes_.Close(wrong, Goal(wrong, Off(), a + 3)).how, LoopClosing::kJoined);
  const LoopPair right{c, b + 4};
  ASSERT_EQ(changes_.Close(right, Goal(right)).how, LoopClosing::kJoined);
  ASSERT_EQ(mapper_.KeyframesOf(0).size(), 15U);
  EXPECT_EQ(changes_.TakeOut(wrong).size(), 1U);
  EXPECT_EQ(mapper_.KeyframesOf(0).size(), 5U);
  const int part = mapper_.At(b).submap;
  EXPECT_EQ(mapper_.At(c).submap, part);
  EXPECT_EQ(mapper_.KeyframesOf(part).size(), 10U);
  std::printf("first %.4f, second with third %.4f mm\n", ErrorOf(0), ErrorOf(part));
  EXPECT_LT(ErrorOf(0), kRight);
  EXPECT_LT(ErrorOf(part), kRight);
  EXPECT_EQ(EdgesBetweenSubmaps(), 0);
}

TEST_F(MapChangesTest, AThirdMapDoesSoEvenIfAnotherLoopLeadsToTheOther) {
  const KeyframeId a = Build(0, Frames(0, 5));
  const KeyframeId b = Build(1, Frames(140, 5));
  const KeyframeId c = Build(2, Frames(160, 5));
  const LoopPair wrong{b, a + 2};
  ASSERT_EQ(changes_.Close(wrong, Goal(wrong, Off(), a + 3)).how, LoopClosing::kJoined);
  const LoopPair right{c, b + 4};
  ASSERT_EQ(changes_.Close(right, Goal(right)).how, LoopClosing::kJoined);
  const LoopPair agreeing{c + 1, a};
  ASSERT_EQ(changes_.Close(agreeing, PresentGoal(agreeing)).how, LoopClosing::kConnected);
  EXPECT_EQ(changes_.TakeOut(wrong).size(), 2U);
  EXPECT_EQ(mapper_.KeyframesOf(0).size(), 5U);
  EXPECT_EQ(mapper_.At(c).submap, mapper_.At(b).submap);
  EXPECT_LT(ErrorOf(mapper_.At(b).submap), kRight);
}

TEST_F(MapChangesTest, WhatHasLeftTheMapSinceStaysWhereItIs) {
  const KeyframeId a = Build(0, Frames(0, 5));
  const KeyframeId b = Build(1, Frames(140, 5));
  const KeyframeId c = Build(2, Frames(160, 5));
  const LoopPair first{c, b + 4};
  ASSERT_EQ(changes_.Close(first, Goal(first)).how, LoopClosing::kJoined);
  const LoopPair second{c + 2, a + 2};
  ASSERT_EQ(changes_.Close(second, Goal(second, Off(), a + 3)).how, LoopClosing::kJoined);
  changes_.TakeOut(first);  // the second map is one of its own again, and grows
  const int part = mapper_.At(b).submap;
  ASSERT_NE(part, mapper_.At(a).submap);
  AddAfter(b + 4, 158);
  const Rigid3 before = mapper_.At(b + 2).state.world_from_camera;
  changes_.TakeOut(second);
  EXPECT_EQ(mapper_.KeyframesOf(part).size(), 6U);
  EXPECT_LT((before.Inverse() * mapper_.At(b + 2).state.world_from_camera).Log().norm(), 0.1);
  EXPECT_LT(ErrorOf(part), kRight);
  EXPECT_LT(ErrorOf(mapper_.At(c).submap), kRight);
  EXPECT_LT(ErrorOf(mapper_.At(a).submap), kRight);
}

TEST_F(MapChangesTest, AGoalMeasuredBeforeItsMapChangedItsUnitStillHolds) {
  const KeyframeId a = Build(0, Frames(0, 5));
  const KeyframeId b = Build(1, Frames(20, 5));
  const KeyframeId c = Build(2, Frames(40, 5));
  const LoopPair loop{b, a + 4};
  const RelativePoseScaleGoal goal = Goal(loop);
  const LoopPair earlier{a, c};
  ASSERT_EQ(changes_.Close(earlier, Goal(earlier)).how, LoopClosing::kJoined);
  ASSERT_EQ(changes_.Close(loop, goal).how, LoopClosing::kJoined);
  std::printf("three maps of other units in one: %.4f mm\n", ErrorOf(mapper_.At(a).submap));
  EXPECT_EQ(mapper_.KeyframesOf(mapper_.At(a).submap).size(), 15U);
  EXPECT_LT(ErrorOf(mapper_.At(a).submap), 3 * kRight);
}

TEST_F(MapChangesTest, ALoopThatBentBothGoesWithTheCutAndItsBendToo) {
  const KeyframeId a = Build(0, Frames(0, 6));
  const KeyframeId b = Build(1, Frames(150, 6));
  const LoopPair wrong{b + 1, a + 1};
  ASSERT_EQ(changes_.Close(wrong, Goal(wrong, Off(), a + 2)).how, LoopClosing::kJoined);
  const LoopPair bending{b + 5, a + 5};
  RelativePoseScaleGoal goal = PresentGoal(bending);
  goal.target_from_source = Rigid3::Exp(Off()) * goal.target_from_source;
  ASSERT_EQ(changes_.Close(bending, goal).how, LoopClosing::kBalanced);
  changes_.TakeOut(wrong);
  EXPECT_EQ(EdgesBetweenSubmaps(), 0);
  std::printf("bent and parted: %.4f and %.4f mm\n", ErrorOf(0), ErrorOf(1));
  EXPECT_LT(ErrorOf(0), kRight);
  EXPECT_LT(ErrorOf(1), kRight);
}

TEST_F(MapChangesTest, ALoopThatCannotBeBalancedIsRefusedAndNothingMoves) {
  PoseScaleOptions hasty = SlamOptions().loop.pose_scale;
  hasty.solver.max_iterations = 1;
  MapChanges changes(hasty, mapper_);
  const KeyframeId a = Build(0, Frames(0, 8));
  const LoopPair wrong{a + 7, a};
  const ClosedLoop closed = changes.Close(wrong, Goal(wrong, Off()));
  EXPECT_EQ(closed.how, LoopClosing::kRefused);
  EXPECT_FALSE(closed.reason.empty());
  EXPECT_FALSE(mapper_.Connected(wrong.query, wrong.reference));
  EXPECT_LT(ErrorOf(0), kRight);
}

}  // namespace
}  // namespace lumen
