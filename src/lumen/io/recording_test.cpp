// Recordings as hospitals keep them: DICOM, interlaced, of a changing rate, with text and pictures over them.
#include "lumen/io/recording.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "lumen/base/file.h"
#include "lumen/image/mask.h"
#include "lumen/io/dicom_video.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/png.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

constexpr int kTissueWidth = 160, kTissueHeight = 120;

RgbImage MovingTissue(double shift) {
  RgbImage image(kTissueWidth, kTissueHeight, 3);
  for (int y = 0; y < kTissueHeight; ++y) {
    for (int x = 0; x < kTissueWidth; ++x) {
      const double u = x + shift;
      const double value = 130 + 50 * std::sin(u / 7) * std::cos(y / 9.0) + 30 * std::sin((u + y) / 5);
      for (int c = 0; c < 3; ++c) image.Row(y)[3 * x + c] = static_cast<uint8_t>(value);
    }
  }
  return image;
}

cv::Mat AsMat(RgbImage& image) { return {image.Height(), image.Width(), CV_8UC3, image.Data()}; }

// Grey pictures, so that the order of colours is no matter.
void WriteTissueVideo(const fs::path& path, const char* codec, int frames, bool woven = false) {
  cv::VideoWriter writer(path.string(), cv::VideoWriter::fourcc(codec[0], codec[1], codec[2], codec[3]), 25,
                         cv::Size(kTissueWidth, kTissueHeight));
  ASSERT_TRUE(writer.isOpened()) << codec;
  for (int i = 0; i < frames; ++i) {
    RgbImage frame = MovingTissue(8 * i);
    if (woven) {
      const RgbImage later = MovingTissue(8 * i + 4);
      for (int y = 1; y < kTissueHeight; y += 2) std::copy_n(later.Row(y), 3 * kTissueWidth, frame.Row(y));
    }
    writer.write(AsMat(frame));
  }
}

std::string RecordingFault(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// ---- DICOM, written by hand

std::string Little(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
std::string Marked(uint32_t group, uint32_t element) { return Little(group, 2) + Little(element, 2); }
std::string Field(uint32_t group, uint32_t element, const char* kind, std::string value) {
  if (value.size() % 2 == 1) value += ' ';
  return Marked(group, element) + kind + Little(static_cast<uint32_t>(value.size()), 2) + value;
}
std::string Item(const std::string& bytes) {
  return Marked(0xfffe, 0xe000) + Little(static_cast<uint32_t>(bytes.size()), 4) + bytes;
}
const std::string kSequenceEnds = Marked(0xfffe, 0xe0dd) + Little(0, 4);

std::string Dicom(const std::string& syntax, const std::vector<std::string>& fragments,
                  const std::string& frames) {
  std::string file(128, '\0');
  file += "DICM" + Field(0x0002, 0x0010, "UI", syntax);
  // A sequence without a length, of an item without one: both end with a mark.
  file += Marked(0x0008, 0x1140) + "SQ" + Little(0, 2) + Little(0xffffffff, 4) + Marked(0xfffe, 0xe000) +
          Little(0xffffffff, 4) + Field(0x0008, 0x1150, "UI", "1.2.3") + Marked(0xfffe, 0xe00d) +
          Little(0, 4) + kSequenceEnds;
  file += Field(0x0018, 0x1063, "DS", "50") + Field(0x0028, 0x0008, "IS", frames);
  file += Marked(0x7fe0, 0x0010) + "OB" + Little(0, 2) + Little(0xffffffff, 4) + Item("");
  for (const std::string& fragment : fragments) file += Item(fragment);
  return file + kSequenceEnds;
}

TEST(DicomVideo, AStreamInFragmentsIsAVideo) {
  const TemporaryFolder folder;
  const fs::path video = folder.Path() / "v.avi";
  WriteTissueVideo(video, "MJPG", 6);
  const std::string bytes = ReadFile(video);
  const size_t half = bytes.size() / 4 * 2;
  for (const char* syntax :
       {"1.2.840.10008.1.2.4.100", "1.2.840.10008.1.2.4.102.1", "1.2.840.10008.1.2.4.107"}) {
    const fs::path path = folder.Path() / "recording";
    std::ofstream(path, std::ios::binary) << Dicom(syntax, {bytes.substr(0, half), bytes.substr(half)}, "6");
    const auto source = OpenInput(path, {});
    EXPECT_EQ(source->Info().fps, 20) << "as the file says, not the stream";
    EXPECT_EQ(source->Info().frame_count, 6);
    int frames = 0;
    while (const auto frame = source->Next()) {
      EXPECT_NEAR(frame->time, frames / 20.0, 1e-9);
      EXPECT_NEAR(frame->image.Row(40)[90], MovingTissue(8 * frames).Row(40)[90], 12);
      ++frames;
    }
    EXPECT_EQ(frames, 6);
  }
}

TEST(DicomVideo, JpegPicturesAreAVideoToo) {
  const TemporaryFolder folder;
  std::vector<std::string> pictures;
  for (int i = 0; i < 4; ++i) {
    RgbImage frame = MovingTissue(8 * i);
    std::vector<uint8_t> bytes;
    cv::imencode(".jpg", AsMat(frame), bytes);
    if (bytes.size() % 2 == 1) bytes.push_back(0);
    pictures.emplace_back(bytes.begin(), bytes.end());
  }
  const fs::path path = folder.Path() / "pictures.dcm";
  std::ofstream(path, std::ios::binary) << Dicom("1.2.840.10008.1.2.4.50", pictures, "4");
  const auto source = OpenInput(path, {});
  EXPECT_EQ(source->Info().width, kTissueWidth);
  EXPECT_TRUE(source->Next());
  EXPECT_EQ(source->Next()->index, 1);
}

TEST(DicomVideo, WhatIsNoneIsRefusedInALine) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path() / "a.dcm";
  const auto fault = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return RecordingFault([&] { OpenInput(path, {}); });
  };
  EXPECT_NE(fault(Dicom("1.2.840.10008.1.2.1", {"x "}, "1")).find("neither a video"), std::string::npos);
  const std::string whole = Dicom("1.2.840.10008.1.2.4.100", {std::string(64, 'x')}, "1");
  EXPECT_NE(fault(whole).find("no reader for this stream"), std::string::npos) << fault(whole);
  EXPECT_NE(fault(whole.substr(0, whole.size() - 40)).find("cut short"), std::string::npos);
  EXPECT_NE(fault(Dicom("1.2.840.10008.1.2.4.100", {}, "1")).find("holds no picture"), std::string::npos);
  EXPECT_NE(fault(Dicom("1.2.840.10008.1.2.4.50", {"a ", "b "}, "3")).find("2 fragments of 3"),
            std::string::npos);
}

