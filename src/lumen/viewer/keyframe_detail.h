// What is shown of a keyframe when somebody asks: its features as a picture, and how they match those of
// another keyframe. Made when asked for, from the frames of a map wherever that is.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "lumen/image/component_painter.h"
#include "lumen/scene/frame.h"
#include "lumen/viewer/server.h"

namespace lumen {

class KeyframeDetail {
 public:
  // The keyframe with this frame number; null if there is none.
  using FindFrame = std::function<std::shared_ptr<const Frame>(int64_t number)>;

  // "/features/12.png" and "/matches/12/40.json", by frame numbers. For one thread.
  std::optional<ServedFile> Find(const std::string& path, const FindFrame& find);

 private:
  ComponentPainter painter_;  // kept, so that all keyframes share their colours
};

}  // namespace lumen
