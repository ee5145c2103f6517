// A live view without SLAM behind it: frames of a simulated video with their true poses and depth, added when
// stdin says "frames N"; ends with stdin. "keyframes N" adds N keyframes of one picture, for load.
#include <iostream>

#include "lumen/viewer/live_view.h"
#include "tests/small_run.h"

using lumen::MapSnapshot;

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
            lumen::MakeSmallKeyframe(shown, index, view), {pose, 0, Eigen::VectorXd::Zero(1)}, 0};
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
