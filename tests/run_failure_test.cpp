// Runs of which one part fails in the middle of the video: they stop there, say why, and leave a folder that
// can be read.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "lumen/apps/run_sequence.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/io/run_folder.h"
#include "lumen/slam/async_slam.h"
#include "lumen/slam/slam.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 48;
constexpr int64_t kAtMostAfter = 12;  // frames on their way when a stage fails

// Priors that fail from a frame on.
class BrokenPriors : public Priors {
 public:
  BrokenPriors(std::shared_ptr<Priors> priors, int64_t features_until, int64_t basis_until)
      : priors_(std::move(priors)), features_until_(features_until), basis_until_(basis_until) {}
  FeaturePyramid ComputeFeatures(const InputFrame& frame) override {
    if (frame.index >= features_until_) throw InputError("no features");
    return priors_->ComputeFeatures(frame);
  }
  Image<float> ComputeAverageDepth(const InputFrame& frame) override {
    return priors_->ComputeAverageDepth(frame);
  }
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override {
    if (frame.index >= basis_until_) throw InputError("no basis");
    return priors_->ComputeDepthBasis(frame);
  }

 private:
  std::shared_ptr<Priors> priors_;
  int64_t features_until_, basis_until_;
};

// Whose mapping fails over its second keyframe; tracking waits for that.
class BrokenMapping : public AsyncSlam {
 public:
  using AsyncSlam::AsyncSlam;
  void Listen(SlamListener listener) override {
    AsyncSlam::Listen(
        {.on_frame =
             [this, told = listener.on_frame](const FrameResult& result, const PlacedFrame& placed) {
               told(result, placed);
               while (result.is_keyframe && result.index > 0 && !Failed()) std::this_thread::yield();
             },
         .on_mapped =
             [told = listener.on_mapped](int64_t frame, double ms) {
               if (frame > 0) throw InputError("no mapping");
               told(frame, ms);
             }});
  }
};

