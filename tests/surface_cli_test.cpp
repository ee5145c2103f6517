// Fusion and registration from the outside.
#include <gtest/gtest.h>

#include <fstream>

#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/trajectory_file.h"
#include "lumen/io/volume_file.h"
#include "tests/command.h"
#include "tests/surface_world.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

// One world for all tests: simulating it takes the time.
class SurfaceCli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const SimulatedSequence& sequence = TrueSequence();
    WriteTrueRun(folder_->Path() / "run", sequence);
    SaveMesh(folder_->Path() / "model.ply", sequence.Surface());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }

  static void ExpectFault(const std::string& line, const std::string& text, int code = 2) {
    const CommandResult result = RunCommand("lumen -q " + line);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* SurfaceCli::folder_ = nullptr;

TEST_F(SurfaceCli, ARunIsFusedInEveryFormat) {
  for (const char* ending : {"ply", "obj", "stl", "glb"}) {
    const std::string out = Path(std::string("fused.") + ending);
    const CommandResult result = RunCommand(StrCat("lumen fuse ", Path("run"), " --out ", out));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_GT(fs::file_size(out), 10000U);
  }
  const TriangleMesh mesh = LoadMesh(Path("fused.ply"));
  EXPECT_EQ(mesh.attributes.size(), 2 + kSeenFrom.size());
  EXPECT_NEAR(mesh.colors.at(0)[0], 120, 1);
  EXPECT_EQ(LoadMesh(Path("fused.stl")).triangles.size(), mesh.triangles.size());
}

TEST_F(SurfaceCli, FusingSaysWhatIsMissing) {
  ExpectFault(StrCat("fuse ", Path("run"), " --out ", Path("a.xyz")), "must end in .ply");
  ExpectFault(StrCat("fuse ", Path("nowhere"), " --out ", Path("a.ply")), "nowhere");
  fs::copy(Path("run"), Path("bare"), fs::copy_options::recursive);
  fs::remove_all(Path("bare") + "/depth");
  ExpectFault(StrCat("fuse ", Path("bare"), " --out ", Path("a.ply")), "no depth map");
  ExpectFault(StrCat("fuse ", Path("run"), " --out ", Path("a.ply"), " --set fusion.voxell=1"), "voxel");
}

Eigen::Affine3d ReadTransform(const Json& json) {
  Eigen::Affine3d transform;
  const auto& rows = json.At("transform").AsArray();
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c)
      transform.matrix()(r, c) = rows[static_cast<size_t>(r)].AsArray()[static_cast<size_t>(c)].AsDouble();
  return transform;
}

// The true registration: the run's map to millimetres.
void ExpectTruth(const Json& json) {
  const Eigen::Matrix4d truth = MapFromWorld().Inverse().Matrix();
  const Eigen::Matrix4d found = ReadTransform(json).matrix();
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) EXPECT_NEAR(found(r, c), truth(r, c), c == 3 ? 1.5 : 0.2);
}

TEST_F(SurfaceCli, ARunIsRegisteredFromNothingAndItsFilesLieInTheCt) {
  const CommandResult result =
      RunCommand(StrCat("lumen -q register ", Path("run"), " --model ", Path("model.ply"), " --out ",
                        Path("registered"), " --json ", Path("r.json")));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = Json::Load(Path("r.json"));
  EXPECT_TRUE(json.At("confident").AsBool());
  EXPECT_LT(json.At("residual_mean_mm").AsDouble(), 0.1);
  EXPECT_LT(json.At("residual_median_mm").AsDouble(), json.At("residual_p95_mm").AsDouble());
  EXPECT_GT(json.At("matched_share").AsDouble(), 0.95);
  EXPECT_EQ(json.At("constraints").AsArray().size(), 7U);
  ExpectTruth(json);
  const fs::path out = Path("registered");
  EXPECT_NE(ReadFile(out / "registered.ply").substr(0, 200).find("SPACE=LPS"), std::string::npos);
  EXPECT_EQ(LoadMesh(out / "residual.ply").attributes.back().name, "residual_mm");
  EXPECT_FALSE(LoadMesh(out / "wall.ply").triangles.empty());
  const Json written = Json::Load(out / "registration.json");
  EXPECT_EQ(written.At("model"), Json(Path("model.ply")));
  EXPECT_NE(written.At("words").AsString().find("of the surface lies on it"), std::string::npos);
  const Image<uint8_t> beside = LoadPng8(out / "side_by_side.png");
  EXPECT_EQ(beside.Width(), 4 * 320 + 5 * 6);
  EXPECT_EQ(beside.Height(), 2 * 256 + 3 * 6);
  EXPECT_NE(ReadFile(out / "trajectory.tum").substr(0, 200).find("LPS"), std::string::npos);
  const Trajectory cameras = LoadTrajectory(out / "trajectory.tum");
  const SimulatedSequence& sequence = TrueSequence();
  for (const int i : {0, 30, 59})
    EXPECT_LT(
        (cameras.at(static_cast<size_t>(i)).world_from_camera.Translation() - sequence.Pose(i).Translation())
            .norm(),
        0.5);
}

