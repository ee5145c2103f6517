#include "lumen/slam/async_slam.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/slam/live_frame.h"
#include "lumen/slam/perfect_video_test.h"
#include "lumen/slam/slam.h"

namespace lumen {
namespace {

constexpr int kColon = 4;
constexpr int kEndless = 300;     // frames: many more than are taken where something stops it
constexpr int kAtMostAfter = 12;  // frames that are in the pipeline's queues and hands when a stage fails

// Perfect priors that fail from a frame on.
class FailingPriors : public Priors {
 public:
  enum class Fault { kFeatures, kBasis };
  FailingPriors(std::shared_ptr<Priors> priors, Fault fault, int64_t from)
      : priors_(std::move(priors)), fault_(fault), from_(from) {}

  FeaturePyramid ComputeFeatures(const InputFrame& frame) override {
    Check(Fault::kFeatures, frame);
    return priors_->ComputeFeatures(frame);
  }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override {
    return priors_->ComputeAverageDepth(frame);
  }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override {
    Check(Fault::kBasis, frame);
    return priors_->ComputeDepthBasis(frame);
  }

 private:
  void Check(Fault fault, const InputFrame& frame) const {
    if (fault == fault_ && frame.index >= from_) throw InputError("the networks are broken");
  }

  std::shared_ptr<Priors> priors_;
  Fault fault_;
  int64_t from_;
};

class AsyncSlamTest : public ::testing::Test {
 protected:
  AsyncSlamTest() : video_(PerfectVideo::OfSubject(kColon, 60)) {}

  // The video forwards and backwards, again and again: the frames that were taken before one was refused.
  int SubmitUntilRefused(SlamPipeline& slam) const {
    const int turn = video_.Size() - 1;
    for (int i = 0; i < kEndless; ++i) {
      const int k = i % (2 * turn);
      if (!slam.Submit(video_.Frame(k <= turn ? k : 2 * turn - k))) return i;
    }
    return kEndless;
  }
  void ExpectStopsSoonWith(SlamPipeline& slam, int64_t last_good, const std::string& reason) const {
    const int taken = SubmitUntilRefused(slam);
    EXPECT_GE(taken, last_good);
    EXPECT_LE(taken, last_good + kAtMostAfter);
    EXPECT_TRUE(slam.Failed());
    EXPECT_FALSE(slam.TrySubmit(video_.Frame(0)));
    try {
      slam.Finish();
      ADD_FAILURE() << "Finish says nothing of it";
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(), reason);
    }
  }

