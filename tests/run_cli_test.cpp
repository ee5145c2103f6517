// `lumen run` from the outside, on simulated video with the shipped model: what it writes, that it writes the
// same bytes twice, and what becomes of it when things go wrong.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/png.h"
#include "lumen/io/run_folder.h"
#include "lumen/network/weights.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = kSanitizer ? 30 : 60;
// Of a camera: so slow that frames are hardly ever late, and so fast that nobody waits long for a dozen.
constexpr const char* kPace = kSanitizer ? "--realtime --fps 0.3" : "--realtime --fps 2";
constexpr int kBeforeTheStop = kSanitizer ? 6 : 12;  // frames that are on disk when a run is stopped
constexpr const char* kAnatomy =
    kSanitizer ? "--anatomy colon --seed 901 --path insertion --size 160x128 --frames 30 "
               : "--anatomy colon --seed 901 --path insertion --size 160x128 --frames 60 ";

class RunCli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path("seq"), " --no-model ", kAnatomy)).code, 0);
    ASSERT_EQ(
        RunCommand(StrCat("cd ", Path(""), " && lumen -q run seq --out ", Path("run"), " --deterministic"))
            .code,
        0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }
  static Json Summary(const std::string& run) {
    return Json::Parse(ReadFile(fs::path(Path(run)) / "summary.json"), "summary");
  }
  // Grades a run against a sequence; fails the test where that is not possible.
  static Json Grade(const std::string& run, const std::string& sequence) {
    const std::string file = Path(run + ".grades.json");
    const CommandResult result =
        RunCommand(StrCat("lumen -q eval ", Path(run), " --truth ", Path(sequence), " --json ", file));
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? Json::Parse(ReadFile(file), file) : Json();
  }
  static void ExpectOneLine(const CommandResult& result, int code, const std::string& text) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  static std::vector<std::string> FilesUnder(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), folder).string());
    }
    return {names.begin(), names.end()};
  }

  // A run at the pace of a camera, stopped by `stop` (a shell's command; $p is the process) once its path
  // holds a few frames, however long that takes here.
  static CommandResult RunAndStop(const std::string& out, const std::string& stop) {
    const std::string enough =
        StrCat("[ $(cat ", Path(out), "/frames.tum 2>/dev/null | grep -vc '^#') -ge ", kBeforeTheStop, " ]");
    return RunCommand(StrCat("lumen -q run ", Path("seq"), " --out ", Path(out),
                             " --device cpu --no-surface ", kPace, " & p=$!; ", "for i in $(seq 6000); do ",
                             enough, " && break; sleep 0.1; done; ", stop, "; wait $p"));
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* RunCli::folder_ = nullptr;

// Runs as they are by default: reading, tracking, mapping and writing each in a thread of their own.
class RunThreadsCli : public RunCli {};

TEST_F(RunCli, LeavesEverythingItPromises) {
  for (const char* name :
       {"frames.tum", "keyframes.tum", "events.jsonl", "summary.json", "config.toml", "map.h5", "surface.ply",
        "frames_uncertainty.csv", "keyframes_uncertainty.csv", "steps_uncertainty.csv", "sigma/000000.png"})
    EXPECT_TRUE(fs::exists(fs::path(Path("run")) / name)) << name;
  const Json summary = Summary("run");
  EXPECT_EQ(summary.At("frames").AsInteger(), kFrames);
  EXPECT_GE(summary.At("placed").AsInteger(), kFrames - 1);
  EXPECT_GT(summary.At("depth_scale").AsDouble(), 0);
  EXPECT_EQ(summary.At("input").AsString(), Path("seq"));  // though it was named by "seq" alone
  const std::string events = ReadFile(fs::path(Path("run")) / "events.jsonl");
  EXPECT_GE(std::count(events.begin(), events.end(), '\n'), kFrames);
  const Json grades = Grade("run", "seq");
  std::printf("[ MEASURED ] undisturbed: ATE %.2f %% of the path, ARD_frame %.3f\n",
              grades.At("ate_percent").AsDouble(), grades.At("ard_frame").AsDouble());
  EXPECT_LT(grades.At("ate_percent").AsDouble(), 3);
}

// Each placed frame says how far it may be off, and what it says is of the errors' size.
TEST_F(RunCli, SaysHowSureItIs) {
  const std::string frames = ReadFile(fs::path(Path("run")) / run_file::kFramesUncertainty);
  EXPECT_EQ(std::count(frames.begin(), frames.end(), '\n'), 1 + Summary("run").At("placed").AsInteger());
  EXPECT_GT(Summary("run").At("uncertainty").At("position").AsDouble(), 0);
  const Json grades = Grade("run", "seq");
  const Json& calibration = grades.At("calibration");
  for (const char* name : {"position_x", "turn_y", "step_position_z", "scale", "depth"}) {
    const Json& score = calibration.At(name);
    std::printf("[ MEASURED ] %s: %.1f %% within one sigma, %.1f %% within two\n", name,
                100 * score.At("within_1").AsDouble(), 100 * score.At("within_2").AsDouble());
    EXPECT_GT(score.At("count").AsInteger(), 0) << name;
  }
  EXPECT_GT(calibration.At("depth").At("within_2").AsDouble(), 0.7);
  // A good run is hardly doubted, at once or at the end.
  EXPECT_EQ(grades.At("statuses").At("placed").AsInteger(), Summary("run").At("placed").AsInteger());
  EXPECT_EQ(grades.At("statuses_at_once").At("placed").AsInteger(), Summary("run").At("placed").AsInteger());
}

TEST_F(RunCli, TheSameBytesTwiceAndWithTwoThreads) {
  ASSERT_EQ(RunCommand(StrCat("lumen -q run ", Path("seq"), " --out ", Path("again"),
                              " --deterministic --set threads=2"))
                .code,
            0);
  int compared = 0;
  for (const std::string& name : FilesUnder(Path("run"))) {
    const bool same_bytes = EndsWith(name, ".tum") || EndsWith(name, ".csv") || StartsWith(name, "depth/") ||
                            StartsWith(name, "sigma/") || name == "map.h5";
    if (!same_bytes) continue;
    ++compared;
    ASSERT_TRUE(fs::exists(fs::path(Path("again")) / name)) << name;
    EXPECT_TRUE(ReadFile(fs::path(Path("run")) / name) == ReadFile(fs::path(Path("again")) / name)) << name;
  }
  EXPECT_GT(compared, 5);
}

// Each fault of the simulator on the same path. What is lost may be lost; what is placed must be right.
TEST_F(RunCli, FaultsInTheVideoAreSurvived) {
  struct Fault {
    const char* name;
    double least_placed;  // share of the frames
  };
  for (const Fault fault :
       {Fault{"blackout:3", 0.4}, Fault{"motion-blur:3", 0.8}, Fault{"overexposure:3", 0.5},
        Fault{"smudge:3", 0.8}, Fault{"dropped-frames:3", 0.8}, Fault{"duplicated-frames:3", 0.8},
        Fault{"jump:3", 0.5}}) {
    const std::string name = std::string(fault.name).substr(0, std::string(fault.name).find(':'));
    ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path(name), " --no-model ", kAnatomy, " --degrade ",
                                fault.name))
                  .code,
              0);
    const CommandResult result = RunCommand(
        StrCat("lumen -q run ", Path(name), " --out ", Path(name + "-run"), " --deterministic --no-surface"));
    ASSERT_EQ(result.code, 0) << name << ": " << result.err;
    const Json summary = Summary(name + "-run");
    const Json grades = Grade(name + "-run", name);
    const double placed = static_cast<double>(summary.At("placed").AsInteger()) /
                          static_cast<double>(summary.At("frames").AsInteger());
    const Json* error = grades.Find("ate_percent");
    std::printf("[ MEASURED ] %s: %.0f %% placed, ATE %.2f %% of the path\n", fault.name, 100 * placed,
                error != nullptr ? error->AsDouble() : -1.0);
    EXPECT_GE(placed, fault.least_placed) << name;
    ASSERT_NE(error, nullptr) << name;
    EXPECT_LT(error->AsDouble(), 6) << name;
  }
}

