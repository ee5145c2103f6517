#include "lumen/slam/loop_closer.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "lumen/base/random.h"
#include "lumen/slam/graph_distance.h"
#include "lumen/slam/perfect_video_test.h"

namespace lumen {
namespace {

// Maps made by hand from frames of one video whose depth is perfect.
class LoopCloserTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { video_ = new PerfectVideo(PerfectVideo::OfSubject(0, 320)); }
  static void TearDownTestSuite() { delete std::exchange(video_, nullptr); }

  LoopCloserTest() : mapper_(SlamOptions().mapping), loops_(SlamOptions().loop, mapper_) {}

  static KeyframeState Truth(int frame) {
    return {video_->Sequence().Pose(frame), std::log(video_->MakePriors()->TrueScale(frame)), {}};
  }
  static LoopSide Side(KeyframeId id, int frame) {
    LoopSide side{id, video_->MakeKeyframe(frame), Truth(frame)};
    side.state.code = Eigen::VectorXd::Zero(side.keyframe->depth.NumBases());
    return side;
  }
  // A keyframe in its true place, tracked against another one; the first of a sub-map without.
  void Add(KeyframeId id, int frame, KeyframeId parent, int submap = 0, BagOfWords words = {}) {
    if (parent < 0) {
      mapper_.Start(id, video_->MakeKeyframe(frame), Truth(frame), submap);
    } else {
      mapper_.Add(id, video_->MakeKeyframe(frame), Truth(frame), submap, parent);
      mapper_.Connect(id, parent, EdgeKind::kTemporal);
    }
    loops_.AddWords(id, std::move(words));
    mapper_.Update();
  }
  // What the map says of a pair already, moved by this much.
  PairEvidence Claim(KeyframeId query, KeyframeId reference, const Vector6d& off = Vector6d::Zero()) const {
    const KeyframeState& from = mapper_.At(query).state;
    const KeyframeState& to = mapper_.At(reference).state;
    PairEvidence evidence;
    evidence.verified = true;
    evidence.goal = {Rigid3::Exp(off) * to.world_from_camera.Inverse() * from.world_from_camera,
                     from.log_scale, to.log_scale};
    return evidence;
  }

