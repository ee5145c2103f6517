// Fusion and registration from the outside.
#include <gtest/gtest.h>

#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"
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
    const SimulatedSequence sequence(TrueRunOptions());
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
  EXPECT_EQ(mesh.attributes.size(), 2U);
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

}  // namespace
}  // namespace lumen
