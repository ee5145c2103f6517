#include "lumen/io/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/io/png.h"
#include "lumen/io/pose_uncertainty.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::string Poses(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += FormatTumLine({i / 10.0, Rigid3(Eigen::Quaterniond::Identity(), Eigen::Vector3d(i, 0, 0))});
  return text;
}

fs::path WriteWholeRun(const fs::path& folder) {
  fs::create_directories(folder / run_file::kDepth);
  Write(folder / run_file::kFrames, "# comment\n" + Poses(5));
  Write(folder / run_file::kKeyframes, Poses(2));
  Write(folder / run_file::kEvents,
        R"({"frame":0,"time":0,"status":"tracked","keyframe":true,"ms":{"track":3.5}})"
        "\n"
        R"({"event":"loop","kind":"global","from":4,"to":0,"score":0.3})"
        "\n"
        R"({"frame":1,"time":0.1,"status":"lost","reason":"dark","keyframe":false})"
        "\n"
        R"({"event":"mapped","frame":0,"map_ms":31.5})"
        "\n"
        R"({"event":"something_new"})"
        "\n"
        R"({"event":"loop_removed","from":4,"to":0})"
        "\n");
  Json summary = Json::MakeObject();
  summary[run_key::kDepthScale] = 500;
  summary[run_key::kVersion] = "9.9.9";
  summary[run_key::kFinished] = true;
  summary[run_key::kCamera] = CameraToJson(Camera::FromFieldOfView(77, 4, 2));
  Write(folder / run_file::kSummary, summary.Dump());
  Image<uint16_t> depth(4, 2, 1, 1000);
  depth(0, 0) = 0;
  SavePng(folder / run_file::kDepth / RunDepthName(4), ImageView<const uint16_t>(depth));
  Write(folder / run_file::kDepth / "notes.txt", "not a depth map");
  return folder;
}

TEST(RunFolder, ReadsAWholeRun) {
  const TemporaryFolder folder;
  const RunFolder run = ReadRunFolder(WriteWholeRun(folder.Path() / "run"));
  EXPECT_EQ(run.frames.size(), 5U);
  EXPECT_EQ(run.keyframes.size(), 2U);
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_TRUE(run.events[0].keyframe);
  EXPECT_EQ(run.events[1].status, FrameStatus::kLost);
  EXPECT_EQ(run.events[1].reason, "dark");
  ASSERT_EQ(run.loops.size(), 1U);
  EXPECT_EQ(run.loops[0].kind, "global");
  EXPECT_TRUE(run.loops[0].removed);
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.version, "9.9.9");
  EXPECT_EQ(run.depth_camera, Camera::FromFieldOfView(77, 4, 2));
  EXPECT_TRUE(run.notes.empty());
  ASSERT_EQ(run.depth.size(), 1U);
  EXPECT_EQ(run.depth[0].frame, 4);
  const DepthImage depth = LoadScaledDepth(run.depth[0].path, *run.depth_scale);
  EXPECT_FLOAT_EQ(depth(1, 0), 2);
  EXPECT_FLOAT_EQ(depth(0, 0), 0);
}

TEST(RunFolder, WhatWasSaidOfAFrameInTheEndCountsAtLast) {
  const TemporaryFolder folder;
  const fs::path path = WriteWholeRun(folder.Path() / "run");
  EXPECT_LT(ReadRunFolder(path).events[0].off_at_last, 0);
  PoseSigma frame;
  frame.off_probability = 0.5;
  SavePoseSigmas(path / run_file::kFramesUncertainty, {frame});
  const RunFolder run = ReadRunFolder(path);
  EXPECT_EQ(run.events[0].off_at_last, 0.5);
  EXPECT_EQ(run.events[0].status, FrameStatus::kTracked);
  EXPECT_EQ(run.events[0].LastStatus(), FrameStatus::kWeak);
  EXPECT_EQ(run.events[1].LastStatus(), FrameStatus::kLost);
}

TEST(RunFolder, SaysWhyItIsNotWhole) {
  const TemporaryFolder folder;
  const fs::path path = WriteWholeRun(folder.Path() / "run");
  EXPECT_EQ(DescribeBrokenRun(ReadRunFolder(path)), "");
  Write(path / run_file::kSummary, R"({"finished": false})");
  EXPECT_EQ(DescribeBrokenRun(ReadRunFolder(path)), "the run did not come to its end");
  Write(path / run_file::kSummary, R"({"finished": false, "failed": "disk full"})");
  EXPECT_EQ(DescribeBrokenRun(ReadRunFolder(path)), "the run failed: disk full");
}