// ---- interlaced, and at a changing rate

TEST(Recording, InterlacedVideoIsNoticedAndOneFieldKept) {
  const TemporaryFolder folder;
  for (const bool woven : {false, true}) {
    const fs::path path = folder.Path() / (woven ? "woven.avi" : "whole.avi");
    WriteTissueVideo(path, "MJPG", 12, woven);
    const auto source = OpenInput(path, {});
    RgbImage last;
    while (auto frame = source->Next()) last = std::move(frame->image);
    double off_neighbours = 0;  // of odd rows from the mean of those around them
    for (int y = 51; y < 71; y += 2)
      for (int x = 0; x < kTissueWidth; ++x)
        off_neighbours +=
            std::abs(last.Row(y)[3 * x] - (last.Row(y - 1)[3 * x] + last.Row(y + 1)[3 * x]) / 2.0);
    if (woven)
      EXPECT_LT(off_neighbours / (10 * kTissueWidth), 0.6) << "filled in";
    else
      EXPECT_GT(off_neighbours / (10 * kTissueWidth), 0.6) << "left as it was";
  }
}

uint32_t Big(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
void PutBig(std::string& bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (24 - 8 * i) & 0xff);
}

// The first half of an MP4's frames lasts half as long, the other longer: its table of durations, the only
// thing that says so, is rewritten, and the boxes around it grow. It lies behind the pictures, whose place
// does not change.
void MakeUnsteady(const fs::path& path, int frames) {
  std::string bytes = ReadFile(path);
  std::vector<size_t> around;
  size_t at = 0, end = bytes.size();
  for (const char* name : {"moov", "trak", "mdia", "minf", "stbl", "stts"}) {
    while (at + 8 <= end && bytes.compare(at + 4, 4, name) != 0) at += Big(bytes, at);
    ASSERT_LT(at + 8, end) << name;
    around.push_back(at);
    end = at + Big(bytes, at);
    at += 8;
  }
  const size_t table = around.back();
  const uint32_t old_size = Big(bytes, table), duration = Big(bytes, table + 20);
  std::string entries(16, '\0');
  PutBig(entries, 0, 16 + 8 * static_cast<uint32_t>(frames));
  entries.replace(4, 4, "stts");
  PutBig(entries, 12, static_cast<uint32_t>(frames));
  for (int i = 0; i < frames; ++i) {
    std::string entry(8, '\0');
    PutBig(entry, 0, 1);
    PutBig(entry, 4, i < frames / 2 ? duration / 2 : 3 * duration / 2);
    entries += entry;
  }
  bytes.replace(table, old_size, entries);
  const auto grown = static_cast<uint32_t>(entries.size()) - old_size;
  for (size_t i = 0; i + 1 < around.size(); ++i) PutBig(bytes, around[i], Big(bytes, around[i]) + grown);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Recording, FramesOfAChangingRateKeepTheirTimes) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path() / "v.mp4";
  constexpr int kUnsteadyFrames = 12;
  WriteTissueVideo(path, "mp4v", kUnsteadyFrames);
  const auto times = [&] {
    std::vector<double> found;
    const auto source = OpenInput(path, {});
    while (const auto frame = source->Next()) found.push_back(frame->time);
    return found;
  };
  const std::vector<double> steady = times();
  ASSERT_EQ(steady.size(), static_cast<size_t>(kUnsteadyFrames));
  for (int i = 0; i < kUnsteadyFrames; ++i) EXPECT_NEAR(steady[static_cast<size_t>(i)], i / 25.0, 1e-6);
  MakeUnsteady(path, kUnsteadyFrames);
  const std::vector<double> unsteady = times();
  ASSERT_EQ(unsteady.size(), static_cast<size_t>(kUnsteadyFrames));
  for (size_t i = 0; i < unsteady.size(); ++i) {
    const auto k = static_cast<double>(i);
    const double expected = i < kUnsteadyFrames / 2 ? k / 2 : 3 + 1.5 * (k - 6);  // frames of the steady rate
    EXPECT_NEAR(25 * unsteady[i], expected, 0.8) << i;
    if (i > 0) {
      EXPECT_GT(unsteady[i], unsteady[i - 1]);
    }
  }
}

