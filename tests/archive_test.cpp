// Archives of videos: lists, names, the page over all; batches whose videos stand-ins make, and small real
// ones that are killed.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "lumen/apps/archive_batch.h"
#include "lumen/apps/archive_video.h"
#include "lumen/base/csv.h"
#include "lumen/base/error.h"
#include "lumen/io/input_search.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/network/weights.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;
using State = TaskOutcome::State;

template <typename Call>
std::string ArchiveFault(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class VideoListTest : public ::testing::Test {
 protected:
  VideoListTest() {
    for (const char* name : {"a.mp4", "b.mp4", "ct.nii.gz", "lens.yaml"}) Put(name, "x");
  }
  fs::path Put(const std::string& name, const std::string& text) const {
    MakeDirectories((folder_.Path() / name).parent_path());
    WriteFileAtomically(folder_.Path() / name, text);
    return folder_.Path() / name;
  }
  std::vector<ArchiveVideo> Read(const std::string& text) const { return ReadVideoList(Put("list", text)); }
  // Without the list's name before it.
  std::string Fault(const std::string& text) const {
    const std::string fault = ArchiveFault([&] { Read(text); });
    const std::string list = (folder_.Path() / "list").string() + ": ";
    EXPECT_TRUE(StartsWith(fault, list)) << fault;
    return fault.substr(std::min(fault.size(), list.size()));
  }

  TemporaryFolder folder_;
};

TEST_F(VideoListTest, ATableSaysWhatEachVideoHasForItself) {
  const auto videos = Read(
      "Input;name;fov;ct-start;ct;bgr\n"
      "a.mp4;\"Müller; first\";90;;;\n"
      "b.mp4;;;-1,2,3;ct.nii.gz;yes\n");
  ASSERT_EQ(videos.size(), 2U);
  EXPECT_EQ(videos[0].name, "Müller; first");
  EXPECT_EQ(videos[0].input, folder_.Path() / "a.mp4");
  ASSERT_EQ(videos[0].own.size(), 1U);
  EXPECT_EQ(videos[0].own[0].name, "--fov");
  EXPECT_EQ(videos[0].own[0].values, std::vector<std::string>{"90"});
  EXPECT_EQ(videos[1].name, "b.mp4");
  std::map<std::string, std::vector<std::string>> own;
  for (const GivenOption& option : videos[1].own) own[option.name] = option.values;
  EXPECT_EQ(own.at("--ct"), std::vector<std::string>{(folder_.Path() / "ct.nii.gz").string()});
  EXPECT_EQ(own.at("--ct-start"), std::vector<std::string>{"-1,2,3"});
  EXPECT_TRUE(own.at("--bgr").empty());
}

TEST_F(VideoListTest, PlainTextIsAPathALine) {
  const auto videos = Read("# the archive\na.mp4\n\n  b.mp4\r\n");
  ASSERT_EQ(videos.size(), 2U);
  EXPECT_EQ(videos[1].input, folder_.Path() / "b.mp4");
  EXPECT_TRUE(videos[1].own.empty());
}

TEST_F(VideoListTest, ABadRowIsNamedByLineAndColumn) {
  EXPECT_EQ(Fault("input,fvo\na.mp4,90\n"), "line 1, column fvo: is not known (did you mean \"fov\"?)");
  EXPECT_EQ(Fault("input,fov,fov\na.mp4,90,\n"), "line 1, column fov: stands there twice");
  EXPECT_TRUE(
      StartsWith(Fault("input,fov\na.mp4,90\n\nb.mp4,900\n"), "line 4, column fov: Value 900 not in range"));
  EXPECT_NE(Fault("input,start\na.mp4,soon\n").find("line 2, column start: "), std::string::npos);
  EXPECT_NE(Fault("input,ct\na.mp4,gone.nii\n").find("line 2, column ct: no such file or folder"),
            std::string::npos);
  EXPECT_NE(Fault("input,ct_start\na.mp4,here\n").find("line 2, column ct_start: "), std::string::npos);
  EXPECT_EQ(Fault("input,bgr\na.mp4,perhaps\n"), "line 2, column bgr: \"perhaps\" is neither yes nor no");
  EXPECT_NE(Fault("input\ngone.mp4\n").find("line 2, column input: no such file or folder"),
            std::string::npos);
  EXPECT_EQ(Fault("input,fov\n,90\n"), "line 2, column input: is empty");
  EXPECT_EQ(Fault("input\na.mp4,90\n"), "line 2: has 2 cells, the head has 1");
  EXPECT_EQ(Fault("input\n/dev/video0\n"), "line 2, column input: a camera is no recording");
  EXPECT_EQ(Fault("a.mp4\na.mp4\n"),
            "line 2, column name: the same as in line 1: give each a name of its own");
  EXPECT_EQ(Fault("input\n\"a.mp4\n"), "line 2: a quote that is never closed");
  EXPECT_EQ(Fault("\n# nothing\n"), "names no videos");
  EXPECT_NE(Fault(std::string("a\0b", 3)).find("is no list"), std::string::npos);
}

TEST_F(VideoListTest, AFolderIsSearchedWithTheCtThatLiesBeside) {
  Put("archive/p1/one.mp4", "x");
  Put("archive/p1/one.ct.nii", "x");
  Put("archive/two.mp4", "x");
  const auto videos = FindVideos(folder_.Path() / "archive");
  ASSERT_EQ(videos.size(), 2U);
  EXPECT_EQ(videos[0].name, "p1/one.mp4");
  EXPECT_EQ(videos[0].folder, "p1--one.mp4");
  ASSERT_EQ(videos[0].own.size(), 1U);
  EXPECT_EQ(videos[0].own[0].values.front(), (folder_.Path() / "archive/p1/one.ct.nii").string());
  EXPECT_TRUE(videos[1].own.empty());
  MakeDirectories(folder_.Path() / "empty");
  EXPECT_NE(ArchiveFault([&] { FindVideos(folder_.Path() / "empty"); }).find("holds nothing"),
            std::string::npos);
}

TEST(VideoNames, AreSafeAndUnlikeOneAnother) {
  EXPECT_EQ(VideoFolderName("a.mp4"), "a.mp4");
  EXPECT_EQ(VideoFolderName("p 1/a.mp4").substr(0, 10), "p_1--a.mp4");
  const std::vector<std::string> names = {"a/b",  "a--b", "a-/b",
                                          "a/-b", "a b",  "a_b",
                                          "a\nb", "../b", "/b",
                                          "..",   ".b",   "_b",
                                          "b",    "<b>",  "&b;",
                                          "ä",    "\xff", std::string(300, 'x'),
                                          "a\"b", "a'b",  std::string(301, 'x')};
  std::set<std::string> folders;
  for (const std::string& name : names) {
    const std::string folder = VideoFolderName(name);
    EXPECT_TRUE(folders.insert(folder).second) << name << " → " << folder;
    EXPECT_TRUE(std::regex_match(folder, std::regex("[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}"))) << folder;
  }
}

VideoEntry Finished(const std::string& name) {
  VideoEntry entry;
  entry.name = name;
  entry.folder = VideoFolderName(name);
  entry.input = "/archive/" + name;
  entry.state = VideoState::kDone;
  entry.identity = Json::MakeObject();
  entry.version = OwnVersion();
  entry.length = 75;
  entry.frames = 2250;
  entry.placed = 2249;
  entry.keyframes = 40;
  entry.reliable = true;
  entry.words = "2249 of 2250 frames were placed.";
  entry.coverage = 0.631;
  entry.coverage_sigma = 0.04;
  entry.ct = CtVerdict::kRegistered;
  entry.seconds = 61.5;
  return entry;
}

VideoEntry FailedVideo(const std::string& name, const std::string& reason) {
  VideoEntry entry;
  entry.name = name;
  entry.folder = VideoFolderName(name);
  entry.state = VideoState::kFailed;
  entry.reason = reason;
  entry.attempts = 1;
  return entry;
}

TEST(ArchiveIndex, ARecordReadsBackAsItWas) {
  VideoEntry entry = Finished("a\nb");
  entry.coverage.reset();
  const Json json = VideoToJson(entry);
  EXPECT_EQ(VideoToJson(VideoFromJson(Json::Parse(json.Dump()), "x")), json);
  Json broken = json;
  broken["ct"] = "perhaps";
  EXPECT_THROW(VideoFromJson(broken, "x"), InputError);
}

TEST(ArchiveIndex, NumbersAreSortedByWhatTheyAreNotByHowTheyRead) {
  const std::string page = FormatIndexPage({Finished("a.mp4")}, "archive");
  EXPECT_NE(page.find("data-v=\"75\">1:15</td>"), std::string::npos);
  EXPECT_NE(page.find("data-v=\"2250\">2250</td>"), std::string::npos);
  EXPECT_NE(page.find("data-v=\"0.631\">63 ± 4 %"), std::string::npos);
  // One frame that is missing is not all of them.
  EXPECT_NE(page.find(">99.9 %<"), std::string::npos);
  EXPECT_NE(page.find("<a href=\"videos/a.mp4/report.html\">a.mp4</a>"), std::string::npos);
}

TEST(ArchiveIndex, HostileNamesAreTextAndNothingElse) {
  const std::string hostile = "<script>alert(1)</script>\"' onload=\"x\n\x1b[2J\xff";
  VideoEntry seen = Finished(hostile);
  seen.words = seen.ct_words = seen.input = hostile;
  const std::string page = FormatIndexPage({seen, FailedVideo(hostile + "2", hostile)}, hostile);
  EXPECT_EQ(CountOf(page, "<script>"), 1U);  // our own
  EXPECT_EQ(page.find("onload=\"x"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt;&quot;' onload=&quot;x"), std::string::npos);
  const auto rows = ParseCsv(FormatIndexCsv({seen, FailedVideo("b", hostile)}), "index.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].cells[0], hostile);
  EXPECT_EQ(rows[1].cells.size(), rows[0].cells.size());
  EXPECT_EQ(rows[2].cells.size(), rows[0].cells.size());
  EXPECT_EQ(ParseCsv(FormatFailuresCsv({seen, FailedVideo("b", hostile)}), "f")[1].cells[2], hostile);
}

TEST(ArchiveIndex, WhatFailedIsInAListOfItsOwn) {
  VideoEntry waiting;
  waiting.name = waiting.folder = "later.mp4";
  const std::string page = FormatIndexPage(
      {Finished("good.mp4"), FailedVideo("bad.mp4", "cannot be decoded"), waiting}, "archive");
  const std::string table = page.substr(page.find("<tbody>"), page.find("</tbody>") - page.find("<tbody>"));
  EXPECT_EQ(CountOf(table, "<tr"), 2U);
  EXPECT_EQ(table.find("bad.mp4"), std::string::npos);
  EXPECT_NE(page.find("<li><b>bad.mp4</b>: cannot be decoded"), std::string::npos);
  EXPECT_NE(page.find("1 done, <a href=\"#failed\">1 failed</a>, 1 waiting"), std::string::npos);
}

// Stands in for the processes: each task leaves a record, unless it is told to fail.
class FakeEngine : public TaskEngine {
 public:
  std::vector<TaskOutcome> Run(const std::vector<Task>& tasks, const OnTask& on_task) override {
    std::vector<TaskOutcome> outcomes(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (ran.size() >= most) continue;  // interrupted
      ran.push_back(tasks[i].name);
      outcomes[i].attempts = 1;
      if (tasks[i].name == failing) {
        outcomes[i].state = State::kFailed;
        outcomes[i].reason =
            "ended with code 2: lumen: its lens is not known (" + TaskLog(tasks[i]).string() + ")";
      } else {
        WriteRecord(tasks[i]);
        outcomes[i].state = State::kDone;
      }
      on_task(i, outcomes[i]);
    }
    return outcomes;
  }

  std::vector<std::string> ran;
  std::string failing;
  size_t most = 1000;

 private:
  static void WriteRecord(const Task& task) {
    Command command("video", "");
    VideoTask video;
    AddVideoTaskOptions(command, video);
    command.Parse({task.arguments.begin() + 1, task.arguments.end()});
    ModelHashes models;
    VideoEntry entry = Finished(video.name);
    entry.identity = VideoIdentity(video.options, models);
    MakeDirectories(video.place);
    WriteFileAtomically(task.record, VideoToJson(entry).Dump());
  }
};

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() {
    options_.out = folder_.Path() / "out";
    for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) {
      WriteFileAtomically(folder_.Path() / name, "x");
      videos_.push_back({name, name, folder_.Path() / name, {}});
    }
  }
  BatchOutcome Run() { return RunBatch(videos_, options_, engine_); }
  std::string Fault() {
    return ArchiveFault([this] { Run(); });
  }
  std::string Index(const char* name) const { return ReadFile(options_.out / name); }

  TemporaryFolder folder_;
  BatchOptions options_;
  std::vector<ArchiveVideo> videos_;
  FakeEngine engine_;
};

TEST_F(BatchTest, WhatIsFinishedIsNotRunAgain) {
  videos_[0].own = {{"--fov", ValueKind::kNumber, {"90"}}};  // a number that is whole when it is read back
  engine_.most = 2;
  EXPECT_EQ(Run().done, 2U);
  EXPECT_NE(Index("index.html").find("2 done, 1 waiting"), std::string::npos);
  engine_.most = 1000;
  const BatchOutcome outcome = Run();
  EXPECT_EQ(engine_.ran, (std::vector<std::string>{"a.mp4", "b.mp4", "c.mp4"}));
  EXPECT_EQ(outcome.done, 3U);
  EXPECT_EQ(outcome.before, 2U);
}

TEST_F(BatchTest, WhatFailedIsTriedAgainAndLeavesTheList) {
  engine_.failing = "b.mp4";
  EXPECT_EQ(Run().failed, 1U);
  const auto failures = ParseCsv(Index("failures.csv"), "failures.csv");
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[1].cells[2], "its lens is not known");
  EXPECT_EQ(LoadArchive(options_.out)[1].reason, "its lens is not known");
  engine_.failing = "";
  EXPECT_EQ(Run().failed, 0U);
  EXPECT_EQ(engine_.ran.size(), 4U);
  EXPECT_EQ(ParseCsv(Index("failures.csv"), "failures.csv").size(), 1U);
  EXPECT_EQ(CountVideos(LoadArchive(options_.out)).done, 3U);
}

TEST_F(BatchTest, OtherSettingsAreRefusedBeforeAnythingRuns) {
  Run();
  options_.for_all = {{"--refine", ValueKind::kNone, {}}};
  EXPECT_NE(Fault().find("was run with other settings (refine): choose another --out, or --rerun"),
            std::string::npos)
      << Fault();
  EXPECT_EQ(engine_.ran.size(), 3U);
  options_.rerun = true;
  EXPECT_EQ(Run().before, 0U);
  EXPECT_EQ(engine_.ran.size(), 6U);
  EXPECT_EQ(Run().before, 3U);  // those of these settings are not run again
}

TEST_F(BatchTest, OtherVersionsAreRefusedOrKept) {
  Run();
  const fs::path record = archive_file::Record(options_.out, "b.mp4");
  Json json = Json::Load(record);
  json["version"] = "0.0.1 abc";
  WriteFileAtomically(record, json.Dump());
  EXPECT_NE(Fault().find("was run by Lumen 0.0.1 abc"), std::string::npos) << Fault();
  options_.allow_mixed_versions = true;
  EXPECT_EQ(Run().before, 3U);
  options_.rerun = true;
  EXPECT_EQ(Run().before, 2U);
}

TEST_F(BatchTest, WhatIsSaidForAllIsNotForAVideoThatSaysOtherwise) {
  class Arguments : public TaskEngine {
   public:
    std::vector<TaskOutcome> Run(const std::vector<Task>& tasks, const OnTask&) override {
      seen = tasks;
      return std::vector<TaskOutcome>(tasks.size());
    }
    std::vector<Task> seen;
  } engine;
  options_.for_all = {{"--fov", ValueKind::kNumber, {"90"}}, {"--deterministic", ValueKind::kNone, {}}};
  videos_[1].own = {{"--fov", ValueKind::kNumber, {"70"}}};
  videos_[2].own = {{"--calibration", ValueKind::kPath, {(folder_.Path() / "a.mp4").string()}}};
  RunBatch(videos_, options_, engine);
  const auto has = [&](size_t video, const std::string& argument) {
    const auto& arguments = engine.seen[video].arguments;
    return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
  };
  EXPECT_TRUE(has(0, "--fov=90") && has(0, "--if-none=fov"));
  EXPECT_TRUE(has(1, "--fov=70") && !has(1, "--fov=90") && !has(1, "--if-none=fov"));
  EXPECT_TRUE(!has(2, "--fov=90") && !has(2, "--if-none=fov"));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(has(i, "--deterministic"));
}

TEST_F(BatchTest, HowManyRunAtATimeIsNoSettingOfAVideo) {
  Run();
  options_.cores = 3;
  EXPECT_EQ(Run().before, 3U);
}

TEST_F(BatchTest, AnotherListAddsToTheSamePages) {
  Run();
  videos_ = {{"d.mp4", "d.mp4", folder_.Path() / "a.mp4", {}}};
  Run();
  EXPECT_EQ(CountVideos(LoadArchive(options_.out)).done, 4U);
}

TEST_F(BatchTest, ASecondBatchInTheSameFolderIsRefused) {
  std::string fault;
  class Second : public TaskEngine {
   public:
    explicit Second(std::function<void()> during) : during_(std::move(during)) {}
    std::vector<TaskOutcome> Run(const std::vector<Task>& tasks, const OnTask&) override {
      during_();
      return std::vector<TaskOutcome>(tasks.size());
    }

   private:
    std::function<void()> during_;
  } engine([&] { fault = Fault(); });
  RunBatch(videos_, options_, engine);
  EXPECT_NE(fault.find("another batch is at work there"), std::string::npos) << fault;
  EXPECT_TRUE(engine_.ran.empty());
  EXPECT_EQ(Run().done, 3U);
}

TEST_F(BatchTest, NoBatchHasNoPages) { EXPECT_THROW(LoadArchive(folder_.Path()), InputError); }

// The program itself, with small videos.
class BatchCli : public ::testing::Test {
 protected:
  static constexpr int kVideos = 6;

  static void SetUpTestSuite() {
    stage_ = new TemporaryFolder;
    const fs::path archive = stage_->Path() / "archive";
    MakeDirectories(archive);
    const CommandResult made = RunCommand("lumen -q simulate --frames 8 --size 160x128 --no-model " +
                                          (archive / "video-0").string());
    ASSERT_EQ(made.code, 0) << made.err;
    for (int i = 1; i < kVideos; ++i)
      fs::copy(archive / "video-0", archive / StrCat("video-", i), fs::copy_options::recursive);
  }
  static void TearDownTestSuite() {
    delete stage_;
    stage_ = nullptr;
  }

  static std::string Path(const char* name) { return (stage_->Path() / name).string(); }
  // As cheap as SLAM and its report can be had.
  static std::string Batch(const char* archive, const char* out) {
    return StrCat("lumen batch ", Path(archive), " --out ", Path(out),
                  " --deterministic --device cpu --jobs 2 --set depth.views=0 --set fusion.voxel=0.2");
  }
  static size_t FinishedIn(const char* out) {
    size_t count = 0;
    std::error_code error;
    for (const auto& video : fs::directory_iterator(stage_->Path() / out / "videos", error))
      count += fs::exists(video.path() / video_file::kRecord) ? 1 : 0;
    return count;
  }

  static inline TemporaryFolder* stage_ = nullptr;
};

TEST_F(BatchCli, KilledTwiceEachVideoIsThereOnce) {
  for (const size_t enough : {1U, 3U}) {
    const CommandResult result = RunCommand(
        Batch("archive", "out") +
        StrCat(" & p=$!; for i in $(seq 6000); do [ $(ls ", Path("out"),
               "/videos/*/video.json 2>/dev/null | wc -l) -ge ", enough,
               " ] && break; kill -0 $p || break; sleep 0.1; done; kill -KILL $p; wait $p; exit 0"));
    ASSERT_EQ(result.code, 0) << result.err;
    ASSERT_GE(FinishedIn("out"), enough);
    ASSERT_LT(FinishedIn("out"), static_cast<size_t>(kVideos));
  }
  std::map<fs::path, fs::file_time_type> before;
  for (const auto& video : fs::directory_iterator(stage_->Path() / "out/videos"))
    before[video.path()] = fs::last_write_time(video.path() / video_file::kRecord);
  const CommandResult last = RunCommand(Batch("archive", "out"));
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_NE(last.out.find("6 of 6 videos are done"), std::string::npos) << last.out;
  for (const auto& [video, time] : before) EXPECT_EQ(fs::last_write_time(video / video_file::kRecord), time);
  const std::string page = ReadFile(Path("out/index.html"));
  const auto rows = ParseCsv(ReadFile(Path("out/index.csv")), "index.csv");
  ASSERT_EQ(rows.size(), kVideos + 1U);
  for (int i = 0; i < kVideos; ++i) {
    const std::string name = StrCat("video-", i);
    EXPECT_EQ(rows[static_cast<size_t>(i) + 1].cells[0], name);
    EXPECT_EQ(CountOf(page, StrCat("<a href=\"videos/", name, "/report.html\">")), 1U);
    for (const char* file : {video_file::kReport, "run/summary.json"})
      EXPECT_TRUE(fs::exists(stage_->Path() / "out/videos" / name / file)) << name << " " << file;
    for (const auto& left : fs::directory_iterator(stage_->Path() / "out/work" / name))
      EXPECT_EQ(left.path().filename(), "log.txt");
  }
}

TEST_F(BatchCli, OneThatFailsDoesNotKeepTheOthersBack) {
  const fs::path archive = stage_->Path() / "mixed";
  MakeDirectories(archive);
  WriteFileAtomically(archive / "bad.mp4", "no video at all");
  fs::copy(stage_->Path() / "archive/video-0", archive / "good", fs::copy_options::recursive);
  const CommandResult result =
      RunCommand(StrCat("lumen batch ", Path("mixed"), " --out ", Path("mixed-out"), " --device cpu"));
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("1 of 2 videos failed"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("bad.mp4"), std::string::npos);
  const auto rows = ParseCsv(ReadFile(Path("mixed-out/failures.csv")), "failures.csv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].cells[0], "bad.mp4");
  if (HaveOpenCv()) {
    EXPECT_TRUE(StartsWith(rows[1].cells[2], "cannot be decoded")) << rows[1].cells[2];
  }
  EXPECT_EQ(FinishedIn("mixed-out"), 1U);
  EXPECT_TRUE(fs::exists(stage_->Path() / "mixed-out/videos/good/run/surface.ply"));
  fs::remove(Path("mixed-out/index.html"));
  EXPECT_EQ(RunCommand("lumen batch --index " + Path("mixed-out")).code, 0);
  EXPECT_EQ(CountOf(ReadFile(Path("mixed-out/index.html")), "<li><b>bad.mp4</b>"), 1U);
}

// A script stands in for the cluster (tests/slurm_stand_in), which kills the first attempt.
TEST_F(BatchCli, OnAClusterItIsTheSamePage) {
  const fs::path archive = stage_->Path() / "shared", stand_in = stage_->Path() / "cluster";
  MakeDirectories(archive);
  MakeDirectories(stand_in / "bin");
  for (const char* name : {"sbatch", "squeue", "sacct", "scontrol"})
    fs::create_symlink(fs::path(LUMEN_SOURCE_DIR) / "tests/slurm_stand_in", stand_in / "bin" / name);
  WriteFileAtomically(stand_in / "faults", "kill\n");
  WriteFileAtomically(archive / "bad.mp4", "no video at all");
  fs::copy(stage_->Path() / "archive/video-0", archive / "good", fs::copy_options::recursive);
  const CommandResult result = RunCommand(
      StrCat("export STAND_IN=", stand_in.string(), "; PATH=", (stand_in / "bin").string(), ":$PATH; ",
             "lumen batch ", Path("shared"), " --out ", Path("shared-out"),
             " --on slurm --deterministic --device cpu --set depth.views=0 --set fusion.voxel=0.2"));
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("attempt 2 of 3 follows"), std::string::npos) << result.err;
  const std::vector<VideoEntry> entries = LoadArchive(Path("shared-out"));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].state, VideoState::kFailed);
  EXPECT_FALSE(entries[0].reason.empty());
  EXPECT_EQ(entries[0].node.substr(0, 1), "n");
  EXPECT_EQ(entries[1].state, VideoState::kDone);
}

TEST_F(BatchCli, WrongUsageIsOneLine) {
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::string>>{
           {"lumen batch", "needs an archive"},
           {"lumen batch --index " + Path("archive"), "holds no batch"},
           {"lumen batch " + Path("archive") + " --out /dev/null", "/dev/null"},
           {"lumen batch " + Path("gone") + " --out " + Path("x"), "gone"},
           {Batch("archive", "x") + " --fov 500", "--fov"},
           {Batch("archive", "x") + " --set slam.nothing=1", "slam.nothing"}}) {
    const CommandResult result = RunCommand(line);
    EXPECT_TRUE(result.code == 2 || result.code == 3) << line << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_EQ(CountOf(result.err, "\n"), 1U) << result.err;
  }
}

}  // namespace
}  // namespace lumen
