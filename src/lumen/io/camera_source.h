// A camera as a source of frames, and what becomes of the pictures that do not come. One that stalls is
// waited for, one that is gone is opened anew as long as there is hope, and pictures of another size are none
// of this video: each is said in one line, and the input ends in good order, as if by the last frame.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "lumen/io/frame_source.h"

namespace lumen {

// The camera itself.
class CameraPort {
 public:
  virtual ~CameraPort() = default;
  virtual bool Open() = 0;  // also anew; false if none answers
  // The next picture; nothing if none came within about a second, or the camera is gone.
  virtual std::optional<RgbImage> Read() = 0;
  virtual double Fps() const = 0;  // 0: it does not say
};

// Seconds without a picture.
struct CameraPatience {
  double until_said = 2;
  double until_reopened = 3;  // and from then on every second
  double until_end = 30;
};

// Throws InputError for a camera that does not answer or shows nothing at first. A frame's time goes on while
// none comes.
std::unique_ptr<FrameSource> MakeCameraSource(const std::filesystem::path& path,
                                              std::unique_ptr<CameraPort> port,
                                              const CameraPatience& patience = {});

}  // namespace lumen