class RunFailure : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetLogLevel(LogLevel::kError);
    folder_ = new TemporaryFolder;
    WriteSmallRun(folder_->Path(), {.frames = kFrames, .with_surface = false});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static RunOptions Options(const std::string& name) {
    RunOptions options;
    options.input = folder_->Path() / "sequence";
    options.output = folder_->Path() / name;
    options.device = "cpu";
    return options;
  }
  static std::shared_ptr<Priors> Break(const RunOptions& options, const RunSetup& setup,
                                       int64_t features_until, int64_t basis_until) {
    return std::make_shared<BrokenPriors>(MakeRunPriors(options, setup), features_until, basis_until);
  }
  // Runs it and expects it to fail for this reason, with a folder that says so.
  template <typename Error = InputError>
  static RunFolder ExpectFails(const RunOptions& options, RunSetup setup, const std::string& reason) {
    const std::atomic<bool> stop = false;
    try {
      RunSequence(options, std::move(setup), stop);
      ADD_FAILURE() << "it did not fail";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    RunFolder run = ReadRunFolder(options.output);
    EXPECT_NE(run.failed.find(reason), std::string::npos) << run.failed;
    EXPECT_FALSE(run.finished);
    EXPECT_TRUE(run.notes.empty());
    EXPECT_EQ(run.events.size(), static_cast<size_t>(run.summary.At("frames").AsInteger()));
    EXPECT_EQ(run.frames.size(), static_cast<size_t>(run.summary.At("placed").AsInteger()));
    EXPECT_EQ(run.keyframes.size(), static_cast<size_t>(run.summary.At("keyframes").AsInteger()));
    EXPECT_LT(run.events.size(), static_cast<size_t>(kFrames));
    return run;
  }
  static int64_t SecondKeyframe(const RunFolder& run) {
    for (const RunFrameEvent& event : run.events)
      if (event.keyframe && event.frame > 0) return event.frame;
    return kFrames;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* RunFailure::folder_ = nullptr;

TEST_F(RunFailure, OfTheNetworks) {
  const RunOptions options = Options("networks");
  RunSetup setup = PrepareRun(options);
  setup.slam = std::make_unique<AsyncSlam>(Break(options, setup, 9, kFrames), MakeRunPriors(options, setup),
                                           setup.view, setup.vocabulary, SlamOptions());
  const RunFolder run = ExpectFails(options, std::move(setup), "no features");
  EXPECT_EQ(run.events.size(), 9U) << "all before it are there";
  EXPECT_EQ(run.depth.size(), run.keyframes.size());
  EXPECT_TRUE(fs::exists(options.output / run_file::kMap));
}

TEST_F(RunFailure, OfTheNetworksWithoutThreads) {
  RunOptions options = Options("networks-in-order");
  options.deterministic = true;
  RunSetup setup = PrepareRun(options);
  setup.slam =
      std::make_unique<Slam>(Break(options, setup, 9, kFrames), setup.view, setup.vocabulary, SlamOptions());
  const RunFolder run = ExpectFails(options, std::move(setup), "no features");
  EXPECT_EQ(run.events.size(), 9U);
  EXPECT_TRUE(fs::exists(options.output / run_file::kMap));
}

TEST_F(RunFailure, OfAKeyframesBasis) {
  const RunOptions options = Options("basis");
  RunSetup setup = PrepareRun(options);
  setup.slam = std::make_unique<AsyncSlam>(MakeRunPriors(options, setup), Break(options, setup, kFrames, 1),
                                           setup.view, setup.vocabulary, SlamOptions());
  const RunFolder run = ExpectFails(options, std::move(setup), "no basis");
  EXPECT_EQ(run.keyframes.size(), 1U);
  EXPECT_TRUE(fs::exists(options.output / run_file::kMap));
}

TEST_F(RunFailure, OfMapping) {
  const RunOptions options = Options("mapping");
  RunSetup setup = PrepareRun(options);
  setup.slam = std::make_unique<BrokenMapping>(MakeRunPriors(options, setup), MakeRunPriors(options, setup),
                                               setup.view, setup.vocabulary, SlamOptions());
  const RunFolder run = ExpectFails(options, std::move(setup), "no mapping");
  EXPECT_LE(run.events.back().frame, SecondKeyframe(run) + 1) << "tracking stops at its next frame";
}

// As if live, at a pace at which nothing need be dropped: a dead pipeline is not a slow one.
TEST_F(RunFailure, IsNotTakenForLateFrames) {
  RunOptions options = Options("live");
  options.realtime = true;
  RunSetup setup = PrepareRun(options);
  setup.slam = std::make_unique<AsyncSlam>(Break(options, setup, 0, kFrames), MakeRunPriors(options, setup),
                                           setup.view, setup.vocabulary, SlamOptions());
  const std::atomic<bool> stop = false;
  EXPECT_THROW(RunSequence(options, std::move(setup), stop), InputError);
  const RunFolder run = ReadRunFolder(options.output);
  EXPECT_EQ(run.failed, "no features");
  EXPECT_LE(run.summary.At("dropped").AsInteger(), kAtMostAfter);
}

// Somebody takes the folder for depth maps away; frames come slowly enough for the recorder to meet it.
TEST_F(RunFailure, OfRecording) {
  class Thief : public RunObserver {
   public:
    explicit Thief(fs::path folder) : folder_(std::move(folder)) {}
    void OnPicture(const InputFrame& frame) override {
      if (frame.index == 0) fs::remove_all(folder_);
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }

   private:
    fs::path folder_;
  };
  RunOptions options = Options("recording");
  Thief thief(options.output / run_file::kDepth);
  options.observer = &thief;
  const RunFolder run = ExpectFails<OutputError>(options, PrepareRun(options), "cannot write");
  EXPECT_TRUE(run.depth.empty());
  EXPECT_TRUE(fs::exists(options.output / run_file::kMap)) << "what can be written is";
}

}  // namespace
}  // namespace lumen