TEST_F(SurfaceCli, AVolumeRegistersLikeItsMesh) {
  const SimulatedSequence& sequence = TrueSequence();
  const DistanceField& field = sequence.Scene().Field();
  constexpr double kVoxel = 0.5;
  Volume volume;
  volume.size = (field.Bounds().sizes() / kVoxel).cast<int>() + Eigen::Vector3i::Constant(3);
  volume.lps_from_index.diagonal().head<3>().setConstant(kVoxel);
  volume.lps_from_index.col(3).head<3>() =
      field.Bounds().min().cast<double>() - Eigen::Vector3d::Constant(kVoxel);
  for (int z = 0; z < volume.size.z(); ++z)
    for (int y = 0; y < volume.size.y(); ++y)
      for (int x = 0; x < volume.size.x(); ++x) {
        const Eigen::Vector4d p = volume.lps_from_index * Eigen::Vector4d(x, y, z, 1);
        const float depth = sequence.Scene().Distance(p.head<3>().cast<float>());
        volume.values.push_back(-400 - 600 * std::clamp(depth, -1.0F, 1.0F));
      }
  const std::string guess = Path("guess.txt");
  const Eigen::Matrix4d truth = MapFromWorld().Inverse().Matrix();
  std::ofstream(guess) << truth;
  std::vector<std::vector<Eigen::Vector3d>> placed;  // some places of the map, by each
  for (const char* name : {"model.ply", "ct.nii", "ct.nrrd"}) {
    if (std::string(name) != "model.ply") SaveVolume(Path(name), volume);
    const CommandResult result = RunCommand(StrCat("lumen -q register ", Path("run"), " --model ", Path(name),
                                                   " --initial ", guess, " --json ", Path("v.json")));
    ASSERT_EQ(result.code, 0) << name << result.err;
    const Json json = Json::Load(Path("v.json"));
    ExpectTruth(json);
    EXPECT_LT(json.At("residual_mean_mm").AsDouble(), 0.15) << name;
    placed.emplace_back();
    for (const int i : {0, 30, 59})
      placed.back().push_back(ReadTransform(json) * (MapFromWorld() * sequence.Pose(i).Translation()));
    for (size_t k = 0; k < placed.back().size(); ++k)
      EXPECT_LT((placed.back()[k] - placed.front()[k]).norm(), 0.2) << name;
  }
}

TEST_F(SurfaceCli, PairsOfPointsAreAStart) {
  std::ofstream pairs(Path("pairs.txt"));
  pairs << "# surface, CT\n";
  for (const Eigen::Vector3d& p : {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(10, 0, 5),
                                   Eigen::Vector3d(0, 20, 30), Eigen::Vector3d(-9, 7, 12)})
    pairs << (MapFromWorld() * p).transpose() << ' ' << (p + Eigen::Vector3d(1, -1, 2)).transpose() << '\n';
  pairs.close();
  const CommandResult result =
      RunCommand(StrCat("lumen -q register ", Path("run"), " --model ", Path("model.ply"), " --pairs ",
                        Path("pairs.txt"), " --json ", Path("p.json")));
  ASSERT_EQ(result.code, 0) << result.err;
  ExpectTruth(Json::Load(Path("p.json")));
}

TEST_F(SurfaceCli, AnotherOrganEndsWithFourAndNoTransform) {
  SaveMesh(Path("stomach.ply"), ExportSurface(*MakeAnatomy(AnatomyKind::kStomach, 11, 2)));
  const CommandResult result =
      RunCommand(StrCat("lumen -q register ", Path("run"), " --model ", Path("stomach.ply"), " --json ",
                        Path("no.json"), " --out ", Path("no")));
  EXPECT_EQ(result.code, 4) << result.out << result.err;
  EXPECT_NE(result.err.find("not registered"), std::string::npos) << result.err;
  EXPECT_EQ(Json::Load(Path("no.json")).Find("transform"), nullptr);
  EXPECT_FALSE(fs::exists(Path("no") + "/transform.txt"));
}

