// What is on disk while a run goes on, by a clock of our own: lines in order, paths that follow the map.
#include "lumen/apps/run_recorder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/io/trajectory_file.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

TEST(RewriteSchedule, GrowsFromASecondToAMinute) {
  RewriteSchedule schedule(100);
  std::vector<int> times;  // tenths of a second
  for (int tenth = 1000; tenth < 1000 + 3000; ++tenth) {
    if (schedule.Due(tenth / 10.0)) times.push_back(tenth - 1000);
  }
  EXPECT_EQ(times, (std::vector<int>{10, 30, 70, 150, 310, 630, 1230, 1830, 2430}));
}

FrameResult MakeResult(int64_t index, bool keyframe = false, double map_ms = 0) {
  FrameResult result;
  result.index = index;
  result.time = static_cast<double>(index) / 10;
  result.track.status = TrackStatus::kTracked;
  result.is_keyframe = keyframe;
  result.map_ms = map_ms;
  return result;
}

// "3" for a frame, "3:12" for a keyframe with its mapping time, "mapped 3:12", "loop".
std::vector<std::string> Read(const std::string& lines) {
  std::vector<std::string> read;
  for (const std::string& text : Split(lines, '\n')) {
    if (text.empty()) continue;
    const Json line = Json::Parse(text, "line");
    const Json* event = line.Find("event");
    if (event != nullptr && event->AsString() != "mapped") {
      read.push_back(event->AsString());
      continue;
    }
    std::string word = StrCat(event != nullptr ? "mapped " : "", line.At("frame").AsInteger());
    if (event != nullptr || line.At("keyframe").AsBool()) word += StrCat(":", line.At("map_ms").AsDouble());
    read.push_back(word);
  }
  return read;
}

using Lines = std::vector<std::string>;

TEST(RunEvents, AKeyframeWaitsForItsMappingAndAllAfterItWithIt) {
  RunEvents events;
  events.AddFrame(MakeResult(0), 10);
  events.AddFrame(MakeResult(1, true), 10);
  events.AddLoop({}, {});
  events.AddFrame(MakeResult(2), 10);
  EXPECT_EQ(Read(events.Take(10.1)), (Lines{"0"}));
  events.AddMapped(1, 12);
  EXPECT_EQ(Read(events.Take(10.2)), (Lines{"1:12", "loop", "2"}));
  EXPECT_EQ(events.Take(20), "");
}

TEST(RunEvents, MappingThatTakesLongerHasALineOfItsOwn) {
  RunEvents events;
  events.AddFrame(MakeResult(1, true), 10);
  events.AddFrame(MakeResult(2), 10.1);
  EXPECT_EQ(events.Take(10.2), "");
  EXPECT_EQ(Read(events.Take(10.3)), (Lines{"1:0", "2"}));
  events.AddFrame(MakeResult(3), 10.4);
  events.AddMapped(1, 400);
  events.AddFrame(MakeResult(4), 10.5);
  EXPECT_EQ(Read(events.Take(10.5)), (Lines{"3", "mapped 1:400", "4"}));
}

TEST(RunEvents, MappingMayBeToldOfBeforeItsFrame) {
  RunEvents events;
  events.AddMapped(1, 12);
  events.AddFrame(MakeResult(1, true), 10);
  EXPECT_EQ(Read(events.Take(10)), (Lines{"1:12"}));
}

TEST(RunEvents, WithoutThreadsNothingWaits) {
  RunEvents events;
  events.AddFrame(MakeResult(1, true, 7), 10);
  EXPECT_EQ(Read(events.Take(10)), (Lines{"1:7"}));
}

// A folder, and a map of keyframes at places of our choice. Frame k is at x = k beyond its keyframe.
class RecordedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto& [sequence, pictures] = SharedSmallVideo(2);
    view_ = MakeView(sequence.View(), sequence.ContentMask());
    shown_ = pictures[0];
  }
  RecordedRun() : writer_(folder_.Path() / "run", "", Json::MakeObject()) {}

  void AddKeyframe(KeyframeId id, double x, int submap = 0) {
    const Rigid3 pose(Eigen::Quaterniond::Identity(), {x, 0, 0});
    map_.keyframes[id] = {
        MakeSmallKeyframe(shown_, 10 * id, view_), {pose, 0, Eigen::VectorXd::Zero(1)}, submap};
  }
  void AddFrame(RunPaths& paths, int64_t index, KeyframeId reference, double seen_at = 0, int submap = 0) {
    FrameResult result = MakeResult(index);
    result.submap = submap;
    result.track.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {seen_at, 0, 0});
    const Rigid3 beyond(Eigen::Quaterniond::Identity(), {static_cast<double>(index), 0, 0});
    paths.Add(result, {index, result.time, reference, beyond, 0});
  }
  std::vector<double> Places(const char* file) const {
    std::vector<double> places;
    const std::string text = ReadFile(File(file));
    EXPECT_TRUE(EndsWith(text, "\n"));
    if (!HoldsPoses(text)) return places;
    for (const TimedPose& pose : ParseTrajectory(text, file))
      places.push_back(pose.world_from_camera.Translation().x());
    return places;
  }
  std::vector<double> Frames() const { return Places(run_file::kFrames); }
  fs::path File(const char* name) const { return folder_.Path() / "run" / name; }
  uint64_t Inode() const {
    struct stat status {};
    stat(File(run_file::kFrames).c_str(), &status);
    return status.st_ino;
  }

  static std::shared_ptr<const View> view_;
  static SimulatedFrame shown_;
  TemporaryFolder folder_;
  RunWriter writer_;
  MapSnapshot map_;
};

std::shared_ptr<const View> RecordedRun::view_;
SimulatedFrame RecordedRun::shown_;

using Xs = std::vector<double>;

