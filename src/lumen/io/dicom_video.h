// Endoscopic recordings from a hospital's archive: a DICOM file that holds a video stream (MPEG-2, H.264,
// HEVC) or a row of JPEG pictures. The file is walked through here, element by element and within its bounds;
// the stream goes to the video reader, the pictures to the picture reader.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lumen/io/frame_source.h"

namespace lumen {

bool IsDicomFile(const std::filesystem::path& path);  // by the letters after its preamble

struct DicomStream {
  enum class Kind { kVideo, kPictures };
  Kind kind = Kind::kVideo;
  double fps = 0;           // 0: it does not say
  int64_t frame_count = 0;  // 0: it does not say
  struct Fragment {
    uint64_t offset = 0, bytes = 0;  // in the file
  };
  std::vector<Fragment> fragments;  // one after the other they are the stream, or each is a picture
};

// Throws InputError for anything else than such a recording, in words.
DicomStream ReadDicomStream(const std::filesystem::path& path);

// A video's stream is copied to a temporary file, which lives as long as the source.
std::unique_ptr<FrameSource> OpenDicomVideo(const std::filesystem::path& path);

}  // namespace lumen
