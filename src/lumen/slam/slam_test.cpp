#include "lumen/slam/slam.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "lumen/slam/perfect_video_test.h"

namespace lumen {
namespace {

constexpr int kNasal = 0;
constexpr int kColon = 4;

// The system's own error, apart from the model's.
TEST(Slam, PerfectPriorsGiveANearlyPerfectPath) {
  for (const int subject : {kNasal, kColon}) {
    const PerfectVideo& video = PerfectVideo::OfSubject(subject, 100);
    Slam slam(video.MakePriors(), video.GetView());
    for (int i = 0; i < video.Size(); ++i) slam.Process(video.Frame(i));
    const PerfectVideo::Error error = video.Grade(slam);
    std::printf("%s: ATE %.4f mm, %.3f %% of the path, %zu keyframes\n", kBenchmarkSuite[subject].name,
                error.rmse, 100 * error.share, slam.Snapshot()->keyframes.size());
    EXPECT_LT(error.share, 0.003);
    EXPECT_EQ(error.placed, video.Size());
  }
}

// Counts the frames whose own depth was asked for.
class CountingPriors : public Priors {
 public:
  explicit CountingPriors(std::shared_ptr<Priors> priors) : priors_(std::move(priors)) {}
  FeaturePyramid ComputeFeatures(const InputFrame& frame) override { return priors_->ComputeFeatures(frame); }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override {
    ++asked;
    return priors_->ComputeAverageDepth(frame);
  }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override { return priors_->ComputeDepthBasis(frame); }

  int asked = 0;

 private:
  std::shared_ptr<Priors> priors_;
};

TEST(Slam, AFramesOwnDepthIsComputedOnlyWhereItIsNeeded) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 60);
  for (const bool always : {false, true}) {
    SlamOptions options;
    if (always) options.tracking.foreseen_share = 2;
    const auto priors = std::make_shared<CountingPriors>(video.MakePriors());
    Slam slam(priors, video.GetView(), nullptr, options);
    int keyframes = 0;
    int unforeseen = 0;
    for (int i = 0; i < video.Size(); ++i) {
      const FrameResult result = slam.Process(video.Frame(i));
      keyframes += result.is_keyframe ? 1 : 0;
      unforeseen += !result.is_keyframe && !result.track.foreseen ? 1 : 0;
    }
    EXPECT_EQ(video.Grade(slam).placed, video.Size());
    EXPECT_LE(priors->asked, keyframes + unforeseen);
    if (always)
      EXPECT_EQ(priors->asked, video.Size() - 1) << "all but the first, which begins the map";
    else
      EXPECT_LT(2 * priors->asked, video.Size());
  }
}

// The same through a fisheye of 140°.
TEST(Slam, PerfectPriorsGiveANearlyPerfectPathThroughAFisheye) {
  for (const int subject : {kNasal, kColon}) {
    SequenceOptions options = MakeSuiteOptions(kBenchmarkSuite.at(static_cast<size_t>(subject)));
    options.path.frames = 100;
    options.camera = Camera(UnifiedCamera{66, 66, 79.5, 63.5, 0.62}, 160, 128);
    const PerfectVideo video(options);
    Slam slam(video.MakePriors(), video.GetView());
    for (int i = 0; i < video.Size(); ++i) slam.Process(video.Frame(i));
    const PerfectVideo::Error error = video.Grade(slam);
    std::printf("%s, fisheye: ATE %.4f mm, %.3f %% of the path, %zu keyframes\n",
                kBenchmarkSuite[subject].name, error.rmse, 100 * error.share,
                slam.Snapshot()->keyframes.size());
    EXPECT_LT(error.share, 0.003);
    EXPECT_EQ(error.placed, video.Size());
  }
}

TEST(SlamThreads, TheSameInputGivesTheSameBitsWhateverTheirNumber) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kColon, 40);
  const auto run = [&](int threads) {
    SlamOptions options;
    options.threads = threads;
    Slam slam(video.MakePriors(), video.GetView(), video.MakeVocabulary(), options);
    for (int i = 0; i < video.Size(); ++i) slam.Process(video.Frame(i));
    slam.Refine();
    return slam.FramePoses();
  };
  const Trajectory once = run(1);
  const Trajectory twice = run(2);
  ASSERT_EQ(once.size(), twice.size());
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].world_from_camera.Translation(), twice[i].world_from_camera.Translation());
    EXPECT_EQ(once[i].world_from_camera.Rotation().coeffs(), twice[i].world_from_camera.Rotation().coeffs());
  }
}

