// Studies with cells that stand in for SLAM: what is run, what is kept, what is refused, what is written.
#include "lumen/apps/study_cell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/network/weights.h"
#include "tests/command.h"
#include "tests/eval_world.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class StudyTest : public ::testing::Test {
 protected:
  StudyTest() {
    for (const char* name : {"one", "two", "three"}) WriteTruth(folder_.Path() / name);
    options_.out = folder_.Path() / "out";
    options_.tasks.jobs = 2;
  }

  std::vector<StudyCell> Cells() const {
    std::vector<StudyCell> cells;
    for (const char* variant : {"full", "worse"})
      for (const char* name : {"one", "two", "three"})
        cells.push_back({variant, name, folder_.Path() / name, {StrCat("a.b=", variant)}, {}});
    return cells;
  }

  // A run with the truth's poses and noise that depends on the variant.
  RunCell Fake() {
    return [this](const StudyCell& cell, const fs::path& out) {
      ++runs_;
      WriteRun(out, cell.variant == "full" ? 0.1 : 1.0, cell.sequence.size() + cell.sequence[0]);
    };
  }

  std::string FaultOf(const std::vector<StudyCell>& cells) {
    try {
      RunStudy("study", cells, options_, Fake());
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  StudyOptions options_;
  std::atomic<int> runs_ = 0;
};

TEST_F(StudyTest, EveryCellIsRunOnceAndGraded) {
  const Study study = RunStudy("study", Cells(), options_, Fake());
  EXPECT_EQ(runs_, 6);
  EXPECT_EQ(study.entries.size(), 6U);
  EXPECT_EQ(study.variants, (std::vector<std::string>{"full", "worse"}));
  const auto full = SummariseMetric(study, "full", "ate_trans");
  const auto worse = SummariseMetric(study, "worse", "ate_trans");
  ASSERT_TRUE(full && worse);
  EXPECT_EQ(full->values.size(), 3U);
  EXPECT_NEAR(full->mean, 0.17, 0.06);  // √3 of the noise per axis
  EXPECT_NEAR(worse->mean, 1.7, 0.6);
  EXPECT_NEAR(SummariseMetric(study, "full", "ard_frame")->mean, 0, 1e-6);
}

TEST_F(StudyTest, FinishedCellsAreNotRunAgain) {
  const Study first = RunStudy("study", Cells(), options_, Fake());
  fs::remove(options_.out / "cells" / "worse" / "two" / "cell.json");  // as if killed in this cell
  const Study second = RunStudy("study", Cells(), options_, Fake());
  EXPECT_EQ(runs_, 7);
  EXPECT_EQ(FormatMarkdown(first), FormatMarkdown(second));
}

TEST_F(StudyTest, ANameThatIsNoTextIsKnownAgain) {
  const fs::path folder = WriteTruth(folder_.Path() / "\xff");
  const std::vector<StudyCell> cells = {{"full", "one", folder, {}, {}}};
  RunStudy("study", cells, options_, Fake());
  RunStudy("study", cells, options_, Fake());
  EXPECT_EQ(runs_, 1);
}

TEST_F(StudyTest, TheNumberOfJobsDoesNotMatter) {
  const std::string two = FormatMarkdown(RunStudy("study", Cells(), options_, Fake()));
  options_.out = folder_.Path() / "again";
  options_.tasks.jobs = 1;
  EXPECT_EQ(FormatMarkdown(RunStudy("study", Cells(), options_, Fake())), two);
}

TEST_F(StudyTest, AFailedCellIsSaidAndTriedAgain) {
  const RunCell broken = [this](const StudyCell& cell, const fs::path& out) {
    if (cell.sequence == "two") throw InputError("the run ended with code 70");
    Fake()(cell, out);
  };
  const Study study = RunStudy("study", Cells(), options_, broken);
  EXPECT_EQ(runs_, 4);
  EXPECT_EQ(FindEntry(study, "full", "two")->failure, "the run ended with code 70");
  EXPECT_EQ(SummariseMetric(study, "full", "ate_trans")->values.size(), 2U);
  EXPECT_NE(FormatMarkdown(study).find("failed: the run ended with code 70"), std::string::npos);
  RunStudy("study", Cells(), options_, Fake());
  EXPECT_EQ(runs_, 6);
}

// A cluster may take a node for dead that is not.
TEST_F(StudyTest, AnAttemptThatWasGivenUpDoesNotMixWithTheNext) {
  const StudyCell cell = Cells()[0];
  const CellWork work{cell, options_.out / "cell", "none", {}};
  Json record;
  const RunCell slow = [&](const StudyCell& same, const fs::path& out) {
    WriteRun(out, 5);
    record = RunAndGrade(work, Fake());
    WriteRun(out.parent_path() / "late", 5);
    throw InputError("too late for " + same.sequence);
  };
  EXPECT_THROW(RunAndGrade(work, slow), InputError);
  EXPECT_EQ(ReadFile(work.folder / kCellRecord), record.Dump(2) + "\n");
  EXPECT_LT(record.At("grades").At("ate_trans").AsDouble(), 1);
  EXPECT_EQ(FormatMarkdown(RunStudy("study", {cell}, options_, Fake())).find("failed"), std::string::npos);
  for (const fs::directory_entry& entry : fs::directory_iterator(work.folder))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST_F(StudyTest, OtherSettingsAreRefusedUnlessRunAgain) {
  RunStudy("study", Cells(), options_, Fake());
  std::vector<StudyCell> changed = Cells();
  changed[1].settings = {"a.b=other"};
  EXPECT_NE(FaultOf(changed).find("other settings"), std::string::npos);
  EXPECT_EQ(runs_, 6);
  options_.rerun = true;
  RunStudy("study", changed, options_, Fake());
  EXPECT_EQ(runs_, 7);
}

TEST_F(StudyTest, AnotherVersionIsRefusedRunAgainOrSaid) {
  RunStudy("study", Cells(), options_, Fake());
  const fs::path file = options_.out / "cells" / "full" / "one" / "cell.json";
  Json record = Json::Load(file);
  record["version"] = "0.0.1 old";
  WriteFileAtomically(file, record.Dump());
  EXPECT_NE(FaultOf(Cells()).find("0.0.1 old"), std::string::npos);
  options_.allow_mixed_versions = true;
  const Study mixed = RunStudy("study", Cells(), options_, Fake());
  ASSERT_EQ(mixed.notes.size(), 1U);
  EXPECT_NE(mixed.notes[0].find("0.0.1 old"), std::string::npos);
  EXPECT_EQ(runs_, 6);
  options_.allow_mixed_versions = false;
  options_.rerun = true;
  EXPECT_TRUE(RunStudy("study", Cells(), options_, Fake()).notes.empty());
  EXPECT_EQ(runs_, 7);
}

TEST_F(StudyTest, ACellGivenTwiceIsRefused) {
  std::vector<StudyCell> cells = Cells();
  cells.push_back(cells[0]);
  EXPECT_NE(FaultOf(cells).find("given twice"), std::string::npos);
  EXPECT_EQ(runs_, 0);
}

TEST_F(StudyTest, TheReportIsWrittenInEveryForm) {
  const Study study = RunStudy("study", Cells(), options_, Fake());
  const auto figures = CollectFigures(study, "full", options_.out);
  EXPECT_EQ(figures.size(), 6U);  // path and errors of three sequences
  WriteStudy(study, options_.out, figures);
  for (const char* name : {"study.md", "study.csv", "study.json", "study.html", "boxes.svg"})
    EXPECT_GT(fs::file_size(options_.out / name), 200U) << name;
  EXPECT_EQ(Json::Load(options_.out / "study.json").At("cells").AsArray().size(), 6U);
}

// From here on the program itself.
class StudyCli : public StudyTest {
 protected:
  std::string Path(const char* name) const { return (folder_.Path() / name).string(); }

  void ExpectFault(const std::string& line, const std::string& text) {
    const CommandResult result = RunCommand("lumen -q " + line);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }
};

TEST_F(StudyCli, CompareLaysSystemsSideBySide) {
  for (const char* name : {"one", "two", "three"}) {
    WriteRun(folder_.Path() / "a" / name, 0.05, name[1]);
    const fs::path run = WriteRun(folder_.Path() / "source" / name, 0.5, name[0]);
    fs::create_directories(folder_.Path() / "b");
    fs::copy(run / run_file::kFrames, folder_.Path() / "b" / (std::string(name) + ".tum"));
  }
  const std::string truths = StrCat(" --truth ", Path("one"), " ", Path("two"), " ", Path("three"));
  const CommandResult result =
      RunCommand(StrCat("lumen study compare --system ours=", Path("a"), " --system theirs=", Path("b"),
                        truths, " --out ", Path("report")));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("| ours |"), std::string::npos);
  const Json json = Json::Load(folder_.Path() / "report" / "study.json");
  const Json& theirs = json.At("variants").AsArray()[1].At("metrics");
  EXPECT_EQ(theirs.At("ate_trans").At("count").AsInteger(), 3);
  EXPECT_NE(theirs.At("ate_trans").Find("p"), nullptr);
  // Their poses are every frame's, ours every other's: seven of our keyframes are fourteen frames.
  EXPECT_NEAR(theirs.At("rpe_step_seconds").At("mean").AsDouble(), 14 / 30.0, 1e-6);
  EXPECT_EQ(theirs.Find("ard_frame"), nullptr);
}

// The same frames, once as a run that knows its keyframes and once as a file: graded alike.
TEST_F(StudyCli, CompareGradesAllFramesOfEverySystem) {
  const fs::path run = WriteRun(folder_.Path() / "a" / "one", 0.05, 'a');
  fs::create_directories(folder_.Path() / "b");
  fs::copy(run / run_file::kFrames, folder_.Path() / "b" / "one.tum");
  const auto errors = [&](const char* option) {
    const CommandResult result =
        RunCommand(StrCat("lumen study compare --system ours=", Path("a"), " --system theirs=", Path("b"),
                          " --truth ", Path("one"), " --out ", Path("report"), option));
    EXPECT_EQ(result.code, 0) << result.err;
    std::vector<double> values;
    const Json json = Json::Load(folder_.Path() / "report" / "study.json");
    for (const Json& variant : json.At("variants").AsArray())
      for (const char* key : {"ate_trans", "rpe_trans", "rpe_step_seconds"})
        values.push_back(variant.At("metrics").At(key).At("mean").AsDouble());
    return values;
  };
  const std::vector<double> keyframes = errors(""), frames = errors(" --all-frames");
  EXPECT_NE(keyframes[0], keyframes[3]);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(frames[k], frames[k + 3]) << k;
  EXPECT_NEAR(frames[2], 14 / 30.0, 1e-6);
}

// Three runs of a system that never does the same twice: the middle one counts, and one that left nothing is
// the worst.
TEST_F(StudyCli, CompareTakesTheMiddleOfSeveralRuns) {
  WriteRun(folder_.Path() / "a" / "one", 0.05, 'a');
  const std::string line =
      StrCat("lumen study compare --system ours=", Path("a"), " --system theirs=", Path("b"), " --truth ",
             Path("one"), " --out ", Path("report"));
  for (int k = 1; k <= 3; ++k) {
    const fs::path run = WriteRun(folder_.Path() / StrCat("source", k) / "one", 0.2 * k, 'b');
    const fs::path folder = folder_.Path() / "b" / StrCat("run-", k);
    fs::create_directories(folder);
    fs::copy(run / run_file::kFrames, folder / "one.tum");
  }
  const auto median = [&] {
    const CommandResult result = RunCommand(line);
    EXPECT_EQ(result.code, 0) << result.err;
    const Json json = Json::Load(folder_.Path() / "report" / "study.json");
    return std::pair(json.At("variants").AsArray()[1].At("metrics").At("ate_trans").At("mean").AsDouble(),
                     result.out);
  };
  const auto [of_three, table] = median();
  EXPECT_NE(table.find("theirs on one: 0 of 3 runs failed, ATE "), std::string::npos) << table;
  fs::remove(folder_.Path() / "b" / "run-1" / "one.tum");  // the best
  const auto [of_two, second_table] = median();
  EXPECT_GT(of_two, 1.2 * of_three);
  EXPECT_NE(second_table.find("1 of 3 runs failed"), std::string::npos) << second_table;
  fs::remove(folder_.Path() / "b" / "run-2" / "one.tum");
  const CommandResult none = RunCommand(line);
  EXPECT_NE(none.out.find("2 of 3 runs failed"), std::string::npos) << none.out;
}

TEST_F(StudyCli, CompareRefusesRunsOfDifferentVersions) {
  WriteRun(folder_.Path() / "a" / "one");
  WriteRun(folder_.Path() / "b" / "one");
  std::ofstream(folder_.Path() / "b" / "one" / run_file::kSummary)
      << R"({"depth_scale": 100, "version": "2", "finished": true})";
  const std::string line = StrCat("study compare --system a=", Path("a"), " --system b=", Path("b"),
                                  " --truth ", Path("one"), " --out ", Path("report"));
  ExpectFault(line, "different versions of Lumen: 1, 2");
  EXPECT_FALSE(fs::exists(folder_.Path() / "report"));
  const CommandResult allowed = RunCommand("lumen -q " + line + " --allow-mixed-versions");
  EXPECT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_NE(allowed.out.find("different versions"), std::string::npos);
}

TEST_F(StudyCli, CompareFaults) {
  ExpectFault(StrCat("study compare --system a --truth ", Path("one"), " --out ", Path("r")), "NAME=FOLDER");
  ExpectFault(StrCat("study compare --system a=/nowhere --truth ", Path("one"), " --out ", Path("r")),
              "/nowhere");
}

TEST_F(StudyCli, ARunThatFailsIsReportedAndEndsWithTwo) {
  const std::string line =
      StrCat("study suite ", Path("one"), " --out ", Path("s"), " --run-arg=--no-such-option");
  ExpectFault(line, "1 of 1 cells failed");
  EXPECT_NE(ReadFile(folder_.Path() / "s" / "study.md").find("one, lumen: failed"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_.Path() / "s" / "cells" / "lumen" / "one" / "log.txt"));
}

// Names of files are bytes, and what a cell is told to do passes through text.
TEST_F(StudyCli, ASequenceMayHaveANameThatIsNoText) {
  const fs::path folder = folder_.Path() / "50%\xff 'x'";
  fs::create_directories(folder);
  ExpectFault(StrCat("study suite \"$(printf '", folder_.Path().string(), "/50%%\\377 \\047x\\047')\" --out ",
                     Path("s")),
              "1 of 1 cells failed");
  const std::string table = ReadFile(folder_.Path() / "s" / "study.md");
  EXPECT_EQ(table.find("no such file"), std::string::npos) << table;
}

TEST_F(StudyCli, SequencesMustExistAndHaveNamesOfTheirOwn) {
  ExpectFault(StrCat("study suite /nowhere --out ", Path("s")), "/nowhere");
  ExpectFault(StrCat("study suite ", Path("one"), " ", Path("one"), "/ --out ", Path("s")), "same name");
  ExpectFault(StrCat("study suite --subjects nasal-99 --out ", Path("s")), "nasal-99");
}

TEST_F(StudyCli, TheSuiteIsSimulatedOnce) {
  const std::string line = StrCat("lumen study ablation --subjects nasal-1 --frames 2 --size 32x32 --out ",
                                  Path("s"), " --run-arg=--no-such-option");
  EXPECT_NE(RunCommand(line).err.find("6 of 6 cells failed"), std::string::npos);
  const fs::path sequence = folder_.Path() / "s" / "data" / "nasal-1";
  ASSERT_TRUE(fs::exists(sequence / "sequence.toml"));
  const auto written = fs::last_write_time(sequence / "sequence.toml");
  RunCommand(line);
  EXPECT_EQ(fs::last_write_time(sequence / "sequence.toml"), written);
  ExpectFault(StrCat("study suite --subjects nasal-1 --frames 3 --size 32x32 --out ", Path("s")),
              "another --data");
}

TEST_F(StudyCli, RunsSlamItselfAndOnlyOnce) {
  SaveModel(folder_.Path() / "m.safetensors", MakeRandomModel(1));  // sees nothing, but runs
  const std::string line = StrCat("lumen study suite --subjects nasal-1 --frames 3 --size 64x48 --model ",
                                  Path("m.safetensors"), " --out ", Path("s"));
  const CommandResult first = RunCommand(line);
  ASSERT_EQ(first.code, 0) << first.err;
  const Json cell = Json::Load(folder_.Path() / "s" / "cells" / "lumen" / "nasal-1" / "cell.json");
  EXPECT_EQ(cell.At("grades").At("frames_total").AsInteger(), 3);
  const CommandResult second = RunCommand(line);
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("1 of 1 cells are finished already"), std::string::npos) << second.err;
}