TEST_F(RunCli, AnUnreadableFrameIsSkippedAndCounted) {
  fs::copy(Path("seq"), Path("broken"), fs::copy_options::recursive);
  const std::vector<std::string> pictures = FilesUnder(fs::path(Path("broken")) / "rgb");
  ASSERT_EQ(pictures.size(), static_cast<size_t>(kFrames));
  const fs::path victim = fs::path(Path("broken")) / "rgb" / pictures[kFrames / 2];
  fs::resize_file(victim, fs::file_size(victim) / 3);
  const CommandResult result = RunCommand(StrCat("lumen -q run ", Path("broken"), " --out ",
                                                 Path("broken-run"), " --deterministic --no-surface"));
  EXPECT_EQ(result.code, 0) << result.err;
  const Json summary = Summary("broken-run");
  EXPECT_EQ(summary.At("unreadable").AsInteger(), 1);
  EXPECT_GE(summary.At("placed").AsInteger(), kFrames - 3);
}

TEST_F(RunCli, AFullDiskEndsWithThreeAndKeepsWhatThereIs) {
  // The map is the first file that outgrows the limit.
  const CommandResult result = RunCommand(StrCat("( ", FullDisk(400), "lumen -q run ", Path("seq"), " --out ",
                                                 Path("full"), " --deterministic --no-surface )"));
  ExpectOneLine(result, 3, "cannot write");
  const Json grades = Grade("full", "seq");
  EXPECT_GE(grades.At("frames_placed").AsInteger(), kFrames - 1);
}

