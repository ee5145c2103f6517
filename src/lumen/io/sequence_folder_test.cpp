#include "lumen/io/sequence_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "lumen/base/file.h"
#include "lumen/base/test_data.h"
#include "lumen/io/png.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

RgbImage FrameOf(int index) {
  RgbImage image(16, 12, 3);
  for (size_t i = 0; i < image.Size(); ++i)
    image.Data()[i] = static_cast<uint8_t>(i + 7 * static_cast<size_t>(index));
  return image;
}

void WriteExample(const fs::path& folder, int frames) {
  SequenceInfo info{"example", 25, "mm", 100, Camera::FromFieldOfView(77, 16, 12)};
  SequenceWriter writer(folder, info);
  Trajectory truth;
  for (int i = 0; i < frames; ++i) {
    writer.WriteFrame(i, FrameOf(i));
    DepthImage depth(16, 12, 1, 1.25F + static_cast<float>(i));
    depth(0, 0) = 1e6F;  // deeper than 16 bits hold
    writer.WriteDepth(i, depth);
    truth.push_back({i / 25.0, Rigid3(Eigen::Quaterniond::Identity(), Eigen::Vector3d(i, 0, 0))});
  }
  writer.WriteMask(Mask(16, 12, 1, 255));
  writer.WriteTruth(truth);
  writer.Finish();
}

std::string SequenceFault(const fs::path& folder) {
  try {
    const auto source = OpenInput(folder, {});
    while (source->Next()) {
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(SequenceFolder, WhatIsWrittenIsRead) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  WriteExample(folder, 5);
  const auto source = OpenInput(folder, {});
  EXPECT_EQ(source->Info().frame_count, 5);
  EXPECT_EQ(source->Info().fps, 25);
  EXPECT_EQ(source->Info().units, "mm");
  EXPECT_EQ(*source->Info().camera, Camera::FromFieldOfView(77, 16, 12));
  EXPECT_EQ(source->Info().truth->size(), 5U);
  for (int i = 0; i < 5; ++i) {
    const auto frame = source->Next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->index, i);
    EXPECT_DOUBLE_EQ(frame->time, i / 25.0);
    EXPECT_EQ(frame->image, FrameOf(i));
    const auto depth = source->LoadDepth(i);
    EXPECT_FLOAT_EQ((*depth)(3, 3), 1.25F + static_cast<float>(i));
    EXPECT_EQ((*depth)(0, 0), 0.0F);
  }
  EXPECT_FALSE(source->Next());
}

TEST(SequenceFolder, StartEndAndStrideSelectFrames) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  WriteExample(folder, 10);
  InputOptions options;
  options.start = 2;
  options.end = 9;
  options.stride = 3;
  const auto source = OpenInput(folder, options);
  EXPECT_EQ(source->Info().frame_count, 3);
  std::vector<int64_t> indices;
  while (const auto frame = source->Next()) indices.push_back(frame->index);
  EXPECT_EQ(indices, (std::vector<int64_t>{2, 5, 8}));
  options.start = 10;
  EXPECT_THROW(OpenInput(folder, options), InputError);
}

TEST(SequenceFolder, UnfinishedFolderDoesNotLookCompleteAndGoesWithItsWriter) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  {
    SequenceWriter writer(folder, {});
    writer.WriteFrame(0, FrameOf(0));
    EXPECT_NE(SequenceFault(folder).find("incomplete sequence folder"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(SequenceFolder, NonEmptyTargetIsRefused) {
  const TemporaryFolder temporary;
  std::ofstream(temporary.Path() / "x") << "y";
  EXPECT_THROW(SequenceWriter(temporary.Path(), {}), InputError);
}

// A process that writes a sequence and is killed over it.
void WriteAndDie(const fs::path& folder) {
  const pid_t process = ::fork();
  if (process == 0) {
    SequenceWriter writer(folder, {});
    writer.WriteFrame(0, FrameOf(0));
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(process, nullptr, 0);
}

TEST(SequenceFolder, OneThatWasKilledIsInNobodysWay) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  WriteAndDie(folder);
  EXPECT_NE(SequenceFault(folder).find("incomplete sequence folder"), std::string::npos);
  WriteExample(folder, 2);
  EXPECT_EQ(OpenInput(folder, {})->Info().frame_count, 2);
  EXPECT_FALSE(fs::exists(folder / ".unfinished"));
  EXPECT_THROW(SequenceWriter(folder, {}), InputError) << "what is finished stays";
}

TEST(SequenceFolder, NorIsAnythingTakenThatItDidNotWrite) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  WriteAndDie(folder);
  std::ofstream(folder / "notes.txt") << "mine";
  EXPECT_THROW(SequenceWriter(folder, {}), InputError);
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
  EXPECT_TRUE(fs::exists(folder / "rgb" / "000000.png"));
}

TEST(SequenceFolder, OneThatIsBeingWrittenIsLeftAlone) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  SequenceWriter writer(folder, {});
  EXPECT_THROW(SequenceWriter(folder, {}), InputError);
  EXPECT_TRUE(fs::exists(folder / "rgb"));
}

TEST(SequenceFolder, UnknownExtraFilesAreIgnored) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.Path() / "seq";
  WriteExample(folder, 2);
  std::ofstream(folder / "sparse_depth.csv") << "frame,u,v,depth\n";
  std::ofstream(folder / "rgb/notes.txt") << "hello";
  EXPECT_EQ(SequenceFault(folder), "");
}