TEST_F(StudyCli, FoldsOfThePaperAsAnExampleAndFaultsInFolds) {
  const CommandResult example = RunCommand("lumen study cross-subject --example");
  EXPECT_EQ(example.code, 0) << example.err;
  EXPECT_NE(example.out.find("[fold-4]"), std::string::npos);
  const auto fault = [&](const std::string& text, const std::string& message) {
    std::ofstream(folder_.Path() / "folds.toml") << text;
    ExpectFault(StrCat("study cross-subject ", Path("folds.toml"), " --out ", Path("s")), message);
  };
  fault(example.out, "fold-1.safetensors");  // which is not there
  fault("[a]\ntest = [\"one\"]\n", "has no model");
  fault("[a]\nmodel = \"m\"\n", "has no test");
  fault("[a]\nmodel = \"m\"\ntests = [\"one\"]\n", "unknown key");
  fault("", "holds no folds");
  const auto training_fault = [&](const std::string& text, const std::string& message) {
    std::ofstream(folder_.Path() / "folds.toml") << text;
    ExpectFault(StrCat("study cross-subject ", Path("folds.toml"), " --train --steps 1 --out ", Path("s")),
                message);
    EXPECT_FALSE(fs::exists(folder_.Path() / "s" / "folds"));
  };
  training_fault("[a]\ntest = [\"one\"]\n", "nothing to train on");
  training_fault("[a]\ntrain = [\"one\"]\n", "has no test");
  training_fault("[a]\ntest = [\"one\", \"two\"]\ntrain = [\"three\", \"two\"]\n",
                 "fold \"a\" trains on two, which it is tested on");
  // The same folder by another name.
  training_fault("[a]\ntest = [\"one\"]\ntrain = [\"./two/../one\"]\n", "which it is tested on");
}

