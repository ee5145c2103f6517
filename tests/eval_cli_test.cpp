// `lumen eval` from the outside: what it says of good files, and of every kind of bad ones.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/png.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/trajectory_file.h"
#include "tests/command.h"
#include "tests/eval_world.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

// The JSON of an evaluation that must succeed.
Json Evaluate(const std::string& arguments, const fs::path& folder) {
  const fs::path json = folder / "grades.json";
  const CommandResult result = RunCommand(StrCat("lumen eval ", arguments, " --json ", json.string()));
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::Load(json);
}

void ExpectFault(const std::string& arguments, const std::string& text) {
  const CommandResult result = RunCommand("lumen eval " + arguments);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  EXPECT_EQ(Split(Trim(result.err), '\n').size(), 1U) << result.err;
}

std::string Reason(const Json& json, const char* key) {
  EXPECT_EQ(json.Find(key), nullptr) << key;
  const Json* reason = json.At("absent").Find(key);
  return reason != nullptr ? reason->AsString() : "";
}

TEST(EvalCli, AnExactRunHasNoErrors) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run");
  const Json json = Evaluate(StrCat(run.string(), " --all-frames --truth ", truth.string()), folder.Path());
  for (const char* key : {"ate_trans", "rpe_trans", "ard_traj", "ard_frame"})
    EXPECT_NEAR(json.At(key).AsDouble(), 0, 1e-6) << key;
  EXPECT_NEAR(json.At("ate_rot_deg").AsDouble(), 0, 1e-5);
  EXPECT_NEAR(json.At("rpe_rot_deg").AsDouble(), 0, 1e-5);
  EXPECT_EQ(json.At("threshold_1.25_traj").AsDouble(), 1);
  EXPECT_EQ(json.At("threshold_1.5625_frame").AsDouble(), 1);
  EXPECT_NEAR(json.At("scale").AsDouble(), 2, 1e-6);
  EXPECT_EQ(json.At("frames_total").AsInteger(), kFrames);
  EXPECT_EQ(json.At("frames_placed").AsInteger(), kFrames);
  EXPECT_EQ(json.At("keyframes").AsInteger(), kFrames / 2);
  EXPECT_EQ(json.At("depth_maps").AsInteger(), kFrames / 2);
  EXPECT_EQ(json.At("units").AsString(), "mm");
  EXPECT_EQ(json.At("all_frames").At("associated").AsInteger(), kFrames);
  EXPECT_EQ(json.At("absent").AsObject().size(), 1U);
  EXPECT_EQ(Reason(json, "ard_folds"), "the truth shows no edge");
}

// Four frames stand aside by a fifth of their depth; three of them were called so at once, all at the end.
TEST(EvalCli, SaysWhetherFramesThatAreOffWereCalledSo) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run");
  const auto off = [](int frame) { return frame >= 21 && frame < 29 && frame % 2 == 1; };
  Trajectory frames = LoadTrajectory(run / run_file::kFrames, 30);
  std::ofstream events(run / run_file::kEvents), sigmas(run / run_file::kFramesUncertainty);
  sigmas << "time,x,y,z,turn_x,turn_y,turn_z,scale,off\n";
  for (int i = 0; i < kFrames; ++i) {
    Rigid3& pose = frames[static_cast<size_t>(i)].world_from_camera;
    if (off(i)) pose = pose * Rigid3(Eigen::Quaterniond::Identity(), {0.5 * 0.2 * (i + 10), 0, 0});
    const bool noticed = off(i) && i != 21;
    events << StrCat(R"({"frame": )", i, R"(, "time": )", i / 30.0, R"(, "status": ")",
                     noticed ? "weak" : "tracked", R"(", "keyframe": false, "off_probability": )",
                     noticed ? 0.6 : 0.01, "}\n");
    sigmas << StrCat(i / 30.0, ",1,1,1,1,1,1,0.1,", off(i) || i == 3 ? 0.5 : 0.02, "\n");
  }
  events << R"({"frame": 40, "time": 1.3333, "status": "lost", "keyframe": false})"
         << "\n";
  events.close();
  sigmas.close();
  SaveTrajectory(run / run_file::kFrames, frames);
  const fs::path table = folder.Path() / "frames.csv";
  const Json json = Evaluate(
      StrCat(run.string(), " --per-frame ", table.string(), " --truth ", truth.string()), folder.Path());
  const Json& at_once = json.At("statuses_at_once");
  EXPECT_EQ(at_once.At("placed").AsInteger(), kFrames);
  EXPECT_EQ(at_once.At("lost").AsInteger(), 1);
  EXPECT_EQ(at_once.At("off").AsInteger(), 4);
  EXPECT_EQ(at_once.At("off_called_tracked").AsInteger(), 1);
  EXPECT_EQ(at_once.At("good_called_weak").AsInteger(), 0);
  const Json& at_last = json.At("statuses");
  EXPECT_EQ(at_last.At("off_called_tracked").AsInteger(), 0);
  EXPECT_EQ(at_last.At("good_called_weak").AsInteger(), 1);
  EXPECT_GT(at_last.At("auc").AsDouble(), 0.98);
  const std::vector<std::string> lines = Split(ReadFile(table), '\n');
  ASSERT_GT(lines.size(), 23U);
  EXPECT_NE(lines[24].find("23,0.766667,weak,0.6,0.5,0.1"), std::string::npos) << lines[24];
}

