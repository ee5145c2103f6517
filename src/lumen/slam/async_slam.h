// The same pipeline as Slam, dressed in threads: the networks run ahead on one, tracking follows on another,
// mapping and loop closure work behind on a third. A slow back end delays no frame, only the next keyframe; a
// slow front end makes Submit wait (a recording) or TrySubmit drop (a live camera). A stage that fails stops
// those before it at once; those behind it finish what they have.
#pragma once

#include "lumen/base/worker.h"
#include "lumen/slam/slam_pipeline.h"

namespace lumen {

class AsyncSlam : public SlamPipeline {
 public:
  static constexpr size_t kKeyframesBehind = 32;  // that may wait for the back end

  // `keyframe_priors` serves the tracking thread, `priors` the networks' thread: two objects of the same
  // model, since neither may be used from two threads at once.
  AsyncSlam(std::shared_ptr<Priors> priors, std::shared_ptr<Priors> keyframe_priors,
            std::shared_ptr<const View> view, std::shared_ptr<const Vocabulary> vocabulary,
            const SlamOptions& options);
  ~AsyncSlam() override;

  bool Submit(InputFrame input) override;
  bool TrySubmit(InputFrame input) override;
  bool Failed() const override;
  void Finish() override;

 private:
  struct Prepared {
    InputFrame input;
    std::string fault;
    LiveFrame live;
    double network_ms = 0;
  };
  void RunNetworks(InputFrame input);
  void Track(Prepared& prepared);
  void Map(const KeyframeRequest& request);

  std::shared_ptr<Priors> priors_;
  std::shared_ptr<Priors> keyframe_priors_;
  // In the order in which they are stopped, last first.
  std::unique_ptr<Worker<KeyframeRequest>> mapping_;
  std::unique_ptr<Worker<std::shared_ptr<Prepared>>> tracking_;
  std::unique_ptr<Worker<InputFrame>> networks_;
};

}  // namespace lumen