TEST(Slam, HoveringDoesNotGrowTheMap) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 300, PathKind::kHover);
  Slam slam(video.MakePriors(), video.GetView());
  size_t half = 0;
  for (int i = 0; i < video.Size(); ++i) {
    slam.Process(video.Frame(i));
    if (i == video.Size() / 2) half = slam.Snapshot()->keyframes.size();
  }
  const size_t all = slam.Snapshot()->keyframes.size();
  std::printf("hovering: %zu keyframes after half, %zu after all\n", half, all);
  EXPECT_LE(all, 2 * half + 2);  // the hand drifts, and so there is something new now and then
  EXPECT_LE(all, 30U);
}

TEST(Slam, ABlackFirstFrameStartsTheMapLater) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 12);
  Slam slam(video.MakePriors(), video.GetView());
  EXPECT_EQ(slam.Process(video.Frame(0, true)).track.status, TrackStatus::kLost);
  EXPECT_EQ(slam.Process(video.Frame(1)).track.status, TrackStatus::kStarted);
  for (int i = 2; i < video.Size(); ++i) EXPECT_TRUE(slam.Process(video.Frame(i)).track.Placed());
  EXPECT_EQ(slam.FramePoses().size(), static_cast<size_t>(video.Size()) - 1);
}

TEST(Slam, AfterABlackOutItFindsItselfAgain) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 160, PathKind::kHover);
  Slam slam(video.MakePriors(), video.GetView(), video.MakeVocabulary());
  int lost = 0;
  bool relocalised = false;
  for (int i = 0; i < video.Size(); ++i) {
    const bool black = i >= 60 && i < 120;  // two seconds
    const FrameResult result = slam.Process(video.Frame(i, black));
    if (black) {
      EXPECT_FALSE(result.track.Placed()) << "a pose was invented for a black frame";
    } else if (!result.track.Placed()) {
      ++lost;
    }
    relocalised |= result.track.status == TrackStatus::kRelocalised;
  }
  const PerfectVideo::Error error = video.Grade(slam);
  std::printf("black-out: %d frames more lost, %.4f mm\n", lost, error.rmse);
  EXPECT_TRUE(relocalised);
  EXPECT_LE(lost, 3);
  EXPECT_EQ(SubmapsOf(*slam.Snapshot()).size(), 1U);
  EXPECT_EQ(error.placed, video.Size() - 60 - lost);
}

TEST(Slam, AJumpElsewhereAndBackLeavesTheMapAsItWas) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 320);
  Slam slam(video.MakePriors(), video.GetView(), video.MakeVocabulary());
  std::vector<int> order;
  for (int i = 0; i < 30; ++i) order.push_back(i);
  for (int i = 0; i < 10; ++i) order.push_back(155 + i);  // the far end
  for (int i = 30; i < 60; ++i) order.push_back(i);
  int placed_there = 0;
  int lost_after = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const FrameResult result = slam.Process(video.Frame(order[k]));
    if (k >= 30 && k < 40 && result.track.Placed()) ++placed_there;
    if (k >= 40 && !result.track.Placed()) ++lost_after;
  }
  const PerfectVideo::Error error = video.Grade(slam);
  std::printf("jump: %d frames placed there, %d lost after, %.4f mm\n", placed_there, lost_after, error.rmse);
  EXPECT_EQ(placed_there, 0);
  EXPECT_LE(lost_after, 3);
  EXPECT_LT(error.share, 0.005);
}

