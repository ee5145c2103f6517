// The examples in C++, as somebody who copies them runs them; those in Python are
// python/tests/test_lumen.py's.
#include <gtest/gtest.h>

#include "lumen/base/file.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/trajectory_file.h"
#include "tests/command.h"

namespace lumen {
namespace {

class Examples : public ::testing::Test {
 protected:
  static constexpr const char* kModel = LUMEN_SOURCE_DIR "/models/lumen-base.safetensors";
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(
        RunCommand(
            StrCat("lumen -q simulate ", Path("seq"),
                   " --no-model --anatomy nasal --seed 942 --path insertion --size 320x256 --frames 20"))
            .code,
        0);
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }
  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(Examples, AVideoBecomesAPathAndASurface) {
  const CommandResult made = RunCommand(
      StrCat("example_video_to_mesh ", Path("seq"), " ", kModel, " ", Path("p.tum"), " ", Path("s.ply")));
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(LoadTrajectory(Path("p.tum")).size(), 20U);
  EXPECT_GT(LoadMesh(Path("s.ply")).triangles.size(), 1000U);

  const CommandResult graded =
      RunCommand(StrCat("example_grade_trajectory ", Path("p.tum"), " ", Path("seq/groundtruth.tum")));
  EXPECT_EQ(graded.code, 0) << graded.err;
  EXPECT_NE(graded.out.find("ATE, translation"), std::string::npos) << graded.out;
  EXPECT_EQ(RunCommand("example_grade_trajectory nowhere.tum nothing.tum").code, 1);
}

TEST_F(Examples, RawFramesArePlacedAsTheyCome) {
  const auto source = OpenInput(Path("seq"), {});
  std::string raw;
  while (const auto frame = source->Next())
    raw.append(reinterpret_cast<const char*>(frame->image.Data()), frame->image.Size());
  WriteFileAtomically(Path("raw"), raw);
  const CommandResult live =
      RunCommand(StrCat("example_live_frames ", Path("seq/sequence.toml"), " ", kModel, " < ", Path("raw")));
  EXPECT_EQ(live.code, 0) << live.err;
  EXPECT_NE(live.err.find("20 frames"), std::string::npos) << live.err;
  EXPECT_NE(live.out.find("0 started"), std::string::npos) << live.out;
}

TEST_F(Examples, EachSaysHowToUseIt) {
  for (const char* name : {"example_video_to_mesh", "example_live_frames", "example_grade_trajectory"})
    EXPECT_EQ(RunCommand(name).code, 2);
}

}  // namespace
}  // namespace lumen
