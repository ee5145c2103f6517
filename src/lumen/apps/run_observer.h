// Somebody who watches a run. Every call must return at once: the run waits for it.
#pragma once

#include "lumen/slam/front_end.h"

namespace lumen {

// As it stands, one who does not look.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // `truth` is what the input knows of it, mostly nothing.
  virtual void OnStart(const std::shared_ptr<const View>& /*view*/, const Trajectory& /*truth*/) {}
  virtual void OnPicture(const InputFrame& /*frame*/) {}  // on its way in
  virtual void OnFrame(const FrameResult& /*result*/, const PlacedFrame& /*placed*/,
                       const std::shared_ptr<const MapSnapshot>& /*map*/) {}
  // What goes on after the last frame, in words, with the map as it is before.
  virtual void OnPhase(const std::string& /*what*/) {}
};

}  // namespace lumen