// ---- text and a second picture

void WriteTissuePictures(const fs::path& folder, int frames, const std::function<void(RgbImage&)>& paint) {
  fs::create_directories(folder);
  for (int i = 0; i < frames; ++i) {
    RgbImage image = MovingTissue(13 * i);
    paint(image);
    SavePng(folder / (std::to_string(i) + ".png"), image);
  }
}

void Fill(RgbImage& image, PixelBox box, uint8_t value) {
  for (int y = box.y; y < box.y + box.height; ++y)
    std::fill_n(image.Row(y) + 3 * box.x, 3 * box.width, value);
}

TEST(Recording, TextThatNeverChangesIsMasked) {
  const TemporaryFolder folder;
  WriteTissuePictures(folder.Path(), 20, [](RgbImage& image) {
    for (int letter = 0; letter < 4; ++letter) Fill(image, {10 + 8 * letter, 10, 3, 9}, 240);
  });
  InputOptions options;
  EXPECT_FALSE(OpenInput(folder.Path(), options)->Info().mask);
  options.mask_text = true;
  const auto source = OpenInput(folder.Path(), options);
  ASSERT_TRUE(source->Info().mask);
  EXPECT_EQ((*source->Info().mask)(20, 14), 0);
  EXPECT_NE((*source->Info().mask)(100, 80), 0);
  EXPECT_EQ(source->Next()->index, 0) << "looked through, and begun again";
}

TEST(Recording, AStillPictureCannotBeToldFromText) {
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) SavePng(folder.Path() / (std::to_string(i) + ".png"), MovingTissue(0));
  InputOptions options;
  options.mask_text = true;
  EXPECT_NE(RecordingFault([&] { OpenInput(folder.Path(), options); }).find("hardly changes"),
            std::string::npos);
}

TEST(Recording, APictureWithinThePictureIsRefusedUnlessMasked) {
  const TemporaryFolder folder;
  WriteTissuePictures(folder.Path() / "v", 6, [](RgbImage& image) {
    for (int y = 70; y < kTissueHeight; ++y)
      for (int x = 100; x < kTissueWidth; ++x)
        for (int c = 0; c < 3; ++c)
          image.Row(y)[3 * x + c] = static_cast<uint8_t>(205 + 40 * std::sin(x / 9.0) * std::cos(y / 7.0));
  });
  InputOptions options;
  options.fov_degrees = 80;
  const auto open = [&] { InputStream stream(OpenInput(folder.Path() / "v", options), folder.Path() / "v"); };
  EXPECT_NE(RecordingFault(open).find("another picture within its own"), std::string::npos)
      << RecordingFault(open);
  Mask mask(kTissueWidth, kTissueHeight, 1, 255);
  for (int y = 66; y < kTissueHeight; ++y) std::fill_n(mask.Row(y) + 96, kTissueWidth - 96, 0);
  SavePng(folder.Path() / "mask.png", mask);
  options.mask = folder.Path() / "mask.png";
  EXPECT_EQ(RecordingFault(open), "");
}

}  // namespace
}  // namespace lumen