TEST(SequenceFolder, FaultsAreNamed) {
  const TemporaryFolder temporary;
  auto fresh = [&, n = 0]() mutable {
    const fs::path folder = temporary.Path() / std::to_string(n++);
    WriteExample(folder, 4);
    return folder;
  };
  const auto edit = [](const fs::path& folder, const std::string& from, const std::string& to) {
    std::string text = ReadFile(folder / "sequence.toml");
    text.replace(text.find(from), from.size(), to);
    WriteFileAtomically(folder / "sequence.toml", text);
  };
  fs::path folder = fresh();
  fs::remove(folder / "rgb/000002.png");
  EXPECT_NE(SequenceFault(folder).find("frame 000002 is missing"), std::string::npos);

  folder = fresh();
  fs::resize_file(folder / "rgb/000001.png", 60);
  EXPECT_NE(SequenceFault(folder).find("000001.png: "), std::string::npos);

  folder = fresh();
  edit(folder, "fps", "fsp");
  EXPECT_NE(SequenceFault(folder).find("unknown key \"fsp\" (did you mean \"fps\"?)"), std::string::npos);

  for (const char* fps : {"1e-300", "0", "-25", "1e300", "nan", "inf", "\"25\""}) {
    folder = fresh();
    edit(folder, "fps = 25.0", StrCat("fps = ", fps));
    EXPECT_NE(SequenceFault(folder).find("fps must be a number from 0.001"), std::string::npos) << fps;
  }

  folder = fresh();
  edit(folder, "fx = ", "fx = -");
  EXPECT_NE(SequenceFault(folder).find("must be positive"), std::string::npos);

  folder = fresh();
  edit(folder, "units = \"mm\"", "units = \"cm\"");
  EXPECT_NE(SequenceFault(folder).find("units must be"), std::string::npos);

  folder = fresh();
  SavePng(folder / "mask.png", Mask(8, 8, 1, 255).View());
  EXPECT_NE(SequenceFault(folder).find("the mask is 8x8, the images are 16x12"), std::string::npos);

  folder = fresh();
  SavePng(folder / "rgb/000003.png", RgbImage(5, 5, 3).View());
  EXPECT_NE(SequenceFault(folder).find("000003.png: is 5x5, not 16x12"), std::string::npos);

  folder = fresh();
  fs::remove_all(folder / "rgb");
  fs::create_directory(folder / "rgb");
  EXPECT_NE(SequenceFault(folder).find("holds no images"), std::string::npos);

  folder = fresh();
  std::ofstream(folder / "groundtruth.tum") << "0 0 0 0 0 0 0 nan\n";
  EXPECT_NE(SequenceFault(folder).find("groundtruth.tum: line 1"), std::string::npos);

  EXPECT_NE(SequenceFault(temporary.Path() / "nowhere").find("no such file or folder"), std::string::npos);
}

TEST(SequenceFolder, TheRealSequenceIsRead) {
  const auto data = FindTestData("nasal-real");
  if (!data) GTEST_SKIP() << "no nasal-real here";
  const auto source = OpenInput(*data, {});
  EXPECT_EQ(source->Info().frame_count, 35);
  EXPECT_EQ(source->Info().width, 1920);
  EXPECT_EQ(source->Info().truth->size(), 35U);
  EXPECT_TRUE(source->Next());
}

TEST(SequenceFolder, DepthScaleFitsWhatIsThere) {
  EXPECT_EQ(ChooseDepthScale(0), 1000);
  EXPECT_EQ(ChooseDepthScale(60), 1000);
  for (const double largest : {1e-3, 0.7, 4.0, 66.0, 120.0, 5000.0, 3e6}) {
    const double scale = ChooseDepthScale(largest);
    EXPECT_LE(largest * scale, 65535) << largest;
    EXPECT_GT(largest * scale, 50000) << largest;
  }
}

}  // namespace
}  // namespace lumen
