// Where in the CT a run is, for its view: what the navigation tells becomes a CtLayer, while the run goes on
// and afterwards from what lies in its folder.
#pragma once

#include <mutex>

#include "lumen/apps/navigation.h"
#include "lumen/viewer/ct_layer.h"

namespace lumen {

// What is told before there is a layer is kept for it.
class CtWatch : public NavigationListener {
 public:
  explicit CtWatch(std::vector<Target> targets) : targets_(std::move(targets)) {}

  void Attach(CtLayer& layer);
  void Detach();  // nothing is told any more by then
  // Of the frame that is told next: whose map it lies in.
  void SetSubmap(int submap) { submap_ = submap; }

  void OnCt(const std::shared_ptr<const NavigationCt>& ct) override;
  void OnRegistration(const std::shared_ptr<const CtRegistration>& registration) override;
  void OnState(const NavigationState& state) override;
  void OnFrame(const NavigatedFrame& frame) override;

 private:
  CtLayer* Layer() const;
  static void Show(const NavigationCt& ct, CtLayer& layer);

  std::vector<Target> targets_;
  mutable std::mutex mutex_;  // guards what follows
  CtLayer* layer_ = nullptr;
  std::shared_ptr<const NavigationCt> ct_;  // until there is a layer
  NavigationState state_;
  int submap_ = -1;  // the run's thread alone
};

// What `registration/` in the run's folder says, with the CT it names, or another. Broken files are a
// warning.
void ShowRegisteredRun(const RunFolder& run, const std::vector<Target>& targets,
                       const std::filesystem::path& ct, CtLayer& layer, const std::atomic<bool>& stop);

}  // namespace lumen