// Here it is the first keyframe's picture that outgrows the limit, long before the video ends.
TEST_F(RunThreadsCli, AFullDiskStopsARunInItsMiddleAndTheSummarySaysWhy) {
  const CommandResult result = RunCommand(StrCat("( ", FullDisk(24), "lumen -q run ", Path("seq"), " --out ",
                                                 Path("choked"), " --device cpu --no-surface ", kPace, " )"));
  ExpectOneLine(result, 3, "cannot write");
  const RunFolder run = ReadRunFolder(Path("choked"));
  EXPECT_NE(run.failed.find("cannot write"), std::string::npos) << run.failed;
  EXPECT_FALSE(run.finished);
  EXPECT_TRUE(run.notes.empty()) << run.notes.front();
  EXPECT_GE(run.frames.size(), 1U);
  EXPECT_LT(run.summary.At("frames").AsInteger(), kFrames);
  // A sanitizer may take longer to begin than the camera to show half of it.
  if (!kSanitizer) {
    EXPECT_LT(run.summary.At("dropped").AsInteger(), kFrames / 2) << "what nobody takes any more is not late";
  }
}

TEST_F(RunThreadsCli, TellHowLongEachKeyframeTook) {
  ASSERT_EQ(RunCommand(StrCat("lumen -q run ", Path("seq"), " --out ", Path("threads"),
                              " --device cpu --no-surface"))
                .code,
            0);
  std::map<int64_t, double> map_ms;
  int keyframes = 0;
  for (const std::string& text : Split(ReadFile(fs::path(Path("threads")) / "events.jsonl"), '\n')) {
    if (text.empty()) continue;
    const Json line = Json::Parse(text, "event");
    const Json* event = line.Find("event");
    const bool is_keyframe = event == nullptr && line.At("keyframe").AsBool();
    const bool is_mapped = event != nullptr && event->AsString() == "mapped";
    if (is_keyframe) ++keyframes;
    EXPECT_TRUE(!is_mapped || map_ms.contains(line.At("frame").AsInteger())) << "after the frame's own line";
    if (is_keyframe || is_mapped) map_ms[line.At("frame").AsInteger()] = line.At("map_ms").AsDouble();
  }
  EXPECT_EQ(keyframes, Summary("threads").At("keyframes").AsInteger() +
                           Summary("threads").At("retired_keyframes").AsInteger());
  EXPECT_GT(keyframes, 1);
  for (const auto& [frame, ms] : map_ms) EXPECT_GT(ms, 0) << "keyframe " << frame;
}

TEST_F(RunThreadsCli, ControlCFinishesTheWritesAndEndsWith130) {
  const CommandResult result = RunAndStop("stopped", "kill -INT $p");
  EXPECT_EQ(result.code, 130) << result.err;
  const Json grades = Grade("stopped", "seq");
  EXPECT_GE(grades.At("frames_placed").AsInteger(), kBeforeTheStop);
  EXPECT_TRUE(fs::exists(fs::path(Path("stopped")) / "map.h5"));
}

// A terminal and a program that passes signals on may both deliver one key press.
TEST_F(RunThreadsCli, OneInterruptThatArrivesTwiceIsOne) {
  const CommandResult result = RunAndStop("twice", "kill -INT $p; sleep 0.05; kill -INT $p");
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_TRUE(fs::exists(fs::path(Path("twice")) / "map.h5"));
}

