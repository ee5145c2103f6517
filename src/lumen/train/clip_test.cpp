#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <set>

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

// A wall at z = 2 painted with soft waves, seen by a camera that moves to the side; frames are numbered from
// 1, their times are a millisecond off, and ten poses in the middle are missing.
constexpr double kStep = 0.03;

uint8_t Painted(double x, double y) {
  return static_cast<uint8_t>(128 + 60 * std::sin(5 * x + 2 * y) + 50 * std::sin(11 * y - 7 * x));
}

struct HoleOptions {
  bool dense = true, points = false;
  int late = 0;  // frames by which the poses are late: a wrong association, on purpose
};

void WriteWithHole(const std::filesystem::path& folder, const HoleOptions& options = {}) {
  SequenceInfo info;
  info.name = "hole";
  const PinholeCamera lens{150, 150, 79.5, 63.5};
  info.camera = Camera(lens, 160, 128);
  SequenceWriter writer(folder, info);
  Trajectory truth;
  SparseDepth points;
  for (int k = 1; k <= 40; ++k) {
    RgbImage image(160, 128, 3);
    for (int y = 0; y < 128; ++y) {
      for (int x = 0; x < 160; ++x) {
        const double wall_x = kStep * k + 2 * (x - lens.cx) / lens.fx, wall_y = 2 * (y - lens.cy) / lens.fy;
        for (int c = 0; c < 3; ++c) image(x, y, c) = Painted(wall_x, wall_y);
      }
    }
    writer.WriteFrame(k, image);
    if (options.dense) writer.WriteDepth(k, DepthImage(160, 128, 1, options.points ? 2.5F : 2.0F));
    // A grid of places on the wall.
    for (int j = -20; options.points && j < 60; ++j) {
      const double u = lens.cx + lens.fx * (0.1 * j - kStep * k) / 2;
      if (u < 4 || u > 155) continue;
      for (int i = -6; i <= 6; ++i) points[k].push_back({{u, lens.cy + 9.0 * i}, 2.0, 5, 0.5});
    }
    const bool missing = k > 15 && k <= 25;
    if (!missing) {
      const double x = kStep * (k - options.late);
      truth.push_back({k / 30.0 + 0.001, Rigid3(Eigen::Quaterniond::Identity(), {x, 0, 0})});
    }
  }
  writer.WriteTruth(truth);
  if (options.points) writer.WritePoints(points);
  writer.WriteMask(Mask(160, 128, 1, 255));
  writer.Finish();
}

// How far the pictures of a clip's pairs differ where their depth and poses say they show the same.
double PhotometricError(const Clip& clip) {
  double sum = 0;
  int count = 0;
  for (const PairIndex& pair : ListPairs(clip, {})) {
    const ClipFrame& a = clip.frames[static_cast<size_t>(pair.source)];
    const ClipFrame& b = clip.frames[static_cast<size_t>(pair.target)];
    const Rigid3 motion = b.world_from_camera.Inverse() * a.world_from_camera;
    for (int y = 0; y < a.depth.Height(); ++y) {
      for (int x = 0; x < a.depth.Width(); ++x) {
        if (!(a.depth(x, y) > 0)) continue;
        const auto uv = clip.camera.Project(
            motion * (static_cast<double>(a.depth(x, y)) * clip.camera.RayAtUnitDepth(x, y)));
        const int u = static_cast<int>(std::lround(2 * uv->x() + 0.5)),
                  v = static_cast<int>(2 * uv->y() + 0.5);
        if (!b.image.Contains(u, v)) continue;
        sum += std::abs(a.image(2 * x, 2 * y, 0) - b.image(u, v, 0));
        ++count;
      }
    }
  }
  return count > 0 ? sum / count : 1e9;
}

double PhotometricError(const RecordedClipSource& source) {
  double sum = 0;
  constexpr int kScenes = 8;
  for (int scene = 0; scene < kScenes; ++scene) sum += PhotometricError(source.MakeScene(scene)[0]);
  return sum / kScenes;
}

RecordedClipOptions WholeRecording() {
  RecordedClipOptions options;
  options.part = RecordedClipOptions::Part::kWhole;
  options.reach = 8;
  return options;
}

TEST(RecordedClips, PosesAreFoundByTimeThroughHolesAndOffsets) {
  const TemporaryFolder folder;
  WriteWithHole(folder.Path() / "seq");
  const Clip whole = LoadRecording(folder.Path() / "seq", WholeRecording());
  ASSERT_EQ(whole.frames.size(), 30U);
  for (const ClipFrame& frame : whole.frames)
    EXPECT_NEAR(frame.world_from_camera.Translation().x(), kStep * static_cast<double>(frame.number), 1e-9);
  const RecordedClipSource source({folder.Path() / "seq"}, WholeRecording());
  const double right = PhotometricError(source);
  EXPECT_LT(right, 8);
  // Poses that belong to the frames before show in the pictures beside the hole.
  Clip shifted = whole;
  for (size_t i = 0; i + 1 < shifted.frames.size(); ++i)
    shifted.frames[i].world_from_camera = whole.frames[i + 1].world_from_camera;
  shifted.frames = {shifted.frames[13], shifted.frames[14], shifted.frames[15], shifted.frames[16]};
  FillOverlaps(shifted);
  EXPECT_GT(PhotometricError(shifted), 2 * right);
}

