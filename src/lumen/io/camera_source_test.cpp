#include "lumen/io/camera_source.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/io/fake_camera.h"
#include "lumen/io/input_stream.h"

namespace lumen {
namespace {

using Act = FakeCamera::Act;
using Kind = FakeCamera::Act::Kind;

constexpr CameraPatience kShort{0.05, 0.1, 0.4};
constexpr CameraPatience kLong{0.05, 0.1, 60};

RgbImage Grey(int64_t number) { return RgbImage(16, 12, 3, static_cast<uint8_t>(number)); }

std::unique_ptr<FrameSource> Show(std::deque<Act> acts, const CameraPatience& patience,
                                  FakeCamera::Paint paint = Grey) {
  return MakeCameraSource("/dev/video7", std::make_unique<FakeCamera>(std::move(acts), std::move(paint)),
                          patience);
}

std::vector<RawFrame> ReadAll(FrameSource& source) {
  std::vector<RawFrame> frames;
  while (auto frame = source.Next()) frames.push_back(std::move(*frame));
  return frames;
}

TEST(Camera, ShowsItsPicturesInOrderWithTheirTimes) {
  const auto source = Show({{Kind::kPicture, 3}}, kShort);
  EXPECT_TRUE(source->Info().live);
  EXPECT_EQ(source->Info().width, 16);
  const std::vector<RawFrame> frames = ReadAll(*source);
  ASSERT_EQ(frames.size(), 3U);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(frames[k].index, k);
    EXPECT_EQ(frames[k].image(0, 0, 0), k);
    EXPECT_NEAR(frames[k].time, k / 20.0, 1e-9);
  }
}

TEST(Camera, OneThatStallsIsWaitedForAndTimeGoesOn) {
  const auto source = Show({{Kind::kPicture, 2}, {Kind::kSilence, 40}, {Kind::kPicture, 2}}, kLong);
  source->Next();
  source->Next();
  const auto after = source->Next();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->index, 2);
  EXPECT_GT(after->time, 2 / 20.0 + kLong.until_said);
}

TEST(Camera, OneThatIsGoneIsOpenedAnewUntilItComesBack) {
  const auto source = Show({{Kind::kPicture, 2}, {Kind::kGone, 2}, {Kind::kPicture, 3}}, kLong);
  for (int k = 0; k < 5; ++k) {
    const auto frame = source->Next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->image(0, 0, 0), k);
  }
}

TEST(Camera, OneThatDoesNotComeBackEndsTheInput) {
  const auto source = Show({{Kind::kPicture, 2}}, kShort);
  EXPECT_EQ(ReadAll(*source).size(), 2U);
  EXPECT_FALSE(source->Next()) << "and it stays so";
}

TEST(Camera, PicturesOfAnotherSizeAreNotOfThisVideo) {
  const auto source = Show({{Kind::kPicture, 9}}, kShort,
                           [](int64_t number) { return number < 4 ? Grey(number) : RgbImage(32, 24, 3); });
  EXPECT_EQ(ReadAll(*source).size(), 4U);
  EXPECT_FALSE(source->Next());
}

TEST(Camera, OneThatNeverAnswersOrShowsIsRefused) {
  EXPECT_THROW(Show({}, kShort), InputError);
  EXPECT_THROW(Show({{Kind::kSilence, 1 << 30}}, kShort), InputError);
}

TEST(Camera, WhoStopsDoesNotWaitForIt) {
  const auto source = Show({{Kind::kPicture, 1}, {Kind::kSilence, 1 << 30}}, {0.05, 0.1, 1e9});
  source->Next();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source->Stop();
  });
  EXPECT_FALSE(source->Next());
  stopper.join();
}

}  // namespace
}  // namespace lumen