TEST(Slam, ANewPlaceStartsASubMapThatIsJoinedWhenTheyMeet) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 320);
  SlamOptions options;
  options.keyframe.patience = 0.15;
  Slam slam(video.MakePriors(), video.GetView(), video.MakeVocabulary(), options);
  for (int i = 0; i < 60; ++i) slam.Process(video.Frame(i));     // inwards
  for (int i = 160; i < 290; ++i) slam.Process(video.Frame(i));  // from the far end back to where it was
  const auto map = slam.Snapshot();
  int joined = 0;
  for (const LoopEvent& event : slam.TakeLoopEvents()) joined += event.kind == LoopEventKind::kJoined ? 1 : 0;
  const PerfectVideo::Error error = video.Grade(slam);
  std::printf("sub-maps: %zu, joined %d, %d placed, %.4f mm, %.3f %%\n", SubmapsOf(*map).size(), joined,
              error.placed, error.rmse, 100 * error.share);
  EXPECT_EQ(joined, 1);
  EXPECT_EQ(SubmapsOf(*map).size(), 1U);
  EXPECT_GE(error.placed, 60 + 130 - 6);
  EXPECT_LT(error.share, 0.006);
}

// Two videos of which the second's frames are numbered from a thousand on.
class PriorsOfTwo : public Priors {
 public:
  static constexpr int64_t kSecond = 1000;
  PriorsOfTwo(const PerfectVideo& first, const PerfectVideo& second)
      : first_(first.MakePriors()), second_(second.MakePriors()) {}
  FeaturePyramid ComputeFeatures(const InputFrame& frame) override {
    return Of(frame).ComputeFeatures(Own(frame));
  }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override {
    return Of(frame).ComputeAverageDepth(Own(frame));
  }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override {
    return Of(frame).ComputeDepthBasis(Own(frame));
  }

 private:
  Priors& Of(const InputFrame& frame) { return frame.index < kSecond ? *first_ : *second_; }
  static InputFrame Own(InputFrame frame) {
    frame.index %= kSecond;
    return frame;
  }
  std::shared_ptr<Priors> first_, second_;
};

TEST(Slam, AnotherVideoCutInIsNoticedAndNeverJoined) {
  const PerfectVideo first = PerfectVideo::OfSubject(kNasal, 320);
  const PerfectVideo second = PerfectVideo::OfSubject(kNasal + 1, 320);
  Slam slam(std::make_shared<PriorsOfTwo>(first, second), first.GetView(), first.MakeVocabulary());
  double time = 0;
  const auto show = [&](const PerfectVideo& video, int from, int to) {
    std::vector<bool> placed_in_first;
    for (int i = from; i < to; ++i) {
      InputFrame frame = video.Frame(i);
      if (&video == &second) frame.index += PriorsOfTwo::kSecond;
      frame.time = time += 1.0 / 30;
      const FrameResult result = slam.Process(frame);
      placed_in_first.push_back(result.track.Placed() && result.submap == 0);
    }
    return placed_in_first;
  };
  const auto count = [](const std::vector<bool>& placed, size_t first_frames) {
    return std::count(placed.begin() + static_cast<int64_t>(first_frames), placed.end(), true);
  };
  EXPECT_EQ(count(show(first, 0, 40), 0), 40);
  EXPECT_EQ(count(show(second, 100, 160), 2), 0) << "lost from the third frame on, then a map of its own";
  EXPECT_EQ(count(show(first, 40, 80), 2), 38) << "found again by the third frame";
  for (const LoopEvent& event : slam.TakeLoopEvents()) EXPECT_NE(event.kind, LoopEventKind::kJoined);
  const auto map = slam.Snapshot();
  for (const auto& [id, keyframe] : map->keyframes)
    EXPECT_EQ(keyframe.submap != 0, keyframe.keyframe->frame->index >= PriorsOfTwo::kSecond);
}

TEST(Slam, AFalseLoopAtTheEndGoesInTheRefinement) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 320);
  Slam slam(video.MakePriors(), video.GetView(), video.MakeVocabulary());
  for (int i = 0; i < 120; ++i) slam.Process(video.Frame(155 - i));
  const double before = video.Grade(slam).rmse;
  const auto map = slam.Snapshot();
  const KeyframeId last = map->keyframes.rbegin()->first;
  PairEvidence evidence;
  evidence.verified = true;
  evidence.goal = {Rigid3::Exp((Vector6d() << 0.05, 0, 0.1, 0, 0.1, 0).finished()),
                   map->keyframes.at(last).state.log_scale, map->keyframes.at(0).state.log_scale};
  slam.GetBackEnd().InjectLoop(last, 0, evidence);
  const double bent = video.Grade(slam).rmse;
  slam.TakeLoopEvents();
  slam.Refine();
  int removed = 0;
  for (const LoopEvent& event : slam.TakeLoopEvents())
    removed += event.kind == LoopEventKind::kRemoved && event.query == last && event.reference == 0 ? 1 : 0;
  std::printf("false loop at the end: %.4f mm, bent %.4f, refined %.4f\n", before, bent,
              video.Grade(slam).rmse);
  EXPECT_GT(bent, 5 * before);
  EXPECT_EQ(removed, 1);
  EXPECT_LT(video.Grade(slam).rmse, 1.2 * before + 0.02);
}

