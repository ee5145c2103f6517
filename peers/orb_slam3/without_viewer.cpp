// What ORB-SLAM3 calls of its two drawing classes, doing nothing. A viewer is never made.

#include <stdexcept>

#include "MapDrawer.h"
#include "Viewer.h"

namespace ORB_SLAM3 {

MapDrawer::MapDrawer(Atlas* atlas, const string&, Settings*) : mpAtlas(atlas) {}
void MapDrawer::SetCurrentCameraPose(const Sophus::SE3f&) {}
void MapDrawer::SetReferenceKeyFrame(KeyFrame*) {}

Viewer::Viewer(System*, FrameDrawer*, MapDrawer*, Tracking*, const string&, Settings*) {
  throw std::logic_error("there is no viewer in this build");
}
void Viewer::Run() {}
void Viewer::RequestFinish() {}
void Viewer::RequestStop() {}
bool Viewer::isFinished() { return true; }
bool Viewer::isStopped() { return true; }
bool Viewer::isStepByStep() { return false; }
void Viewer::Release() {}

}  // namespace ORB_SLAM3