TEST(RunFolder, CutAtAnyByteItStillReads) {
  const TemporaryFolder folder;
  const fs::path run = WriteWholeRun(folder.Path() / "run");
  for (const char* name : {run_file::kFrames, run_file::kKeyframes, run_file::kEvents, run_file::kSummary}) {
    const std::string whole = ReadFile(run / name);
    for (size_t size = 0; size < whole.size(); ++size) {
      Write(run / name, whole.substr(0, size));
      EXPECT_NO_THROW(ReadRunFolder(run)) << name << " cut to " << size << " bytes";
    }
    Write(run / name, whole);
  }
}

TEST(RunFolder, ALastNumberCutShortIsNotTaken) {
  const TemporaryFolder folder;
  Write(folder.Path() / run_file::kFrames, "0 0 0 0 0 0 0 1\n0.1 1.25 0 0 0 0 0 1");
  const RunFolder run = ReadRunFolder(folder.Path());
  EXPECT_EQ(run.frames.size(), 1U);
  EXPECT_FALSE(run.finished);
  EXPECT_EQ(run.notes.size(), 2U);  // the line, and the summary that is not there
}

TEST(RunFolder, FaultsNameTheFileAndTheLine) {
  const TemporaryFolder folder;
  EXPECT_THROW(ReadRunFolder(folder.Path() / "absent"), InputError);
  EXPECT_THROW(ReadRunFolder(folder.Path()), InputError);
  const fs::path run = WriteWholeRun(folder.Path() / "run");
  const auto fault = [&](const char* name, const std::string& text) -> std::string {
    const std::string whole = ReadFile(run / name);
    Write(run / name, text);
    std::string message;
    try {
      ReadRunFolder(run);
    } catch (const InputError& error) {
      message = error.what();
    }
    Write(run / name, whole);
    return message;
  };
  EXPECT_NE(fault(run_file::kEvents, "{}\n").find("line 1"), std::string::npos);
  EXPECT_NE(fault(run_file::kEvents, "{\"frame\":0,\"time\":0,\"status\":\"asleep\"}\n").find("asleep"),
            std::string::npos);
  EXPECT_NE(fault(run_file::kFrames, "0 0 0 0 0 0 0 1\n1 nan 0 0 0 0 0 1\n").find("line 2"),
            std::string::npos);
  EXPECT_NE(fault(run_file::kSummary, "{\"depth_scale\": 0}").find("depth_scale"), std::string::npos);
}

TEST(RunFolder, StatusNamesRoundTrip) {
  for (const FrameStatus status : {FrameStatus::kTracked, FrameStatus::kWeak, FrameStatus::kLost,
                                   FrameStatus::kRelocalised, FrameStatus::kSkipped})
    EXPECT_EQ(ParseFrameStatus(FrameStatusName(status)), status);
}

TEST(RunFolder, HowTheInputWasReadIsKept) {
  InputOptions options;
  options.fov_degrees = 77;
  options.start = 5;
  options.end = 60;
  options.stride = 2;
  options.swap_red_and_blue = true;
  options.mask = "/somewhere/mask.png";
  Json summary = Json::MakeObject();
  summary[run_key::kInputOptions] = InputOptionsToJson(options);
  const InputOptions read = InputOptionsOf(Json::Parse(summary.Dump()));
  EXPECT_EQ(read.fov_degrees, 77);
  EXPECT_EQ(read.start, 5);
  EXPECT_EQ(read.end, 60);
  EXPECT_EQ(read.stride, 2);
  EXPECT_TRUE(read.swap_red_and_blue);
  EXPECT_EQ(read.mask, options.mask);
  EXPECT_TRUE(read.calibration.empty());
  EXPECT_EQ(InputOptionsOf(Json::MakeObject()).end, -1) << "a run that says nothing was read whole";
  EXPECT_EQ(InputOptionsOf(Json::Parse("{\"input_options\": {\"stride\": 0, \"end\": \"x\"}}")).stride, 1);
  EXPECT_EQ(InputOptionsOf(Json::Parse("{\"input_options\": {\"start\": -5}}")).start, 0);
}

}  // namespace
}  // namespace lumen