  static inline PerfectVideo* video_ = nullptr;
  Mapper mapper_;
  LoopCloser loops_;
};

TEST_F(LoopCloserTest, DistanceInTheGraphIsTheFewestEdges) {
  // Numbers with holes: 0 - 3 - 4 - 9 - 20, and a shortcut from 0 to 9.
  Add(0, 0, -1);
  Add(3, 4, 0);
  Add(4, 8, 3);
  Add(9, 12, 4);
  Add(20, 16, 9);
  const auto hops_to = [&](const std::vector<Reached>& reached, KeyframeId id) {
    for (const Reached& other : reached) {
      if (other.id == id) return other.hops;
    }
    return -1;
  };
  EXPECT_EQ(hops_to(FindWithin(mapper_, 0, 9), 20), 4);
  EXPECT_EQ(hops_to(FindWithin(mapper_, 0, 3), 20), -1);
  mapper_.Connect(0, 9, EdgeKind::kGlobalLoop);
  const std::vector<Reached> reached = FindWithin(mapper_, 0, 9);
  EXPECT_EQ(hops_to(reached, 0), 0);
  EXPECT_EQ(hops_to(reached, 20), 2);
  EXPECT_EQ(hops_to(reached, 4), 2);
  EXPECT_TRUE(std::is_sorted(reached.begin(), reached.end(),
                             [](const Reached& a, const Reached& b) { return a.hops < b.hops; }));
  const auto without_shortcut = [](KeyframeId a, KeyframeId b) {
    return std::minmax(a, b) != std::minmax<KeyframeId>(0, 9);
  };
  EXPECT_EQ(hops_to(FindWithin(mapper_, 0, 9, without_shortcut), 20), 4);
}

TEST_F(LoopCloserTest, MatchesHoldWhateverBecomesOfTheStates) {
  const LoopVerifier verifier(SlamOptions().loop.verifier);
  LoopSide query = Side(7, 8);
  LoopSide reference = Side(2, 0);
  const PairEvidence evidence = verifier.Examine(query, reference, 5);
  EXPECT_TRUE(evidence.verified) << evidence.reason;
  ASSERT_NE(evidence.matches, nullptr);
  const MatchSet matched = verifier.Match(query, reference, 5);
  // Fewer keypoints are the first of more.
  ASSERT_LE(matched.matches.size(), evidence.matches->matches.size());
  for (size_t i = 0; i < matched.matches.size(); ++i)
    EXPECT_EQ(matched.matches[i].source, evidence.matches->matches[i].source);
  const double right = Agreement(query, reference, *evidence.matches);
  EXPECT_GT(right, 0.5);
  EXPECT_NEAR(Agreement(query, reference, matched), right, 0.1);
  // All moved together says the same; one of them alone does not.
  const Rigid3 elsewhere = Rigid3::Exp((Vector6d() << 3, -2, 4, 0.2, 0.3, -0.1).finished());
  query.state.world_from_camera = elsewhere * query.state.world_from_camera;
  EXPECT_LT(Agreement(query, reference, *evidence.matches), 0.1);
  reference.state.world_from_camera = elsewhere * reference.state.world_from_camera;
  EXPECT_NEAR(Agreement(query, reference, *evidence.matches), right, 1e-9);
}

TEST_F(LoopCloserTest, PairsWithoutAnythingInCommonAreToldByTheirFirstKeypoints) {
  const LoopVerifier verifier(SlamOptions().loop.verifier);
  LoopSide noise = Side(2, 0);
  auto frame = std::make_shared<Frame>(*noise.keyframe->frame);
  Image<float>& descriptors = frame->features.descriptors;
  Random random(4);
  for (int y = 0; y < descriptors.Height(); ++y) {
    for (int x = 0; x < descriptors.Width(); ++x) {
      for (int c = 0; c < descriptors.Channels(); ++c)
        descriptors.Pixel(x, y)[c] = static_cast<float>(random.Normal(0, 1));
    }
  }
  noise.keyframe = std::make_shared<Keyframe>(Keyframe{frame, noise.keyframe->depth});
  const PairEvidence evidence = verifier.Examine(Side(7, 0), noise, 5);
  EXPECT_FALSE(evidence.verified);
  ASSERT_NE(evidence.matches, nullptr);
  EXPECT_LT(evidence.matches->candidates, SlamOptions().loop.verifier.matching.matching.keypoints);
}

TEST_F(LoopCloserTest, LooksAreKeptForTheLastFewKeyframes) {
  KeyframeLooks looks(64);
  const auto first = video_->MakeKeyframe(0);
  const auto look = looks.Of(first);
  EXPECT_EQ(look->Samples()->Size(), 64);
  EXPECT_FALSE(look->UnpackedFrame()->features.IsPacked());
  EXPECT_EQ(&look->Index(), &looks.Of(first)->Index());
  std::vector<std::shared_ptr<const Keyframe>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_shared<Keyframe>(*first));
    looks.Of(others.back());
    EXPECT_EQ(looks.Of(first), look);  // used all the time
  }
  EXPECT_EQ(others.front().use_count(), 1);
  EXPECT_EQ(others.back().use_count(), 2);
}

TEST_F(LoopCloserTest, AFalseLoopGoesWithAllThatBridgesTheCut) {
  for (int i = 0; i < 6; ++i) Add(i, 4 * i, i - 1, 0);
  for (int i = 0; i < 6; ++i) Add(10 + i, 140 + 4 * i, i == 0 ? -1 : 9 + i, 1);
  mapper_.Settle(10, 2);
  // The second map is said to lie beside the first one's beginning, and then an older keyframe is connected
  // to a newer one, as a search in the finished map may do.
  PairEvidence joining = Claim(1, 0);
  joining.goal.source_log_scale = mapper_.At(10).state.log_scale;
  loops_.Close(10, 0, joining, 0);
  loops_.Close(2, 12, Claim(2, 12), 0);
  ASSERT_EQ(loops_.TakeEvents().size(), 2U);
  ASSERT_EQ(loops_.Unproved(), 2U);
  EXPECT_GE(loops_.AuditByNeighbours(), 1);
  EXPECT_FALSE(mapper_.Connected(10, 0));
  EXPECT_FALSE(mapper_.Connected(2, 12));
  EXPECT_NE(mapper_.At(0).submap, mapper_.At(10).submap);
  std::map<KeyframeId, KeyframeId> removed;
  for (const LoopEvent& event : loops_.TakeEvents()) {
    ASSERT_EQ(event.kind, LoopEventKind::kRemoved);
    removed[event.query] = event.reference;
    int against = 0;
    int looks = 0;
    if (std::sscanf(event.reason.c_str(), "%d of %d looks", &against, &looks) != 2) continue;
    EXPECT_GE(against, 1);
    EXPECT_LE(against, looks) << event.reason;
  }
  EXPECT_EQ(removed, (std::map<KeyframeId, KeyframeId>{{10, 0}, {2, 12}}));
}

