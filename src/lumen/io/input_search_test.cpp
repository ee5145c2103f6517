#include "lumen/io/input_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class InputSearchTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& content = "x") const {
    MakeDirectories((folder_.Path() / name).parent_path());
    WriteFileAtomically(folder_.Path() / name, content);
  }
  void PutPictures(const std::string& folder, int count) const {
    for (int i = 0; i < count; ++i) Put(folder + "/" + std::to_string(i) + ".png");
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const FoundInput& input : FindInputs(folder_.Path()).inputs) names.push_back(input.name);
    return names;
  }
  fs::path CtOf(const std::string& name) const {
    const fs::path ct = FindCtOf(folder_.Path() / name);
    return ct.empty() ? ct : ct.lexically_relative(folder_.Path());
  }

  TemporaryFolder folder_;
};

TEST_F(InputSearchTest, AllThatCanBeOpenedIsFoundByName) {
  Put("b.MP4");
  Put("a/late.mkv");
  Put("a/early.avi");
  Put("sage/fusion_data.hdf5");
  Put("simulated/sequence.toml");
  PutPictures("simulated/rgb", 12);
  PutPictures("pictures", 10);
  Put("notes.txt");
  Put("a/list.csv");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a/early.avi", "a/late.mkv", "b.MP4", "pictures",
                                               "sage/fusion_data.hdf5", "simulated"}));
}

TEST_F(InputSearchTest, SnapshotsAreNoVideo) {
  Put("patient/video.mp4");
  PutPictures("patient", 30);
  PutPictures("few", 9);
  EXPECT_EQ(Names(), std::vector<std::string>{"patient/video.mp4"});
}

TEST_F(InputSearchTest, WhatLumenWroteIsLeftAlone) {
  Put("out/batch.json", "{}");
  Put("out/videos/a/run/summary.json", "{}");
  PutPictures("out/videos/a/run/images", 12);
  Put("run/frames.tum");
  Put("run/map.h5");
  PutPictures("run/images", 12);
  Put("elsewhere/map.h5");
  Put(".hidden/a.mp4");
  PutPictures("ct", 20);
  PutPictures("nose.ct", 20);
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(InputSearchTest, AFolderThatIsAnInputIsItself) {
  PutPictures("nose", 12);
  const FoundInputs found = FindInputs(folder_.Path() / "nose");
  ASSERT_EQ(found.inputs.size(), 1U);
  EXPECT_EQ(found.inputs[0].name, "nose");
  EXPECT_EQ(found.inputs[0].path, folder_.Path() / "nose");
}

TEST_F(InputSearchTest, LinksThatLeadInACircleEnd) {
  Put("a/b/c.mp4");
  fs::create_directory_symlink(folder_.Path(), folder_.Path() / "a/b/round");
  EXPECT_EQ(Names(), std::vector<std::string>{"a/b/c.mp4"});
}

TEST_F(InputSearchTest, DicomWithoutVideoIsCounted) {
  Put("IM0001", std::string(128, '\0') + "DICMnothing that is a video");
  Put("notes", "short");
  const FoundInputs found = FindInputs(folder_.Path());
  EXPECT_TRUE(found.inputs.empty());
  EXPECT_EQ(found.dicom_without_video, 1);
}

TEST_F(InputSearchTest, WhatIsNoFolderIsRefused) {
  Put("a.mp4");
  EXPECT_THROW(FindInputs(folder_.Path() / "a.mp4"), InputError);
  EXPECT_THROW(FindInputs(folder_.Path() / "absent"), InputError);
}

TEST_F(InputSearchTest, TheNearestCtIsTaken) {
  Put("p/video.mp4");
  EXPECT_EQ(CtOf("p/video.mp4"), "");
  Put("p/ct/slice");
  EXPECT_EQ(CtOf("p/video.mp4"), "p/ct");
  Put("p/ct.nii.gz");
  EXPECT_EQ(CtOf("p/video.mp4"), "p/ct.nii.gz");
  Put("p/video.ct.mha");
  EXPECT_EQ(CtOf("p/video.mp4"), "p/video.ct.mha");
  EXPECT_EQ(CtOf("p/other.mp4"), "p/ct.nii.gz");
  Put("p/sequence/ct.nii");
  EXPECT_EQ(CtOf("p/sequence"), "p/sequence/ct.nii");
}

}  // namespace
}  // namespace lumen