TEST(Slam, AFalseLoopDoesNotStick) {
  // Outwards, looking inwards all the while: what the last keyframes see, the first cannot.
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 320);
  constexpr int kFrames = 155;
  constexpr KeyframeId kQuery = 12;
  const auto run = [&](bool with_false_loop, size_t* keyframes_until_removed, double* worst) {
    Slam slam(video.MakePriors(), video.GetView(), video.MakeVocabulary());
    size_t injected_at = 0;
    for (int i = 0; i < kFrames; ++i) {
      slam.Process(video.Frame(kFrames - i));
      const size_t keyframes = slam.Snapshot()->keyframes.size();
      if (with_false_loop && injected_at == 0 && keyframes == kQuery + 1) {
        // The newest keyframe is said to look at the first one's place from beside it.
        PairEvidence evidence;
        evidence.verified = true;
        const auto map = slam.Snapshot();
        evidence.goal = {Rigid3::Exp((Vector6d() << 0.05, 0, 0.1, 0, 0.1, 0).finished()),
                         map->keyframes.at(kQuery).state.log_scale, map->keyframes.at(0).state.log_scale};
        slam.GetBackEnd().InjectLoop(kQuery, 0, evidence);
        injected_at = keyframes;
        *worst = video.Grade(slam).rmse;
      }
      for (const LoopEvent& event : slam.TakeLoopEvents()) {
        if (event.kind == LoopEventKind::kRemoved && keyframes_until_removed != nullptr)
          *keyframes_until_removed = keyframes - injected_at;
      }
    }
    return video.Grade(slam);
  };
  const PerfectVideo::Error without = run(false, nullptr, nullptr);
  size_t keyframes = 1000;
  double worst = 0;
  const PerfectVideo::Error with = run(true, &keyframes, &worst);
  std::printf(
      "false loop: ATE %.4f mm once closed; removed after %zu keyframes; %.4f mm at the end, %.4f mm "
      "without\n",
      worst, keyframes, with.rmse, without.rmse);
  EXPECT_GT(worst, 10 * without.rmse);  // it did harm
  EXPECT_LE(keyframes, 10U);
  // The smoother rests where nothing moves by a thousandth of the depth: a hundredth of a millimetre here.
  EXPECT_LT(with.rmse, 1.1 * without.rmse + 0.01);
  EXPECT_EQ(with.placed, without.placed);
}

TEST(Slam, AnEarlierMapIsFoundAgainAndExtended) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kNasal, 320);
  const auto vocabulary = video.MakeVocabulary();
  Slam first(video.MakePriors(), video.GetView(), vocabulary);
  for (int i = 0; i < 60; ++i) first.Process(video.Frame(i));
  Slam second(video.MakePriors(), video.GetView(), vocabulary);
  second.Restore(*first.Snapshot(), first.Words());
  const size_t before = second.Snapshot()->keyframes.size();
  EXPECT_EQ(before, first.Snapshot()->keyframes.size());
  EXPECT_EQ(second.Process(video.Frame(50)).track.status, TrackStatus::kRelocalised);
  for (int i = 51; i < 100; ++i) EXPECT_TRUE(second.Process(video.Frame(i)).track.Placed()) << i;
  EXPECT_GT(second.Snapshot()->keyframes.size(), before);
  EXPECT_EQ(SubmapsOf(*second.Snapshot()).size(), 1U);
  EXPECT_LT(video.Grade(second).share, 0.003);
}

}  // namespace
}  // namespace lumen
