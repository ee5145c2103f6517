// What shows a run to people: the report, and the commands around it, from the outside.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "lumen/base/text.h"
#include "lumen/io/calibration.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/png.h"
#include "lumen/io/pose_uncertainty.h"
#include "lumen/viewer/run_view.h"
#include "tests/command.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Report, HoldsEverythingInsideAndFetchesNothing) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 24});
  const CommandResult result = RunCommand(StrCat("lumen report ", run.string(), " --views 6 --keyframes 3"));
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string page = ReadFile(run / "report.html");
  EXPECT_EQ(Count(page, "alt=\"view "), 6U);
  EXPECT_EQ(Count(page, "<figcaption>frame "), 3U);
  EXPECT_NE(page.find("The fused surface"), std::string::npos);
  EXPECT_NE(page.find("ATE trans (mm)"), std::string::npos) << "the run's own input has the truth";
  EXPECT_EQ(Count(page, "src=\"data:image/"), Count(page, "src=\""));
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
}

TEST(Report, LeadsWithWhatAClinicianAsksAndFoldsTheRest) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 48});
  ASSERT_EQ(RunCommand(StrCat("lumen report ", run.string(), " --views 1 --mm-per-unit 20")).code, 0);
  const std::string page = ReadFile(run / "report.html");
  size_t before = 0;
  for (const char* part : {"class=\"verdict", "How far?", "How complete?", "How sure?", "The fused surface",
                           "The wall laid flat", "Not seen, and where to look again", "The path", "<details>",
                           "Against the truth", "The run in numbers"}) {
    const size_t at = page.find(part, before);
    EXPECT_NE(at, std::string::npos) << part;
    if (at != std::string::npos) before = at;
  }
  EXPECT_EQ(Count(page, "<details>"), 3U);
  EXPECT_EQ(Count(page, "</details>"), 3U);
  EXPECT_NE(page.find(" cm² were not seen: go back to frame "), std::string::npos);
}

TEST(Report, BeginsWithWhatTheRunIsWorth) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 48, .with_surface = false});
  std::vector<PoseSigma> frames;
  for (int i = 0; i < 44; ++i) {
    if (i >= 20 && i < 24) continue;  // lost
    frames.emplace_back();
    frames.back().time = i / 30.0;
    frames.back().off_probability = i >= 6 && i < 12 ? 0.9 : 0.01;
  }
  SavePoseSigmas(run / run_file::kFramesUncertainty, frames);
  ASSERT_EQ(RunCommand(StrCat("lumen report ", run.string(), " --views 1 --keyframes 1")).code, 0);
  const std::string page = ReadFile(run / "report.html");
  const size_t placed = page.find("44 of 48 frames were placed; the camera was lost at 0.7–0.8 s.");
  const size_t doubt = page.find("7 of 40 places (18 %) are in doubt");
  ASSERT_NE(placed, std::string::npos);
  ASSERT_NE(doubt, std::string::npos);
  EXPECT_LT(page.find("Take care: parts of this run are not to be relied on."), placed);
  EXPECT_NE(page.find("in doubt, at 0.2–0.4 s, 1.0 s; about 6 are to be expected off"), std::string::npos);
  EXPECT_LT(placed, doubt);
  EXPECT_LT(doubt, page.find("<table"));
}

TEST(Report, ARunThatWasBrokenOffShowsWhatThereIs) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 24, .with_surface = false, .finished = false});
  fs::remove_all(folder.Path() / "sequence");
  fs::remove(run / run_file::kEvents);
  const CommandResult result = RunCommand(StrCat("lumen report ", run.string(), " --views 4"));
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string page = ReadFile(run / "report.html");
  EXPECT_NE(page.find("did not come to its end"), std::string::npos);
  EXPECT_NE(page.find("The points of all keyframes"), std::string::npos);
  EXPECT_EQ(page.find("Against the truth"), std::string::npos);
}

TEST(Report, AFolderThatIsNoRunIsNamed) {
  const TemporaryFolder folder;
  const CommandResult result = RunCommand(StrCat("lumen report ", folder.Path().string()));
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("is not a run"), std::string::npos) << result.err;
}