TEST_F(SurfaceCli, RegistrationFaults) {
  TriangleMesh one;
  one.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  SaveMesh(Path("empty.ply"), one);
  one.triangles = {{0, 1, 2}};
  SaveMesh(Path("one.ply"), one);
  const std::string run = StrCat("register ", Path("run"), " --model ");
  ExpectFault(run + Path("empty.ply"), "no triangles");
  ExpectFault(run + Path("one.ply"), "1 triangles: too few");
  ExpectFault(StrCat("register ", Path("one.ply"), " --model ", Path("model.ply")), "too few");
  ExpectFault(run + Path("nowhere.nii"), "no such file");
  std::ofstream(Path("bad.nrrd")) << "NRRD0004\ntype: short\ndimension: 3\nsizes: 4 3 2\nencoding: raw\n\n";
  ExpectFault(run + Path("bad.nrrd"), "no spacing");
  std::ofstream(Path("m.txt")) << "1 0 0\n";
  ExpectFault(run + Path("model.ply") + " --initial " + Path("m.txt"), "4x4");
  std::ofstream(Path("m.txt")) << "1 0 0 0\n0 2 0 0\n0 0 1 0\n0 0 0 1\n";
  ExpectFault(run + Path("model.ply") + " --initial " + Path("m.txt"), "no similarity");
  std::ofstream(Path("p.txt")) << "1 2 3 4 5 6\n";
  ExpectFault(run + Path("model.ply") + " --pairs " + Path("p.txt"), "three pairs");
}

// A ball of air in a block of tissue, and two more beside it.
Volume MakeBalls() {
  Volume volume;
  volume.size = {60, 40, 40};
  volume.lps_from_index.topRightCorner<3, 1>() << -30, -20, -20;
  for (int i = 0; i < 60 * 40 * 40; ++i) {
    const Eigen::Vector3d p(i % 60 - 30, i / 60 % 40 - 20, i / 2400 - 20);
    const double depth =
        std::max(12 - (p - Eigen::Vector3d(-10, 0, 0)).norm(), 6 - (p - Eigen::Vector3d(15, 0, 0)).norm());
    volume.values.push_back(static_cast<float>(-480 - 520 * std::clamp(depth, -1.0, 1.0)));
  }
  return volume;
}

TEST_F(SurfaceCli, TheAirSpacesOfAVolumeAreListedAndWritten) {
  SaveVolume(Path("balls.nii"), MakeBalls());
  const CommandResult result =
      RunCommand(StrCat("lumen -q model ", Path("balls.nii"), " --out ", Path("spaces")));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("7.2 ml"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("0.9 ml"), std::string::npos) << result.out;
  EXPECT_GT(LoadMesh(Path("spaces/cavity_02.ply")).triangles.size(), 100U);
  EXPECT_NE(ReadFile(Path("spaces/cavities.svg")).find("from the front"), std::string::npos);
  const Json json = Json::Load(Path("spaces/cavities.json"));
  ASSERT_EQ(json.At("cavities").AsArray().size(), 2U);
  EXPECT_NEAR(json.At("cavities").AsArray()[0].At("widest_mm").AsDouble(), 24, 3);
}

TEST_F(SurfaceCli, CavitiesThatAreNotThereAreNamed) {
  SaveVolume(Path("balls.nii"), MakeBalls());
  const std::string run = StrCat("register ", Path("run"), " --model ", Path("balls.nii"));
  ExpectFault(run + " --cavity 9", "has no cavity 9 (1: 7.2 ml");
  ExpectFault(run + " --crop 1,2", "six numbers");
  ExpectFault(run + " --crop 5,1,0,1,0,1", "must grow");
  ExpectFault(run + " --crop 100,120,0,10,0,10", "no cavity within");
  ExpectFault(StrCat("register ", Path("run"), " --model ", Path("model.ply"), " --cavity 1"), "is a mesh");
  Volume scout = MakeBalls();
  scout.size.z() = 2;
  scout.values.resize(60 * 40 * 2);
  SaveVolume(Path("scout.nii"), scout);
  ExpectFault(StrCat("model ", Path("scout.nii")), "a scout or a localiser");
  Volume solid = MakeBalls();
  std::fill(solid.values.begin(), solid.values.end(), 20.0F);
  SaveVolume(Path("solid.nii"), solid);
  ExpectFault(StrCat("model ", Path("solid.nii")), "air from tissue");
  ExpectFault(StrCat("study ct ", Path("run"), " --out ", Path("s"), " --volumes 1+rubber"), "no such kind");
}