// In and out again, so that the last keyframe sees what the first did, and each knows its two neighbours.
TEST_F(LoopCloserTest, WhatTheMapForeseesIsClosedWithoutMeasuringAndNeedsNoProof) {
  const auto vocabulary = video_->MakeVocabulary();
  const std::vector<int> frames{0, 4, 8, 12, 16, 20, 18, 14, 10, 6, 2, 1};
  for (KeyframeId id = 0; id < std::ssize(frames); ++id) {
    const int frame = frames[static_cast<size_t>(id)];
    const auto descriptors = video_->MakePriors()->ComputeFeatures(video_->Frame(frame)).descriptors;
    Add(id, frame, id - 1, 0,
        vocabulary->Describe(CollectDescriptors(descriptors, video_->GetView()->eroded_mask)));
    if (id > 1) mapper_.Connect(id, id - 2, EdgeKind::kTemporal);
    mapper_.Update();
  }
  loops_.Search(11);
  const std::vector<LoopEvent> events = loops_.TakeEvents();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LoopEventKind::kClosed);
  EXPECT_EQ(events[0].query, 11);
  EXPECT_LE(events[0].reference, 1);
  EXPECT_GT(events[0].evidence.inlier_ratio, 0.2);
  EXPECT_GT(events[0].evidence.overlap.Product(), 0.5);
  EXPECT_TRUE(mapper_.Connected(11, events[0].reference));
  EXPECT_EQ(loops_.Unproved(), 0U);
  // It is in the map from the next step on, and says what the map says.
  const KeyframeState before = mapper_.At(11).state;
  mapper_.Update();
  const Rigid3 moved = before.world_from_camera.Inverse() * mapper_.At(11).state.world_from_camera;
  EXPECT_LT(moved.Translation().norm(), 0.02 * MeanDepth(mapper_.At(11)));
}

TEST(LoopCloser, TheSameLoopsWithAnyNumberOfThreads) {
  const PerfectVideo& video = PerfectVideo::OfSubject(0, 320);
  const auto vocabulary = video.MakeVocabulary();
  const auto run = [&](int threads) {
    SlamOptions options;
    options.keyframe.patience = 0.15;
    options.threads = threads;
    Slam slam(video.MakePriors(), video.GetView(), vocabulary, options);
    for (int i = 30; i < 60; ++i) slam.Process(video.Frame(i));
    for (int i = 200; i < 290; ++i) slam.Process(video.Frame(i));
    return slam.TakeLoopEvents();
  };
  const std::vector<LoopEvent> one = run(1);
  const std::vector<LoopEvent> four = run(4);
  EXPECT_FALSE(one.empty());
  ASSERT_EQ(one.size(), four.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].kind, four[i].kind);
    EXPECT_EQ(one[i].query, four[i].query);
    EXPECT_EQ(one[i].reference, four[i].reference);
    EXPECT_EQ(one[i].evidence.inlier_ratio, four[i].evidence.inlier_ratio);
    EXPECT_EQ(one[i].evidence.goal.source_log_scale, four[i].evidence.goal.source_log_scale);
    EXPECT_EQ(one[i].evidence.matches, nullptr) << "events may be kept for long";
  }
}

}  // namespace
}  // namespace lumen