TEST_F(StudyCli, CrossSubjectPoolsItsFolds) {
  std::ofstream(folder_.Path() / "m1") << "weights";
  std::ofstream(folder_.Path() / "m2") << "other weights";
  std::ofstream(folder_.Path() / "folds.toml") << "[a]\nmodel = \"m1\"\ntest = [\"one\", \"two\"]\n"
                                                  "[b]\nmodel = \"m2\"\ntest = [\"two\", \"three\"]\n";
  ExpectFault(
      StrCat("study cross-subject ", Path("folds.toml"), " --out ", Path("s"), " --run-arg=--no-such-option"),
      "4 of 4 cells failed");
  const std::string text = ReadFile(folder_.Path() / "s" / "study.md");
  for (const char* row : {"| all folds |", "| a |", "| b |"})
    EXPECT_NE(text.find(row), std::string::npos) << row;
}

TEST(StudyPriors, GradesTheShippedModelUnderItsKeys) {
  const TemporaryFolder folder;
  const fs::path file = folder.Path() / "priors.json";
  const CommandResult result = RunCommand(
      StrCat("lumen -q study priors --subjects nasal-3 --frames 6 --pairs 2 --json ", file.string()));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json grades = Json::Parse(ReadFile(file), "priors.json");
  EXPECT_LT(grades.At("ard_average").AsDouble(), 0.2);
  EXPECT_GT(grades.At("threshold_average").AsDouble(), 0.7);
  EXPECT_GT(grades.At("match_precision").AsDouble(), 0.8);
  EXPECT_EQ(grades.At("alignment_success").AsDouble(), 1);
  EXPECT_GT(grades.At("ard_gain").AsDouble(), -0.5);
  EXPECT_EQ(RunCommand("lumen -q study priors --subjects nobody").code, 2);
  EXPECT_EQ(RunCommand("lumen -q study priors --model nothing.safetensors").code, 2);
}

}  // namespace
}  // namespace lumen