Json InfoOf(RunView& view) {
  for (const Item& item : view.Store().Since(0, SIZE_MAX).items)
    if (item.kind == ItemKind::kInfo) return Json::Parse(item.bytes->View());
  return {};
}

size_t CountItems(RunView& view, ItemKind kind) {
  size_t count = 0;
  for (const Item& item : view.Store().Since(0, SIZE_MAX).items) count += item.kind == kind ? 1 : 0;
  return count;
}

TEST(View, AFinishedRunIsAllThere) {
  const TemporaryFolder folder;
  RunView view(WriteSmallRun(folder.Path(), {.frames = 48}));
  EXPECT_TRUE(view.Remarks().empty());
  const Json info = InfoOf(view);
  for (const char* what : {"finished", "surface", "truth_surface", "pictures"})
    EXPECT_TRUE(info.At(what).AsBool()) << what;
  EXPECT_FALSE(info.At("live").AsBool());
  EXPECT_EQ(info.At("downloads").AsArray().size(), 3U);
  EXPECT_EQ(CountItems(view, ItemKind::kCloud), 8U);
  EXPECT_EQ(CountItems(view, ItemKind::kTruth), 1U);
  for (const char* path : {"/", "/frame/0.png", "/frame/47.png", "/surface.bin", "/truth.bin",
                           "/download/surface.ply", "/download/frames.tum"})
    EXPECT_TRUE(view.Find(path)) << path;
  EXPECT_EQ(view.Find("/surface.bin")->bytes.substr(0, 4), "MESH");
}

TEST(View, WhatWasSeenComesOnceItIsMeasured) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 12});
  TriangleMesh wall;
  wall.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  wall.triangles = {{0, 1, 2}};
  RunView view(run, [&](const RunFolder& asked, const std::atomic<bool>& stop) {
    EXPECT_FALSE(stop);
    EXPECT_EQ(asked.path, run);
    Json facts = Json::MakeObject();
    facts["words"] = Json::MakeArray();
    return std::optional<ViewCoverage>({wall, facts});
  });
  for (int tries = 0; tries < 1000 && CountItems(view, ItemKind::kCoverage) == 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(CountItems(view, ItemKind::kCoverage), 1U);
  ASSERT_TRUE(view.Find("/coverage.bin"));
  EXPECT_EQ(view.Find("/coverage.bin")->bytes, EncodeMesh(wall));
  EXPECT_FALSE(RunView(run).Find("/coverage.bin")) << "nobody measured";
}

TEST(View, HowSureASurfaceIsHasANumberForEachVertex) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 12});
  TriangleMesh surface = LoadMesh(run / run_file::kSurface);
  EXPECT_TRUE(RunView(run).Find("/sigma.bin")->bytes.empty()) << "this surface does not tell";
  surface.attributes = {{kSigma, std::vector<float>(surface.vertices.size(), 0.25F)}};
  SaveMesh(run / run_file::kSurface, surface);
  std::vector<PoseSigma> sigmas(2);
  sigmas[1].time = 1;
  SavePoseSigmas(run / run_file::kFramesUncertainty, sigmas);
  RunView view(run);
  EXPECT_EQ(view.Find("/sigma.bin")->bytes.size(), 4 * surface.vertices.size());
  EXPECT_EQ(CountItems(view, ItemKind::kSigmas), 1U);
}

TEST(View, NothingOfARunIsServedThatIsNotOnTheList) {
  const TemporaryFolder folder;
  RunView view(WriteSmallRun(folder.Path(), {.frames = 12}));
  for (const char* path :
       {"/download/summary.json", "/download/../sequence/model.ply", "/download/", "/summary.json",
        "/config.toml", "/frame/../summary.json", "/frame/-1.png", "/frame/99999999999999999999.png",
        "/features/x.png", "/matches/0/..%2f.json", "/surface.ply", "/run/surface.ply"})
    EXPECT_FALSE(view.Find(path)) << path;
}