TEST(EvalCli, AnotherSystemsFilesAreGradedAlike) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run");
  const Json own = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  const Json other =
      Evaluate(StrCat("--trajectory ", (run / run_file::kKeyframes).string(), " --depth ",
                      (run / run_file::kDepth).string(), " --depth-scale 100 --truth ", truth.string()),
               folder.Path());
  for (const char* key : {"ate_trans", "rpe_rot_deg", "ard_traj", "threshold_1.25_traj", "path_length"})
    EXPECT_EQ(own.At(key), other.At(key)) << key;
}

TEST(EvalCli, AKilledRunIsGradedByWhatItHas) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run");
  std::ofstream(run / run_file::kFrames, std::ios::app) << "1.3667 0.12";
  std::ofstream(run / run_file::kEvents) << R"({"frame":0,"time":0,"status":"tracked"})"
                                         << "\n{\"fra";
  fs::remove(run / run_file::kSummary);
  const Json json = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  EXPECT_NEAR(json.At("ate_trans").AsDouble(), 0, 1e-6);
  EXPECT_NE(Reason(json, "ard_frame").find("depth_scale"), std::string::npos);
  EXPECT_GE(json.At("notes").AsArray().size(), 3U);
}

TEST(EvalCli, TrajectoriesThatCannotBeAlignedSayWhy) {
  const TemporaryFolder folder;
  const std::string truth = " --truth " + WriteTruth(folder.Path() / "truth").string();
  const auto evaluate = [&](const std::string& text) {
    std::ofstream(folder.Path() / "e.tum") << text;
    return Evaluate(StrCat("--trajectory ", (folder.Path() / "e.tum").string(), truth), folder.Path());
  };
  EXPECT_NE(Reason(evaluate("0 1 2 3 0 0 0 1\n"), "ate_trans").find("found 1"), std::string::npos);
  EXPECT_NE(Reason(evaluate("0 1 2 3 0 0 0 1\n0.1 2 2 3 0 0 0 1\n"), "rpe_trans").find("found 2"),
            std::string::npos);
  EXPECT_NE(Reason(evaluate("900 1 2 3 0 0 0 1\n901 1 2 3 0 0 0 1\n"), "scale").find("within 5 ms"),
            std::string::npos);
  EXPECT_NE(Reason(evaluate("0 1 2 3 0 0 0 1\n0.1 1 2 3 0 0 0 1\n0.2 1 2 3 0 0 0 1\n"), "ate_rot_deg")
                .find("positions are equal"),
            std::string::npos);
  const Json line = evaluate("0 1 2 3 0 0 0 1\n0.1 2 4 6 0 0 0 1\n0.2 3 6 9 0 0 0 1\n");
  EXPECT_NE(Reason(line, "ate_trans").find("line"), std::string::npos);
  EXPECT_NE(Reason(line, "ard_frame").find("no depth maps"), std::string::npos);
}

TEST(EvalCli, BrokenTrajectoriesAreRefusedInOneLine) {
  const TemporaryFolder folder;
  const std::string truth = " --truth " + WriteTruth(folder.Path() / "truth").string();
  const fs::path file = folder.Path() / "e.tum";
  const auto fault = [&](const std::string& text, const std::string& message) {
    std::ofstream(file) << text;
    ExpectFault(StrCat("--trajectory ", file.string(), truth), message);
  };
  fault("0 1 2 3 0 0 0 1\n0.1 nan 2 3 0 0 0 1\n", "line 2");
  fault("0 1 2 3 0 0 0 1\n0.1 1 2 3 0 0 0 1\n0.1 4 2 3 0 0 0 1\n", "time 0.1 is given twice");
  fault("0.2 1 2 3 0 0 0 1\n0.1 1 2 3 0 0 0 1\n", "backwards");
  fault("# nothing\n", "holds no poses");
  ExpectFault("--trajectory /nowhere.tum" + truth, "/nowhere.tum");
  ExpectFault(folder.Path().string() + truth, "is not a run");
  ExpectFault(truth, "either");
}

TEST(EvalCli, TruthWithoutPosesOrDepth) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth", false);
  const fs::path run = WriteRun(folder.Path() / "run");
  const Json json = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  EXPECT_EQ(Reason(json, "ard_frame"), "the truth has no depth");
  EXPECT_NE(json.Find("ate_trans"), nullptr);
  const Json alone =
      Evaluate(StrCat(run.string(), " --truth ", (truth / "groundtruth.tum").string()), folder.Path());
  EXPECT_NE(Reason(alone, "threshold_1.25_traj").find("without depth"), std::string::npos);
  fs::remove(truth / "groundtruth.tum");
  ExpectFault(StrCat(run.string(), " --truth ", truth.string()), "no true poses");
}

