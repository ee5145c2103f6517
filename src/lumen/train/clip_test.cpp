#include <gtest/gtest.h>

#include <atomic>

#include "lumen/base/file.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/sim/suite.h"
#include "lumen/train/clip_stream.h"
#include "lumen/train/recorded_clips.h"
#include "lumen/train/sim_clips.h"

namespace lumen {
namespace {

// A flat wall ahead; frame k stands k · step beside frame 0.
Clip FlatClip(int frames, double step) {
  Clip clip;
  clip.camera = {20, 20, 19.5, 15.5};
  clip.mask = Mask(80, 64, 1, 255);
  for (int k = 0; k < frames; ++k) {
    clip.frames.push_back({RgbImage(80, 64, 3), DepthImage(40, 32, 1, 2.0F),
                           Rigid3(Eigen::Quaterniond::Identity(), {k * step, 0, 0})});
  }
  FillOverlaps(clip);
  return clip;
}

TEST(Clip, OverlapFollowsTheShift) {
  // 20 px focal length at depth 2: one unit to the side is 10 of 40 pixels.
  const Clip clip = FlatClip(5, 1.0);
  EXPECT_NEAR(clip.overlap(0, 1), 0.75, 0.06);
  EXPECT_NEAR(clip.overlap(0, 2), 0.5, 0.06);
  EXPECT_NEAR(clip.overlap(0, 4), 0.0, 0.06);
}

TEST(Clip, PairsOverlapAndFarFramesDoNot) {
  const Clip clip = FlatClip(5, 1.0);
  const auto pairs = ListPairs(clip, {});
  ASSERT_EQ(pairs.size(), 8U);  // neighbours, both ways
  for (const PairIndex& pair : pairs) {
    EXPECT_EQ(std::abs(pair.source - pair.target), 1);
    if (pair.far_frame >= 0) {
      EXPECT_GE(std::abs(pair.source - pair.far_frame), 3);
    }
  }
}

TEST(Clip, HalvedDepthIsUnknownWhereAnyPartIs) {
  DepthImage depth(4, 2, 1, 2.0F);
  depth(3, 1) = 0;
  const DepthImage half = HalveDepth(depth);
  EXPECT_EQ(half(0, 0), 2.0F);
  EXPECT_EQ(half(1, 0), 0.0F);
}

SimClipOptions SmallOptions() {
  SimClipOptions options;
  options.width = options.height = 64;
  options.clips_per_scene = 1;
  options.places = 1;
  options.views = 2;
  return options;
}

TEST(SimClips, AreAFunctionOfSeedAndNumber) {
  const SimClipSource source(SmallOptions());
  const Clip a = source.MakeScene(1)[0];
  const Clip b = source.MakeScene(1)[0];
  EXPECT_EQ(a.frames[1].image, b.frames[1].image);
  EXPECT_EQ(a.frames[1].depth, b.frames[1].depth);
  SimClipOptions other = SmallOptions();
  other.seed = 2;
  EXPECT_FALSE(SimClipSource(other).MakeScene(1)[0].frames[0].image == a.frames[0].image);
}

TEST(SimClips, NeverShowABenchmarkSubject) {
  for (const Clip& clip : SimClipSource(SmallOptions()).MakeScene(0)) {
    for (const SuiteSubject& subject : kBenchmarkSuite)
      EXPECT_NE(clip.name.substr(0, clip.name.find('.')), subject.name);
  }
}

class CountingSource : public ClipSource {
 public:
  int ClipsPerScene() const override { return 1; }
  int FramesPerClip() const override { return 1; }
  std::vector<Clip> MakeScene(int64_t scene) const override {
    if (scene == 7) throw InputError("broken scene");
    Clip clip;
    clip.name = std::to_string(scene);
    return {clip};
  }
};

TEST(ClipStream, HandsScenesOutInOrderWhateverTheThreads) {
  ClipStream stream(std::make_shared<CountingSource>(), 2, 4, 3);
  for (int scene = 2; scene < 5; ++scene) EXPECT_EQ(stream.NextScene()[0].name, std::to_string(scene));
}

TEST(ClipStream, BringsTheSourcesErrorToItsUser) {
  ClipStream stream(std::make_shared<CountingSource>(), 7, 2, 2);
  EXPECT_THROW(stream.NextScene(), InputError);
}

// A short sequence folder with truth.
void WriteSequence(const std::filesystem::path& folder, bool with_depth, bool with_poses) {
  SequenceInfo info;
  info.name = "flat";
  info.camera = Camera(PinholeCamera{60, 60, 39.5, 31.5}, 80, 64);
  SequenceWriter writer(folder, info);
  Trajectory truth;
  for (int k = 0; k < 30; ++k) {
    writer.WriteFrame(k, RgbImage(80, 64, 3, static_cast<uint8_t>(100 + k)));
    if (with_depth) writer.WriteDepth(k, DepthImage(80, 64, 1, 2.0F));
    truth.push_back({k / 30.0, Rigid3(Eigen::Quaterniond::Identity(), {0.02 * k, 0, 0})});
  }
  if (with_poses) writer.WriteTruth(truth);
  writer.WriteMask(Mask(80, 64, 1, 255));
  writer.Finish();
}

TEST(RecordedClips, OfferPairsWithTheRecordingsTruth) {
  const TemporaryFolder folder;
  WriteSequence(folder.Path() / "seq", true, true);
  const RecordedClipSource source({folder.Path() / "seq"}, {});
  const Clip clip = source.MakeScene(3)[0];
  EXPECT_EQ(static_cast<int>(clip.frames.size()), source.FramesPerClip());
  EXPECT_FALSE(ListPairs(clip, {}).empty());
  EXPECT_NEAR(clip.frames[0].depth(20, 20), 2.0, 1e-3);
}

TEST(RecordedClips, RefuseDataWithoutTruthInOneLine) {
  const TemporaryFolder folder;
  WriteSequence(folder.Path() / "no_depth", false, true);
  WriteSequence(folder.Path() / "no_poses", true, false);
  EXPECT_THROW(RecordedClipSource({folder.Path() / "no_depth"}, {}), InputError);
  EXPECT_THROW(RecordedClipSource({folder.Path() / "no_poses"}, {}), InputError);
  EXPECT_THROW(RecordedClipSource({}, {}), InputError);
}

}  // namespace
}  // namespace lumen