TEST_F(RecordedRun, WhatIsNewIsAppendedAndAllIsWrittenAnewNowAndThen) {
  RunPaths paths(writer_, 0);
  AddKeyframe(0, 100);
  AddFrame(paths, 0, 0);
  paths.Update(map_, 0.4);
  EXPECT_EQ(Frames(), (Xs{100}));
  const uint64_t file = Inode();
  AddFrame(paths, 1, 0);
  map_.keyframes[0].state.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {200, 0, 0});
  paths.Update(map_, 0.8);
  EXPECT_EQ(Frames(), (Xs{100, 201})) << "each at its place when it was written";
  EXPECT_EQ(Inode(), file);
  paths.Update(map_, 1.2);
  EXPECT_EQ(Frames(), (Xs{200, 201}));
  AddFrame(paths, 2, 0);
  AddKeyframe(1, 300);
  paths.Update(map_, 1.6);
  EXPECT_EQ(Frames(), (Xs{200, 201, 202})) << "appended to the new file";
  EXPECT_EQ(Places(run_file::kKeyframes), (Xs{200, 300}));
}

TEST_F(RecordedRun, ASubMapThatIsJoinedComesIntoThePathAtOnceAndGoesWithASplit) {
  RunPaths paths(writer_, 0);
  AddKeyframe(0, 100);
  AddKeyframe(1, 200);
  AddFrame(paths, 0, 1);
  paths.Update(map_, 0.1);
  AddKeyframe(2, 300, 1);
  AddFrame(paths, 1, 2, 0, 1);
  AddFrame(paths, 2, 1);
  paths.Update(map_, 0.2);
  EXPECT_EQ(Frames(), (Xs{200, 202}));
  map_.keyframes[2].submap = 0;
  paths.Update(map_, 0.3);
  EXPECT_EQ(Frames(), (Xs{200, 301, 202})) << "joined";
  EXPECT_EQ(Places(run_file::kKeyframes), (Xs{100, 200, 300}));
  map_.keyframes[2].submap = 3;
  paths.Update(map_, 0.4);
  EXPECT_EQ(Frames(), (Xs{200, 202})) << "split";
  map_.keyframes[1].submap = 3;
  paths.Update(map_, 0.5);
  EXPECT_EQ(Frames(), (Xs{200, 301, 202})) << "the other one is the larger now";
  EXPECT_EQ(Places(run_file::kKeyframes), (Xs{200, 300}));
}

// Mapping may be many keyframes behind: what was placed against them must not be lost with the run.
TEST_F(RecordedRun, AFrameIsWrittenBeforeItsKeyframeIsInTheMap) {
  RunPaths paths(writer_, 0);
  AddKeyframe(0, 100);
  AddFrame(paths, 0, 0);
  AddFrame(paths, 1, 1, 55);
  AddFrame(paths, 2, 2, 56, 1);  // of a new sub-map
  paths.Update(map_, 0.1);
  EXPECT_EQ(Frames(), (Xs{100, 55}));
  AddKeyframe(1, 300);
  paths.Finish(map_);
  EXPECT_EQ(Frames(), (Xs{100, 301}));
}

TEST_F(RecordedRun, AKeyframeThatIsNoMoreTakesItsFramesWithIt) {
  RunPaths paths(writer_, 0);
  AddKeyframe(1, 100);
  AddFrame(paths, 0, 0, 55);
  AddFrame(paths, 1, 1);
  paths.Update(map_, 0.1);
  EXPECT_EQ(Frames(), (Xs{101}));
}

TEST_F(RecordedRun, ADiskThatFailsIsToldToWhoRecordsAndTheRestIsWritten) {
  AddKeyframe(0, 100);
  const auto map = std::make_shared<const MapSnapshot>(map_);
  fs::remove_all(File(run_file::kDepth));
  RunRecorder recorder(writer_, view_);
  int64_t index = 0;
  const auto record = [&] {
    const FrameResult result = MakeResult(index++);
    recorder.Record(result, {result.index, result.time, 0, {}, 0}, map, {});
  };
  EXPECT_THROW(
      while (true) {
        record();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      OutputError);
  const int64_t recorded = index - 1;
  EXPECT_EQ(recorder.Counts().frames, recorded);
  EXPECT_THROW(recorder.Finish(*map, {}), OutputError);
  EXPECT_EQ(Frames().size(), static_cast<size_t>(recorded));
  const std::string events = ReadFile(File(run_file::kEvents));
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), recorded);
}

TEST_F(RecordedRun, ASummaryIsWrittenWhereNoNewFileCanBe) {
  fs::create_directories(File(".summary.tmp.json") / "in the way");
  Json summary = Json::MakeObject();
  summary[run_key::kFailed] = "disk full";
  writer_.WriteSummary(summary);
  EXPECT_EQ(ReadRunFolder(folder_.Path() / "run").failed, "disk full");
}

TEST_F(RecordedRun, ItIsAllThereBeforeTheEnd) {
  AddKeyframe(0, 100);
  const auto map = std::make_shared<const MapSnapshot>(map_);
  RunRecorder recorder(writer_, view_);
  for (int64_t i = 0; i < 5; ++i) recorder.Record(MakeResult(i), {i, i / 10.0, 0, {}, 0}, map, {});
  // Nothing more comes, and yet it is written.
  while (!fs::exists(File(run_file::kImages) / RunDepthName(0)))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Frames().size(), 5U);
  EXPECT_EQ(Places(run_file::kKeyframes).size(), 1U);
  EXPECT_TRUE(fs::exists(File(run_file::kDepth) / RunDepthName(0)));
  const std::string events = ReadFile(File(run_file::kEvents));
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 5);
  recorder.Finish(*map, {});
}

}  // namespace
}  // namespace lumen