// Frame 6 is told 12 instead of 16 at every third of its points; frame 8 has too few points to be graded.
TEST(EvalCli, WithoutDepthMapsTheTruthsSinglePointsGradeTheRun) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth", false);
  const fs::path run = WriteRun(folder.Path() / "run");
  {
    std::ofstream file(truth / "sparse_depth.csv");
    file << "frame,u,v,depth,track_length,error\n";
    for (int i = 0; i < 10; ++i) {
      for (int k = 0; k < (i == 8 ? 20 : 90); ++k) {
        const int x = 2 + k % 30, y = 3 + 5 * (k / 30);
        file << i << "," << x << "," << y << "," << (i == 6 && k % 3 == 0 ? 12 : i + 10) << ",4,0.5\n";
      }
    }
  }
  const Json json = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  EXPECT_EQ(json.At("depth_maps").AsInteger(), 4) << "keyframes 0, 2, 4 and 6";
  EXPECT_EQ(json.At("depth_maps_skipped").AsInteger(), kFrames / 2 - 4);
  // A third of the points of one map in four is off by a third.
  EXPECT_NEAR(json.At("ard_frame").AsDouble(), 1.0 / 36, 1e-5);
  EXPECT_NEAR(json.At("ard_traj").AsDouble(), 1.0 / 36, 1e-5);
  EXPECT_NEAR(json.At("threshold_1.25_frame").AsDouble(), 1 - 1.0 / 12, 1e-5);

  std::ofstream(truth / "sparse_depth.csv") << "frame,u,v,depth\n0,1,x,4\n";
  ExpectFault(StrCat(run.string(), " --truth ", truth.string()), "sparse_depth.csv");
}

TEST(EvalCli, DepthOfAnotherShapeIsNotCompared) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run");
  for (int i = 0; i < kFrames; i += 2)
    SavePng(run / run_file::kDepth / RunDepthName(i), Image<uint16_t>(32, 32, 1, 1000).View());
  const Json json = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  EXPECT_NE(Reason(json, "ard_frame").find("32x32, of another shape than the truth's 40x32"),
            std::string::npos);
}

// Frames of the small world look at a wall that moves with the camera, so that only near ones agree on it.
TEST(EvalCli, LoopsAreCountedAndFalseOnesFound) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run");
  std::ofstream(run / run_file::kEvents) << R"({"frame":0,"time":0,"status":"tracked"})"
                                         << "\n"
                                         << R"({"event":"loop","kind":"local","from":4,"to":2})"
                                         << "\n"
                                         << R"({"event":"loop","kind":"global","from":3,"to":2})"
                                         << "\n"
                                         << R"({"event":"loop","kind":"global","from":38,"to":0})"
                                         << "\n"
                                         << R"({"event":"loop","kind":"global","from":36,"to":0})"
                                         << "\n"
                                         << R"({"event":"loop_removed","from":36,"to":0})"
                                         << "\n";
  const Json json = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  EXPECT_EQ(json.At("loops_local").AsInteger(), 1);
  EXPECT_EQ(json.At("loops_global").AsInteger(), 2);
  EXPECT_EQ(json.At("loops_false").AsInteger(), 1);
  EXPECT_EQ(json.At("loops_removed").AsInteger(), 1);
  fs::remove_all(truth / "depth");
  const Json blind = Evaluate(StrCat(run.string(), " --truth ", truth.string()), folder.Path());
  EXPECT_NE(Reason(blind, "loops_false").find("2 of 2"), std::string::npos);
}

TEST(EvalCli, PicturesAndPageAreWritten) {
  const TemporaryFolder folder;
  const fs::path truth = WriteTruth(folder.Path() / "truth");
  const fs::path run = WriteRun(folder.Path() / "run", 0.3);
  Evaluate(StrCat(run.string(), " --truth ", truth.string(), " --pictures ", (folder.Path() / "p").string(),
                  " --report ", (folder.Path() / "page.html").string()),
           folder.Path());
  for (const char* name : {"trajectory.svg", "errors.svg", "depth.svg"})
    EXPECT_NE(ReadFile(folder.Path() / "p" / name).find("</svg>"), std::string::npos) << name;
  const std::string page = ReadFile(folder.Path() / "page.html");
  EXPECT_NE(page.find("ATE trans (mm)"), std::string::npos);
  EXPECT_NE(page.find("data:image/png;base64,"), std::string::npos);
}

TEST(EvalCli, TenThousandPosesAreGraded) {
  const TemporaryFolder folder;
  Trajectory path;
  for (int i = 0; i < 10000; ++i) {
    const double s = i / 30.0;
    path.push_back({s, Rigid3(ExpSO3({0.1 * s, 0, 0}), {std::cos(s), std::sin(s), 0.01 * s})});
  }
  SaveTrajectory(folder.Path() / "truth.tum", path);
  const std::string file = (folder.Path() / "truth.tum").string();
  const Json json = Evaluate(StrCat("--trajectory ", file, " --truth ", file), folder.Path());
  EXPECT_EQ(json.At("associated").AsInteger(), 10000);
}

}  // namespace
}  // namespace lumen
