// Tells, of every frame of a run, where in the CT it is, by the newest registration and the map as it is.
#pragma once

#include "lumen/apps/live_registration.h"
#include "lumen/apps/run_observer.h"

namespace lumen {

class Navigator : public RunObserver {
 public:
  // Without `registration` frames are told in the map's frame alone. The listeners must live as long.
  Navigator(const std::optional<LiveRegistrationOptions>& registration,
            std::vector<NavigationListener*> listeners);
  ~Navigator() override;

  void OnPicture(const InputFrame& frame) override;
  void OnFrame(const FrameResult& result, const PlacedFrame& placed,
               const std::shared_ptr<const MapSnapshot>& map) override;
  void OnEnd() override;
  std::vector<Json> TakeEvents() override;
  void AddToSummary(Json& summary) const override;

  void SetStart(const Eigen::AlignedBox3d& region);  // on any thread
  std::optional<Eigen::AlignedBox3d> Start() const;  // where it was said to begin
  std::shared_ptr<const NavigationCt> Ct() const;    // null: not read yet, or of no use
  // The last answer by the finished map; none: there is none to be believed.
  std::optional<Sim3> LastWord(const MapSnapshot& map) const;
  // Once the run is over: what is known in the end, and by it the last frame once more.
  void TellLast(const std::shared_ptr<const CtRegistration>& registration, const NavigationState& state,
                const MapSnapshot& map);

 private:
  struct Follow {  // the newest registration by the newest map
    std::shared_ptr<const CtRegistration> registration;
    int64_t version = -1;
    int submap = -1;
    std::optional<Sim3> ct_from_map;
  };
  // What the search tells, on its own thread.
  class Inbox : public NavigationListener {
   public:
    explicit Inbox(Navigator& navigator) : navigator_(navigator) {}
    void OnCt(const std::shared_ptr<const NavigationCt>& ct) override { navigator_.TakeCt(ct); }
    void OnRegistration(const std::shared_ptr<const CtRegistration>& registration) override {
      navigator_.TakeRegistration(registration);
    }
    void OnState(const NavigationState& state) override { navigator_.TakeState(state); }

   private:
    Navigator& navigator_;
  };
  void TakeCt(const std::shared_ptr<const NavigationCt>& ct);
  void TakeRegistration(const std::shared_ptr<const CtRegistration>& registration);
  void TakeState(const NavigationState& state);
  void UpdateFollow(const MapSnapshot& map, int submap);

  std::vector<NavigationListener*> listeners_;
  Follow follow_;  // the run's thread alone, as what follows
  NavigatedFrame last_frame_;
  PlacedFrame last_placed_;
  mutable std::mutex mutex_;
  std::vector<Json> events_;
  std::shared_ptr<const CtRegistration> newest_;
  NavigationState state_;
  std::shared_ptr<const NavigationCt> ct_;
  std::optional<Eigen::AlignedBox3d> start_;
  int64_t first_frame_ = -1, told_ = 0;  // frames that were told in the CT
  int jumps_ = 0;
  Inbox inbox_{*this};
  std::unique_ptr<LiveRegistration> live_;  // last: it calls back at once
};

// Lines of events.jsonl.
Json RegistrationEvent(const CtRegistration& registration);

}  // namespace lumen
