// A whole run on a camera that stalls, goes and comes back, or shows something else.
#include <gtest/gtest.h>

#include <thread>

#include "lumen/apps/run_sequence.h"
#include "lumen/io/camera_source.h"
#include "lumen/io/fake_camera.h"
#include "lumen/io/run_folder.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

using Act = FakeCamera::Act;
using Kind = FakeCamera::Act::Kind;

constexpr CameraPatience kCameraPatience{0.05, 0.1, 0.5};

// A camera has no calibration; the user gives one.
class Calibrated : public FrameSource {
 public:
  Calibrated(std::unique_ptr<FrameSource> inner, const SourceInfo& known) : inner_(std::move(inner)) {
    info_ = inner_->Info();
    info_.camera = known.camera;
    info_.mask = known.mask;
  }
  std::optional<RawFrame> Next() override { return inner_->Next(); }
  void Stop() override { inner_->Stop(); }

 private:
  std::unique_ptr<FrameSource> inner_;
};

class CameraFaults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    WriteSmallRun(folder_->Path(), {.frames = 12, .with_surface = false});
    const auto source = OpenInput(folder_->Path() / "sequence", {});
    while (auto frame = source->Next()) pictures_.push_back(std::move(frame->image));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  // Runs it over what the camera shows, and returns what was said.
  std::string Run(std::deque<Act> acts, const CameraPatience& patience, FakeCamera::Paint paint = Picture) {
    RunOptions options;
    options.input = folder_->Path() / "sequence";
    options.output = folder_->Path() / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.device = "cpu";
    ::testing::internal::CaptureStderr();
    RunSetup setup = PrepareRun(options);
    RectifierOptions view = options.config.view;
    view.width = setup.model.depth.input_width;
    view.height = setup.model.depth.input_height;
    FrameSource* shown = nullptr;
    const auto end = [&shown, this] {
      if (ends_in_time_) shown->Stop();
    };
    auto camera = MakeCameraSource(
        "/dev/video7", std::make_unique<FakeCamera>(std::move(acts), std::move(paint), end), patience);
    shown = camera.get();
    setup.stream = std::make_unique<InputStream>(
        std::make_unique<Calibrated>(std::move(camera), setup.stream->Info()), "/dev/video7", view);
    outcome_ = RunSequence(options, std::move(setup), stop_);
    run_ = ReadRunFolder(options.output);
    return ::testing::internal::GetCapturedStderr();
  }
  static RgbImage Picture(int64_t number) {
    return pictures_[static_cast<size_t>(number) % pictures_.size()];
  }

  static TemporaryFolder* folder_;
  static std::vector<RgbImage> pictures_;
  bool ends_in_time_ = false;  // nobody waits for a camera that has shown all
  std::atomic<bool> stop_ = false;
  RunOutcome outcome_;
  RunFolder run_;
};

TemporaryFolder* CameraFaults::folder_ = nullptr;
std::vector<RgbImage> CameraFaults::pictures_;

TEST_F(CameraFaults, AStallIsSaidAndWaitedFor) {
  ends_in_time_ = true;
  const std::string said = Run({{Kind::kPicture, 6}, {Kind::kSilence, 20}, {Kind::kPicture, 6}},
                               {kCameraPatience.until_said, kCameraPatience.until_reopened, 60});
  EXPECT_NE(said.find("no picture for 0.05 s"), std::string::npos) << said;
  EXPECT_NE(said.find("shows pictures again"), std::string::npos) << said;
  EXPECT_EQ(run_.events.size(), 12U);
}

TEST_F(CameraFaults, OneThatComesBackIsGoneOnWith) {
  ends_in_time_ = true;
  Run({{Kind::kPicture, 6}, {Kind::kGone, 1}, {Kind::kPicture, 6}},
      {kCameraPatience.until_said, kCameraPatience.until_reopened, 60});
  EXPECT_EQ(run_.events.size(), 12U);
  EXPECT_TRUE(run_.finished);
}

TEST_F(CameraFaults, OneThatStaysAwayEndsTheRunWhole) {
  const std::string said = Run({{Kind::kPicture, 8}}, kCameraPatience);
  EXPECT_NE(said.find("no picture for 0.5 s: the input ends here"), std::string::npos) << said;
  EXPECT_EQ(run_.events.size(), 8U);
  EXPECT_TRUE(run_.finished);
  EXPECT_FALSE(outcome_.interrupted);
}

TEST_F(CameraFaults, AnotherResolutionEndsTheRunWhole) {
  const std::string said = Run({{Kind::kPicture, 12}}, kCameraPatience, [](int64_t number) {
    return number < 7 ? Picture(number) : RgbImage(64, 48, 3, 90);
  });
  EXPECT_NE(said.find("shows pictures of 64x48 now, not 160x128: the input ends here"), std::string::npos)
      << said;
  EXPECT_EQ(run_.events.size(), 7U);
  EXPECT_TRUE(run_.finished);
}

TEST_F(CameraFaults, WhoInterruptsDoesNotWaitForAPicture) {
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    stop_ = true;
  });
  Run({{Kind::kPicture, 6}, {Kind::kSilence, 1 << 30}}, {0.05, 0.1, 1e9});
  stopper.join();
  EXPECT_TRUE(outcome_.interrupted);
}

TEST_F(CameraFaults, NorWhoWasInterruptedBeforeItBegan) {
  stop_ = true;
  Run({{Kind::kPicture, 6}, {Kind::kSilence, 1 << 30}}, {0.05, 0.1, 1e9});
  EXPECT_TRUE(outcome_.interrupted);
}

}  // namespace
}  // namespace lumen