  PerfectVideo video_;
};

using Fault = FailingPriors::Fault;

TEST_F(AsyncSlamTest, ThreadsChangeTheOrderOfWorkNotItsQuality) {
  int64_t last = -1;
  AsyncSlam slam(video_.MakePriors(), video_.MakePriors(), video_.GetView(), nullptr, {});
  slam.Listen({.on_frame = [&](const FrameResult& result, const PlacedFrame&) {
    EXPECT_EQ(result.index, last + 1);
    last = result.index;
  }});
  for (int i = 0; i < video_.Size(); ++i) ASSERT_TRUE(slam.Submit(video_.Frame(i)));
  slam.Finish();
  EXPECT_FALSE(slam.Failed());
  EXPECT_EQ(last, video_.Size() - 1);
  const PerfectVideo::Error error = video_.Grade(slam.Frames(), *slam.Snapshot());
  std::printf("threaded: %.3f %% of the path\n", 100 * error.share);
  EXPECT_LT(error.share, 0.006);
  EXPECT_EQ(error.placed, video_.Size());
}

TEST_F(AsyncSlamTest, FailingNetworksStopItAndWhatWasBeforeIsMapped) {
  constexpr int kFirstBad = 20;
  AsyncSlam slam(std::make_shared<FailingPriors>(video_.MakePriors(), Fault::kFeatures, kFirstBad),
                 video_.MakePriors(), video_.GetView(), nullptr, {});
  ExpectStopsSoonWith(slam, kFirstBad, "the networks are broken");
  EXPECT_EQ(slam.Frames().size(), static_cast<size_t>(kFirstBad)) << "those before are tracked to the last";
  EXPECT_EQ(video_.Grade(slam.Frames(), *slam.Snapshot()).placed, kFirstBad) << "and mapped";
}

TEST_F(AsyncSlamTest, AKeyframeWhoseBasisFailsStopsIt) {
  AsyncSlam slam(video_.MakePriors(), std::make_shared<FailingPriors>(video_.MakePriors(), Fault::kBasis, 1),
                 video_.GetView(), nullptr, {});
  int64_t placed = 0;
  slam.Listen(
      {.on_frame = [&](const FrameResult& result, const PlacedFrame&) { placed = result.index + 1; }});
  const int taken = SubmitUntilRefused(slam);
  EXPECT_LE(taken, placed + kAtMostAfter);
  EXPECT_THROW(slam.Finish(), InputError);
  EXPECT_EQ(slam.Snapshot()->keyframes.size(), 1U) << "the map as it was";
}

TEST_F(AsyncSlamTest, FailingMappingStopsIt) {
  AsyncSlam slam(video_.MakePriors(), video_.MakePriors(), video_.GetView(), nullptr, {});
  int64_t second = kEndless;  // keyframe: tracking waits there until mapping has failed over it
  slam.Listen({.on_frame =
                   [&](const FrameResult& result, const PlacedFrame&) {
                     if (!result.is_keyframe || result.index == 0) return;
                     second = result.index;
                     while (!slam.Failed()) std::this_thread::yield();
                   },
               .on_mapped =
                   [](int64_t frame, double) {
                     if (frame > 0) throw InputError("mapping is broken");
                   }});
  const int taken = SubmitUntilRefused(slam);
  EXPECT_THROW(slam.Finish(), InputError);
  EXPECT_LE(taken, second + kAtMostAfter);
  EXPECT_LE(slam.Frames().size(), static_cast<size_t>(second) + 2) << "nothing is tracked for nobody";
}

TEST_F(AsyncSlamTest, AListenerThatFailsStopsIt) {
  AsyncSlam slam(video_.MakePriors(), video_.MakePriors(), video_.GetView(), nullptr, {});
  slam.Listen({.on_frame = [&](const FrameResult& result, const PlacedFrame&) {
    if (result.index == 7) throw InputError("the disk is full");
  }});
  ExpectStopsSoonWith(slam, 7, "the disk is full");
}

TEST_F(AsyncSlamTest, WithoutThreadsAFailureIsToldTheSameWay) {
  Slam slam(std::make_shared<FailingPriors>(video_.MakePriors(), Fault::kFeatures, 5), video_.GetView());
  ExpectStopsSoonWith(slam, 5, "the networks are broken");
  EXPECT_EQ(slam.Frames().size(), 5U);
}

// The back end hangs from its first keyframe on; the camera hurries through, so that keyframes are wanted
// often: more than may wait.
TEST_F(AsyncSlamTest, AFullQueueOfKeyframesDelaysKeyframesNotFrames) {
  const PerfectVideo& video = PerfectVideo::OfSubject(kColon, 70);
  SlamOptions options;
  options.keyframe.max_flow = 0.002;  // nearly every frame is to be a keyframe
  options.keyframe.revisit_flow = 0.002;
  AsyncSlam slam(video.MakePriors(), video.MakePriors(), video.GetView(), nullptr, options);
  BoundedQueue<int> gate(1);
  BoundedQueue<FrameResult> results(static_cast<size_t>(video.Size()));
  slam.Listen({.on_frame = [&](const FrameResult& result, const PlacedFrame&) { results.Push(result); },
               .on_mapped = [&](int64_t, double) { gate.Pop(); }});
  int keyframes = 0, put_off = 0;
  for (int i = 0; i < video.Size(); ++i) {
    ASSERT_TRUE(slam.Submit(video.Frame(i)));
    const FrameResult result = results.Pop().value();  // comes, though nothing is mapped any more
    EXPECT_TRUE(result.track.Placed()) << i;
    if (result.is_keyframe) ++keyframes;
    const bool full = keyframes == static_cast<int>(AsyncSlam::kKeyframesBehind) + 1;  // and the one in hand
    if (full && !result.is_keyframe) {
      EXPECT_EQ(result.keyframe_reason, "");
      ++put_off;
    }
  }
  EXPECT_LE(slam.Snapshot()->keyframes.size(), 1U);
  EXPECT_EQ(keyframes, static_cast<int>(AsyncSlam::kKeyframesBehind) + 1);
  EXPECT_GT(put_off, 5);
  gate.Close();
  slam.Finish();
  EXPECT_EQ(slam.Snapshot()->keyframes.size(), static_cast<size_t>(keyframes));
  EXPECT_EQ(video.Grade(slam.Frames(), *slam.Snapshot()).placed, video.Size());
}

TEST_F(AsyncSlamTest, EveryKeyframeIsToldOfWhenItIsMapped) {
  AsyncSlam slam(video_.MakePriors(), video_.MakePriors(), video_.GetView(), nullptr, {});
  std::vector<int64_t> keyframes, mapped;
  slam.Listen({.on_frame =
                   [&](const FrameResult& result, const PlacedFrame&) {
                     if (result.is_keyframe) keyframes.push_back(result.index);
                   },
               .on_mapped =
                   [&](int64_t frame, double ms) {
                     EXPECT_GT(ms, 0);
                     mapped.push_back(frame);
                   }});
  for (int i = 0; i < video_.Size(); ++i) slam.Submit(video_.Frame(i));
  slam.Finish();
  EXPECT_GT(keyframes.size(), 1U);
  EXPECT_EQ(mapped, keyframes);
}

// A lost camera that would begin a new map waits for room as well, and begins it then.
TEST_F(AsyncSlamTest, ANewSubMapWaitsForRoomToo) {
  SlamOptions options;
  options.keyframe.patience = 0.05;
  FrontEnd front_end(options, nullptr, [](const BagOfWords&, size_t) { return std::vector<PlaceScore>(); });
  BackEnd back_end(options);
  const PerfectVideo& video = PerfectVideo::OfSubject(0, 320);
  const auto priors = video.MakePriors();
  const auto advance = [&](int frame, bool room) {
    StageTimes times;
    const InputFrame input = video.Frame(frame);
    LiveFrame live = MakeLiveFrame(input, video.GetView(), *priors, times);
    AskLater(live, input, *priors, times);
    FrontEnd::Step step = front_end.Advance(
        live, *back_end.Snapshot(), [&] { return priors->ComputeDepthBasis(input); }, room);
    if (step.request) back_end.Add(*step.request);
    return step.result;
  };
  EXPECT_FALSE(advance(0, false).track.Placed()) << "the very first";
  EXPECT_EQ(advance(1, true).track.status, TrackStatus::kStarted);
  for (int i = 155; i < 160; ++i) EXPECT_FALSE(advance(i, false).track.Placed()) << "the far end";
  const FrameResult begun = advance(160, true);
  EXPECT_EQ(begun.track.status, TrackStatus::kStarted);
  EXPECT_EQ(begun.submap, 1);
}

}  // namespace
}  // namespace lumen