TEST_F(RunThreadsCli, AKilledRunCanBeGraded) {
  const CommandResult result = RunAndStop("killed", "kill -KILL $p");
  EXPECT_NE(result.code, 0);
  ASSERT_TRUE(fs::exists(fs::path(Path("killed")) / "summary.json"));
  const RunFolder run = ReadRunFolder(Path("killed"));
  EXPECT_FALSE(run.finished);
  EXPECT_TRUE(run.notes.empty()) << "whole lines only: " << run.notes.front();
  EXPECT_GT(run.keyframes.size(), 1U);
  EXPECT_GE(run.depth.size(), run.keyframes.size() - 1);
  const Json grades = Grade("killed", "seq");
  EXPECT_GE(grades.At("frames_placed").AsInteger(), kBeforeTheStop);
}

TEST_F(RunCli, AVideoWithoutAUsableFrameIsSaidInOneLine) {
  fs::create_directory(Path("black"));
  const RgbImage black(160, 128, 3, 0);
  for (int i = 0; i < 12; ++i)
    SavePng(fs::path(Path("black")) / StrCat("frame", 100 + i, ".png"), black.View());
  const CommandResult result = RunCommand(
      StrCat("lumen -q run ", Path("black"), " --out ", Path("black-run"), " --fov 80 --deterministic"));
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("no usable frame"), std::string::npos) << result.err;
}

TEST_F(RunCli, AVocabularyOfAnotherModelIsRefused) {
  const std::string words = Path("words.safetensors");
  ASSERT_EQ(RunCommand(StrCat("lumen -q vocabulary ", Path("seq"), " --out ", words)).code, 0);
  // The hash of the model it was made for, with its first digit changed.
  std::string bytes = ReadFile(words);
  const size_t at = bytes.find(Summary("run")["model_hash"].AsString());
  ASSERT_NE(at, std::string::npos);
  bytes[at] = bytes[at] == '0' ? '1' : '0';
  WriteFileAtomically(words, bytes);
  const CommandResult result =
      RunCommand(StrCat("lumen -q run ", Path("seq"), " --out ", Path("words"), " --vocabulary ", words));
  ExpectOneLine(result, 2, "made for another model");
}

TEST_F(RunCli, ACtThatIsNoneIsSaidAndARunGoesOnWithoutIt) {
  const std::string run =
      StrCat("lumen run ", Path("seq"), " --deterministic --end 12 --out ", Path("ctrun"));
  ExpectOneLine(RunCommand(StrCat(run, " --ct ", Path("nowhere.nii"))), 2, "does not exist");
  WriteFileAtomically(Path("bad.nii"), "no volume at all");
  ExpectOneLine(RunCommand(StrCat(run, " --ct ", Path("bad.nii"), " --ct-start 1,2")), 2, "--ct-start 1,2");
  ExpectOneLine(RunCommand(StrCat(run, " --ct ", Path("bad.nii"), " --igtl nowhere")), 2, "--igtl");
  EXPECT_FALSE(fs::exists(Path("ctrun")));
  const CommandResult result = RunCommand(StrCat(run, " --ct ", Path("bad.nii")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("the run goes on without it"), std::string::npos) << result.err;
  EXPECT_EQ(Summary("ctrun").At("ct").At("status").AsString(), "unusable");
  EXPECT_FALSE(fs::exists(fs::path(Path("ctrun")) / "frames_ct.tum"));
  EXPECT_FALSE(fs::exists(fs::path(Path("ctrun")) / "registration"));
}

TEST_F(RunCli, AMaskOfAnotherSizeAndAModelOfAnotherSize) {
  SavePng(Path("mask.png"), Image<uint8_t>(50, 40, 1, 255).View());
  ExpectOneLine(RunCommand(StrCat("lumen -q run ", Path("seq"), " --out ", Path("masked-run"), " --mask ",
                                  Path("mask.png"), " --deterministic")),
                2, "mask");
  Model model = MakeRandomModel(1);
  for (NetworkSpec* spec : {&model.depth, &model.feature}) {
    spec->input_width = 96;
    spec->input_height = 64;
  }
  SaveModel(Path("wide.safetensors"), model);
  const CommandResult result =
      RunCommand(StrCat("lumen -q run ", Path("seq"), " --out ", Path("wide-run"),
                        " --deterministic --no-surface --model ", Path("wide.safetensors")));
  // Random weights place nothing worth having; the sizes must not matter.
  EXPECT_TRUE(result.code == 0 || result.code == 2) << result.code << result.err;
}

}  // namespace
}  // namespace lumen