TEST(View, ARunThatWasBrokenOffShowsWhatThereIs) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 24, .with_surface = false, .finished = false});
  fs::remove_all(folder.Path() / "sequence");
  fs::remove(run / run_file::kEvents);
  fs::remove_all(run / run_file::kImages);
  std::ofstream(run / run_file::kDepth / "000006.png") << "not a picture any more";
  RunView view(run);
  const Json info = InfoOf(view);
  for (const char* what : {"finished", "surface", "truth_surface", "pictures", "features"})
    EXPECT_FALSE(info.At(what).AsBool()) << what;
  EXPECT_GE(info.At("remarks").AsArray().size(), 2U) << "that it is not whole, and which picture is broken";
  EXPECT_EQ(CountItems(view, ItemKind::kCloud), 3U);
  EXPECT_FALSE(view.Find("/surface.bin"));
  EXPECT_FALSE(view.Find("/frame/3.png"));
}

TEST(View, ARunOfAnotherVersionIsShownAndSaidToBeOne) {
  const TemporaryFolder folder;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 12});
  Json summary = Json::Load(run / run_file::kSummary);
  summary[run_key::kVersion] = "0.0.1";
  std::ofstream(run / run_file::kSummary) << summary.Dump();
  const RunView view(run);
  ASSERT_EQ(view.Remarks().size(), 1U);
  EXPECT_NE(view.Remarks()[0].find("0.0.1"), std::string::npos);
}

TEST(View, AFolderThatIsNoRunAndAnAddressThatIsNoneAreNamed) {
  const TemporaryFolder folder;
  const CommandResult result = RunCommand(StrCat("lumen view ", folder.Path().string()));
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("is not a run"), std::string::npos) << result.err;
  const fs::path run = WriteSmallRun(folder.Path(), {.frames = 12});
  const CommandResult nowhere = RunCommand(StrCat("lumen view ", run.string(), " --host nowhere"));
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.err.find("not an IP address"), std::string::npos) << nowhere.err;
  const fs::path sequence = folder.Path() / "sequence";
  const fs::path live = folder.Path() / "live";
  for (const char* host : {"nowhere", "192.0.2.1"}) {
    const CommandResult none = RunCommand(
        StrCat("lumen run ", sequence.string(), " --out ", live.string(), " --view --host ", host));
    EXPECT_EQ(none.code, 2) << none.err;
    EXPECT_FALSE(fs::exists(live)) << host;
  }
}

TEST(Calibrate, AGuessIsCalledAGuess) {
  if (!HaveOpenCv()) GTEST_SKIP() << "calibration files want OpenCV";
  const TemporaryFolder folder;
  fs::create_directories(folder.Path() / "images");
  SavePng(folder.Path() / "images" / "0.png", RgbImage(200, 160, 3, 90).View());
  const fs::path out = folder.Path() / "c.yaml";
  const CommandResult result = RunCommand(
      StrCat("lumen calibrate ", (folder.Path() / "images").string(), " --fov 90 --out ", out.string()));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("a guess"), std::string::npos);
  EXPECT_NE(ReadFile(out).find("not measured"), std::string::npos);
  EXPECT_NEAR(LoadCalibration(out).AsPinhole()->fx, 100, 1e-9);
}

TEST(Calibrate, PicturesWithoutABoardAreRefusedInWords) {
  if (!HaveOpenCv()) GTEST_SKIP() << "boards are found by OpenCV";
  const TemporaryFolder folder;
  fs::create_directories(folder.Path() / "images");
  for (int i = 0; i < 3; ++i)
    SavePng(folder.Path() / "images" / StrCat(i, ".png"), RgbImage(200, 160, 3, 90).View());
  const std::string images = (folder.Path() / "images").string();
  const CommandResult none = RunCommand(StrCat("lumen calibrate ", images, " --board 9x6 --square 5"));
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("found in 0 different views"), std::string::npos) << none.err;
  EXPECT_EQ(RunCommand(StrCat("lumen calibrate ", images)).code, 2);
  EXPECT_EQ(RunCommand(StrCat("lumen calibrate ", images, " --board 9 --square 5")).code, 2);
}

}  // namespace
}  // namespace lumen
