// What was seen of the wall, from the outside: its truth, its measure, its grades.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/coverage_mesh.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/trajectory_file.h"
#include "tests/command.h"
#include "tests/surface_world.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kVideo = 30;  // frames

// A simulated video with its truth, and a run on it that made no mistakes; its surface is the anatomy's.
class CoverageCli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(
        RunCommand(StrCat("lumen -q simulate ", Path("seq"),
                          " --anatomy bronchus --seed 3 --path insertion --speed 1.6 --size 80x64 --frames ",
                          kVideo))
            .code,
        0);
    SequenceOptions options = TrueRunOptions(AnatomyKind::kBronchus, kVideo);
    options.path.kind = PathKind::kInsertion;
    options.path.speed = 1.6;
    const SimulatedSequence sequence(options);
    WriteTrueRun(folder_->Path() / "run", sequence, 3);
    ASSERT_EQ(RunCommand(StrCat("lumen -q fuse ", Path("run"), " --out ", Path("run/surface.ply"))).code, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }

  static void ExpectFault(const std::string& line, const std::string& text) {
    const CommandResult result = RunCommand("lumen " + line);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_EQ(Split(Trim(result.err), '\n').size(), 1U) << result.err;
    EXPECT_EQ(result.out, "");
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* CoverageCli::folder_ = nullptr;

constexpr const char* kWritten[] = {"coverage.json", "coverage_spots.csv", "coverage_map.svg", "coverage.ply",
                                    "coverage_mesh.obj"};

void ExpectNothingWritten(const fs::path& folder) {
  for (const char* name : kWritten) EXPECT_FALSE(fs::exists(folder / name)) << name;
}

TEST_F(CoverageCli, SimulateWritesWhatWasSeenUnlessToldNotTo) {
  size_t seen = 0, missed = 0;
  for (const std::string& line : Split(ReadFile(Path("seq/coverage_mesh.obj")), '\n')) {
    if (!StartsWith(line, "f ")) continue;
    ++(line.ends_with("/1") ? seen : missed);
  }
  EXPECT_EQ(seen + missed, LoadMesh(Path("seq/model.ply")).triangles.size());
  EXPECT_GT(seen, 100U);
  EXPECT_GT(missed, 100U);
  const auto simulate = [](const std::string& out, const char* choice) {
    return RunCommand(
               StrCat("lumen -q simulate ", out, " --anatomy stomach --frames 1 --size 40x32 ", choice))
        .code;
  };
  ASSERT_EQ(simulate(Path("no_coverage"), "--no-coverage"), 0);
  EXPECT_FALSE(fs::exists(Path("no_coverage/coverage_mesh.obj")));
  EXPECT_TRUE(fs::exists(Path("no_coverage/model.ply")));
  ASSERT_EQ(simulate(Path("no_model"), "--no-model"), 0);
  EXPECT_FALSE(fs::exists(Path("no_model/coverage_mesh.obj")));
}

TEST_F(CoverageCli, SaysAndWritesWhatWasSeen) {
  const fs::path out = Path("out");
  const CommandResult result =
      RunCommand(StrCat("lumen coverage ", Path("run"), " --mm-per-unit 20 --out ", out.string()));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.rfind("Along ", 0), 0U) << result.out;
  EXPECT_NE(result.out.find("% of the wall were seen"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\n0.0 cm to "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("go back to frame "), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("coverage_map.svg"), std::string::npos) << result.err;
  for (const char* name : kWritten) ASSERT_TRUE(fs::exists(out / name)) << name;
  ExpectNothingWritten(Path("run"));
  const Json json = Json::Load(out / "coverage.json");
  EXPECT_GT(json.At("seen").AsDouble(), 0.3);
  EXPECT_LE(json.At("seen").AsDouble(), 1);
  EXPECT_EQ(json.At("mm_per_unit").AsDouble(), 20);
  EXPECT_FALSE(json.At("ways").AsArray().empty());
  EXPECT_FALSE(json.At("stretches").AsArray().empty());
  const size_t spots = json.At("spots").AsArray().size();
  EXPECT_EQ(Split(Trim(ReadFile(out / "coverage_spots.csv")), '\n').size(), spots + 1);
  EXPECT_NE(ReadFile(out / "coverage_map.svg").find("</svg>"), std::string::npos);
  const CoverageMesh wall = LoadCoverageMesh(out / "coverage_mesh.obj");
  const TriangleMesh colored = LoadMesh(out / "coverage.ply");
  EXPECT_EQ(wall.seen.size(), colored.triangles.size());
  EXPECT_EQ(colored.colors.size(), colored.vertices.size());
}

// Where the map lies in the CT, as `lumen register` writes it.
void WriteRegistration(const fs::path& folder) {
  const Eigen::Matrix4d model_from_run = MapFromWorld().Inverse().Matrix();
  Json json = Json::MakeObject();
  json["residual_mean_mm"] = 0.0;
  json["transform"] = Json::MakeArray();
  for (int row = 0; row < 4; ++row) {
    Json numbers = Json::MakeArray();
    for (int column = 0; column < 4; ++column) numbers.Append(model_from_run(row, column));
    json["transform"].Append(numbers);
  }
  fs::create_directory(folder);
  std::ofstream(folder / "registration.json") << json.Dump();
}

// The CT's wall is the very one of which the simulator knows what was seen.
TEST_F(CoverageCli, OfACtsWallEveryFaceIsCalledAsItIs) {
  WriteRegistration(Path("registration"));
  const CommandResult result =
      RunCommand(StrCat("lumen -q coverage ", Path("run"), " --model ", Path("seq/model.ply"),
                        " --registration ", Path("registration"), " --out ", Path("of_ct")));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json::Load(Path("of_ct/coverage.json")).At("mm_per_unit").AsDouble(), 1);
  const CoverageMesh truth = LoadCoverageMesh(Path("seq/coverage_mesh.obj"));
  const CoverageMesh said = LoadCoverageMesh(Path("of_ct/coverage_mesh.obj"));
  std::map<std::array<int32_t, 3>, bool> seen;
  for (size_t i = 0; i < truth.seen.size(); ++i) seen[truth.mesh.triangles[i]] = truth.seen[i] != 0;
  size_t truly = 0, agreed = 0;
  for (size_t i = 0; i < said.seen.size(); ++i) {
    const bool is_seen = seen.at(said.mesh.triangles[i]);
    truly += is_seen ? 1 : 0;
    agreed += is_seen == (said.seen[i] != 0) ? 1 : 0;
  }
  const auto all = static_cast<double>(said.seen.size());
  ASSERT_GT(all, 1000);
  EXPECT_GT(static_cast<double>(agreed), 0.9 * all);
  EXPECT_NEAR(Json::Load(Path("of_ct/coverage.json")).At("seen").AsDouble(), static_cast<double>(truly) / all,
              0.08);
}

TEST_F(CoverageCli, WithoutMillimetresItSpeaksOfWidthsAndWritesIntoTheRun) {
  fs::copy(Path("run"), Path("own"), fs::copy_options::recursive);
  const CommandResult result = RunCommand(StrCat("lumen -q coverage ", Path("own"), " --spots 1"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("in widths of the lumen"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find(" cm"), std::string::npos) << result.out;
  for (const char* name : kWritten) EXPECT_TRUE(fs::exists(fs::path(Path("own")) / name)) << name;
  EXPECT_EQ(Json::Load(Path("own/coverage.json")).Find("mm_per_unit")->IsNumber(), false);
}

TEST_F(CoverageCli, FaultsAreOneLine) {
  fs::copy(Path("run"), Path("bare"), fs::copy_options::recursive);
  fs::remove(Path("bare/surface.ply"));
  ExpectFault("coverage " + Path("bare"), "bare: has no surface.ply");
  ExpectNothingWritten(Path("bare"));
  fs::create_directory(Path("empty"));
  ExpectFault("coverage " + Path("empty"), "empty");
  ExpectFault("coverage " + Path("nowhere"), "nowhere");
  ExpectFault(StrCat("coverage ", Path("run"), " --model ", Path("seq/model.ply")),
              "needs both --model and --registration");
  ExpectFault(StrCat("coverage ", Path("run"), " --set coverage.stretch=3"), "stretch");
  ExpectNothingWritten(Path("run"));
}

TEST_F(CoverageCli, ACameraThatHardlyMovesIsToldSoAndNothingIsWritten) {
  fs::copy(Path("run"), Path("still"), fs::copy_options::recursive);
  const fs::path file = fs::path(Path("still")) / run_file::kFrames;
  Trajectory frames = LoadTrajectory(file);
  for (TimedPose& pose : frames) pose.world_from_camera = frames.front().world_from_camera;
  SaveTrajectory(file, frames);
  const CommandResult result = RunCommand("lumen -q coverage " + Path("still"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Split(Trim(result.out), '\n').size(), 1U) << result.out;
  EXPECT_NE(result.out.find("cannot be told"), std::string::npos) << result.out;
  ExpectNothingWritten(Path("still"));
}

TEST_F(CoverageCli, EvalGradesWhatTheRunSays) {
  const std::string eval =
      StrCat("lumen -q eval ", Path("run"), " --truth ", Path("seq"), " --json ", Path("g.json"));
  const CommandResult result = RunCommand(eval + " --coverage");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("coverage: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("not seen: "), std::string::npos) << result.out;
  const Json json = Json::Load(Path("g.json"));
  const Json& coverage = json.At("coverage");
  const double truth = coverage.At("true_share").AsDouble();
  EXPECT_GT(truth, 0.3);
  EXPECT_LT(truth, 1);
  EXPECT_NEAR(coverage.At("said_share").AsDouble(), truth, 0.1);
  EXPECT_LT(coverage.At("mean_error").AsDouble(), 0.15);
  EXPECT_GE(coverage.At("missed_area").AsDouble(), coverage.At("missed_area_found").AsDouble());
  EXPECT_FALSE(coverage.At("stretches").AsArray().empty());
  fs::rename(Path("seq/model.ply"), Path("model.ply"));  // to grade by takes its time
  // Unasked, or where the truth does not say, there is none.
  EXPECT_EQ(RunCommand(eval).out.find("coverage"), std::string::npos);
  EXPECT_EQ(Json::Load(Path("g.json")).Find("coverage"), nullptr);
  fs::rename(Path("seq/coverage_mesh.obj"), Path("truth.obj"));
  const CommandResult untold = RunCommand(eval + " --coverage");
  EXPECT_EQ(untold.code, 0) << untold.err;
  EXPECT_EQ(Json::Load(Path("g.json")).Find("coverage"), nullptr);
  std::ofstream(Path("seq/coverage_mesh.obj")) << "v 0 0 0\nf 1 1 1\n";
  ExpectFault(StrCat("-q eval ", Path("run"), " --coverage --truth ", Path("seq")), "coverage_mesh.obj");
  fs::rename(Path("truth.obj"), Path("seq/coverage_mesh.obj"));
  fs::rename(Path("model.ply"), Path("seq/model.ply"));
}

}  // namespace
}  // namespace lumen
