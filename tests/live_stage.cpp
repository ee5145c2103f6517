// A live view without SLAM behind it: frames of a simulated video with their true poses and depth, added when
// stdin says "frames N"; ends with stdin. "keyframes N" adds N keyframes of one picture, for load.
#include <iostream>

#include "lumen/viewer/live_view.h"
#include "tests/small_run.h"

namespace {

using lumen::MapSnapshot;

std::shared_ptr<const lumen::Keyframe> MakeKeyframe(const lumen::SimulatedFrame& shown, int64_t index,
                                                    const std::shared_ptr<const lumen::View>& view) {
  auto frame = std::make_shared<lumen::Frame>();
  frame->index = index;
  frame->time = static_cast<double>(index) / 30;
  frame->image = shown.image;
  frame->view = view;
  auto keyframe = std::make_shared<lumen::Keyframe>();
  keyframe->frame = frame;
  keyframe->depth = lumen::MakeDepthBasis(lumen::HalveDepth(shown.depth, lumen::kMapPerMm),
                                          lumen::Image<float>(80, 64, 1), view->mask.View());
  return keyframe;
}

}  // namespace

int main() {
  const lumen::SimulatedSequence sequence(lumen::SmallRunOptions(48));
  const auto view = lumen::MakeView(sequence.View(), sequence.ContentMask());
  lumen::LiveView live("stage", view);
  const lumen::ViewServer server(live.Store(), [&](const std::string& path) { return live.Find(path); },
                                 {.port = 0, .ports_tried = 0});
  std::cout << "view: " << server.Url() << std::endl;
  auto map = std::make_shared<MapSnapshot>();
  lumen::KeyframeId reference = -1;
  std::string word;
  int count = 0, index = 0;
  while (std::cin >> word >> count) {
    const bool only_keyframes = word == "keyframes";
    for (int end = index + count; index < end; ++index) {
      const lumen::SimulatedFrame shown = sequence.Render(index % 48);
      lumen::ViewFrame frame{index, index / 30.0};
      const lumen::Rigid3 pose = lumen::ToMap(shown.world_from_camera);
      if (index % 6 == 0 || only_keyframes) {
        auto next = std::make_shared<MapSnapshot>(*map);
        reference = static_cast<lumen::KeyframeId>(next->keyframes.size());
        ++next->version;
        next->keyframes[reference] = {
            MakeKeyframe(shown, index, view), {pose, 0, Eigen::VectorXd::Zero(1)}, 0};
        map = next;
        frame.keyframe = true;
      }
      frame.reference = reference;
      frame.pose = map->keyframes.at(reference).state.world_from_camera.Inverse() * pose;
      lumen::Json status = lumen::Json::MakeObject();
      status["fps"] = 30.0;
      live.AddPicture(index, shown.image);
      live.AddFrame(frame, status, map);
    }
  }
  return 0;
}