// A CT in metres still registers, and the doubt about its unit is said.
TEST_F(SurfaceCli, MetresAreNoticed) {
  TriangleMesh metres = LoadMesh(Path("model.ply"));
  for (Eigen::Vector3f& vertex : metres.vertices) vertex *= 0.001F;
  SaveMesh(Path("metres.ply"), metres);
  const CommandResult result = RunCommand(
      StrCat("lumen register ", Path("run"), " --model ", Path("metres.ply"), " --json ", Path("m.json")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("units metres"), std::string::npos) << result.err;
  // A ball of air a hundredth of a unit wide.
  Volume ball;
  ball.size = Eigen::Vector3i::Constant(20);
  ball.lps_from_index.diagonal().head<3>().setConstant(0.001);
  for (int i = 0; i < 20 * 20 * 20; ++i) {
    const Eigen::Vector3d p(i % 20 - 9.5, i / 20 % 20 - 9.5, i / 400 - 9.5);
    ball.values.push_back(static_cast<float>(-400 + 100 * (p.norm() - 5)));
  }
  SaveVolume(Path("ball.nrrd"), ball);
  EXPECT_NE(RunCommand(StrCat("lumen register ", Path("run"), " --model ", Path("ball.nrrd")))
                .err.find("units metres"),
            std::string::npos);
}

// A surface that another program moved, and what its vertices carry not.
TEST_F(SurfaceCli, AMovedSurfaceIsNoticed) {
  ASSERT_EQ(RunCommand(StrCat("lumen -q fuse ", Path("run"), " --out ", Path("own.ply"))).code, 0);
  TriangleMesh moved = LoadMesh(Path("own.ply"));
  const std::string to_model = StrCat(" --model ", Path("model.ply"));
  EXPECT_EQ(RunCommand(StrCat("lumen register ", Path("own.ply"), to_model)).err.find("was it moved"),
            std::string::npos);
  for (Eigen::Vector3f& vertex : moved.vertices) vertex = {-vertex.x(), -vertex.y(), vertex.z()};
  for (Eigen::Vector3f& normal : moved.normals) normal = {-normal.x(), -normal.y(), normal.z()};
  SaveMesh(Path("moved.ply"), moved);
  const CommandResult result = RunCommand(StrCat("lumen register ", Path("moved.ply"), to_model));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("was it moved"), std::string::npos) << result.err;
}

// The study of all this on a video: the shipped model, SLAM, fusion, registration to the anatomy, the truth.
TEST(CtStudy, RegistersEachRunAndKnowsTheTrueErrorAtTheCamera) {
  const TemporaryFolder folder;
  const std::string sequence = (folder.Path() / "nasal-904").string();
  const std::string out = (folder.Path() / "study").string();
  ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", sequence,
                              " --anatomy nasal --seed 904 --path insertion --size 160x128 --frames 50"))
                .code,
            0);
  const CommandResult result = RunCommand(StrCat("lumen -q study ct ", sequence, " --out ", out));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("| nasal-904 |"), std::string::npos) << result.out;
  EXPECT_TRUE(fs::exists(fs::path(out) / "ct.md"));
  const Json study = Json::Parse(ReadFile(fs::path(out) / "ct.json"), "ct.json");
  ASSERT_EQ(study.AsArray().size(), 1U);
  const Json& entry = study.AsArray()[0];
  EXPECT_EQ(entry.At("sequence").AsString(), "nasal-904");
  EXPECT_LT(entry.At("aligned_error_mm").AsDouble(), 2);
  const Json& guess = entry.At("from_guess");
  EXPECT_GT(guess.At("residual_mean_mm").AsDouble(), 0);
  EXPECT_GT(guess.At("camera_error_mm").AsDouble(), 0);
  EXPECT_GT(guess.At("camera_error_deg").AsDouble(), 0);
  // And to the whole body of the subject that its name says it is.
  const CommandResult whole =
      RunCommand(StrCat("lumen -q study ct ", sequence, " --out ", out, " --volumes 1.5"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Json cell = Json::Load(fs::path(out) / "volumes/nasal-904_in_nasal-904_1.5.json");
  EXPECT_GE(cell.At("spaces").AsDouble(), 1);
  EXPECT_EQ(cell.At("from_guess").At("status").AsString(), "registered");
  EXPECT_LT(cell.At("from_guess").At("camera_error_mm").AsDouble(), 2);
  EXPECT_NE(ReadFile(fs::path(out) / "ct_volumes.md").find("| nasal-904 | 1.5 |"), std::string::npos);
}

}  // namespace
}  // namespace lumen