TEST(RecordedClips, ShowEveryFrameAndNeverPairOneWithItself) {
  const TemporaryFolder folder;
  WriteWithHole(folder.Path() / "a");
  WriteWithHole(folder.Path() / "b");
  RecordedClipOptions options = WholeRecording();
  options.clips = 4;
  const RecordedClipSource source({folder.Path() / "a", folder.Path() / "b"}, options);
  std::map<std::string, std::set<int64_t>> places;
  ASSERT_EQ(source.ScenesToSeeAll(), 5);  // two times thirty frames, twelve places a scene
  for (int scene = 0; scene < source.ScenesToSeeAll(); ++scene) {
    for (const Clip& clip : source.MakeScene(scene)) {
      for (size_t i = 0; i < clip.frames.size(); i += 4) places[clip.subject].insert(clip.frames[i].number);
      for (const PairIndex& pair : ListPairs(clip, {}))
        EXPECT_NE(clip.frames[static_cast<size_t>(pair.source)].number,
                  clip.frames[static_cast<size_t>(pair.target)].number);
    }
  }
  ASSERT_EQ(places.size(), 2U);
  for (const auto& [subject, numbers] : places) EXPECT_EQ(numbers.size(), 30U) << subject;
}

TEST(RecordedClips, LearnFromPointsAlone) {
  const TemporaryFolder folder;
  WriteWithHole(folder.Path() / "seq", {.dense = false, .points = true});
  const RecordedClipSource source({folder.Path() / "seq"}, WholeRecording());
  EXPECT_LT(PhotometricError(source), 12);
  const Clip clip = source.MakeScene(0)[0];
  const ClipFrame& frame = clip.frames[0];
  EXPECT_TRUE(frame.sparse);
  int known = 0;
  for (size_t i = 0; i < frame.depth.Size(); ++i) {
    if (!(frame.depth.Data()[i] > 0)) continue;
    ++known;
    EXPECT_NEAR(frame.depth.Data()[i], 2, 1e-6);
    EXPECT_GT(frame.weight.Data()[i], 0);
    EXPECT_EQ(frame.exact.Data()[i], 255);
  }
  EXPECT_GT(known, 100);
}

TEST(RecordedClips, WeighPointsAgainstDenseDepth) {
  const TemporaryFolder folder;
  WriteWithHole(folder.Path() / "seq", {.dense = true, .points = true});
  RecordedClipOptions options = WholeRecording();
  options.point_share = 0.75;
  const Clip clip = LoadRecording(folder.Path() / "seq", options);
  const ClipFrame& frame = clip.frames[3];
  EXPECT_FALSE(frame.sparse);
  double points = 0, dense = 0;
  for (size_t i = 0; i < frame.depth.Size(); ++i) {
    const bool exact = frame.exact.Data()[i] != 0;
    EXPECT_NEAR(frame.depth.Data()[i], exact ? 2.0 : 2.5, 1e-3);
    (exact ? points : dense) += static_cast<double>(frame.weight.Data()[i]);
  }
  EXPECT_NEAR(points / (points + dense), 0.75, 0.02);
}

TEST(MixedClips, KeepTheirShareAndLeaveNothingOut) {
  const auto counting = std::make_shared<CountingSource>();
  class OtherSource : public CountingSource {
   public:
    std::vector<Clip> MakeScene(int64_t scene) const override {
      Clip clip;
      clip.name = "sim" + std::to_string(scene);
      return {clip};
    }
  };
  const MixedClipSource mixed(std::make_shared<OtherSource>(), counting, 0.25);
  std::string order;
  for (int scene = 0; scene < 8; ++scene) order += mixed.MakeScene(scene)[0].name + " ";
  EXPECT_EQ(order, "sim0 sim1 sim2 0 sim3 sim4 sim5 1 ");
}

TEST(ShardedClips, NoSceneIsInTwoShardsAndWhatAlternatesIsInAll) {
  const auto whole = std::make_shared<CountingSource>();
  for (const int shards : {1, 2, 3, 4}) {
    std::set<int64_t> seen;
    for (int shard = 0; shard < shards; ++shard) {
      const ShardedClipSource part(whole, shard, shards);
      int odd = 0;
      for (int64_t scene = 0; scene < 12; ++scene) {
        if (part.NumberOf(scene) < 7) {
          EXPECT_EQ(part.MakeScene(scene)[0].name, std::to_string(part.NumberOf(scene)));
        }
        EXPECT_TRUE(seen.insert(part.NumberOf(scene)).second);
        odd += part.NumberOf(scene) % 2 != 0 ? 1 : 0;
      }
      EXPECT_GE(odd, 4);
      EXPECT_LE(odd, 8);
    }
    EXPECT_EQ(*seen.rbegin(), 12 * shards - 1);  // and none is left out
  }
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
