// The place of a run in its CT, looked for while the run goes on: on a thread of its own, again and again as
// the surface grows, and from the answer before once there is one.
//   frames and maps → surface, path and measured points so far → RegisterSurface → CtRegistration
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "lumen/apps/navigation.h"
#include "lumen/surface/gathered_depth.h"

namespace lumen {

// "L,P,S" or "L,P,S,RADIUS" or "L0,L1,P0,P1,S0,S1", in mm; throws InputError, which names the option.
Eigen::AlignedBox3d ParseStartRegion(const std::string& text);
// Around a place that somebody has pointed at.
Eigen::AlignedBox3d StartAround(const Eigen::Vector3d& place);

// Of a surface that grows: an answer moves little from one attempt to the next.
SurfaceRegistrationOptions NearBefore(SurfaceRegistrationOptions options, bool guessed);
// Coloured by its distance from the CT's wall.
TriangleMesh ShowResiduals(const TriangleMesh& placed, const NavigationCt& ct, int threads);
// In words, of an answer; of none by what was said against it.
NavigationState DescribeRegistration(const CtRegistration* registration,
                                     const std::vector<std::string>& why_not);

struct LiveRegistrationOptions {
  ModelChoice ct;
  std::optional<Eigen::AlignedBox3d> start = {};  // where in the CT the run began
  SurfaceRegistrationOptions registration;
  FusionOptions fusion;
  GatherOptions depth;
  // Without a thread: the run waits for it, and the outcome hangs on the frames alone.
  bool in_step = false;
};

// What the newest answer says of the map as it is now, and how one surface after the other becomes answers.
// Knows no threads.
class RegistrationSeries {
 public:
  RegistrationSeries(LiveRegistrationOptions options, std::shared_ptr<const NavigationCt> ct);

  // Whether a map with so many keyframes is worth another attempt.
  bool Due(int keyframes) const { return keyframes >= due_; }
  // One more attempt; null if it found nothing new. `threads`: for this attempt. Null as well once `stop` is
  // set.
  std::shared_ptr<const CtRegistration> Try(const std::vector<PlacedFrame>& frames,
                                            const std::shared_ptr<const MapSnapshot>& map, int threads,
                                            const std::atomic<bool>* stop = nullptr);
  void SetStart(const Eigen::AlignedBox3d& region);

  std::shared_ptr<const CtRegistration> Newest() const { return newest_; }
  NavigationState State() const { return DescribeRegistration(newest_.get(), why_not_); }

 private:
  void Compare(const MapSnapshot& map, CtRegistration& answer) const;

  LiveRegistrationOptions options_;
  std::shared_ptr<const NavigationCt> ct_;
  std::shared_ptr<const CtRegistration> newest_;
  TriangleMesh near_wall_;  // the cavity of the newest answer's alone, once it is to be believed
  int near_cavity_ = -1;
  std::vector<std::string> why_not_;  // of the last attempt
  int due_;
  int failures_ = 0;  // in a row, since there is an answer
};

// How the registration that was made with a map goes on as the map moves: none where nothing of it is left in
// `submap`.
std::optional<Sim3> FollowMap(const CtRegistration& registration, const MapSnapshot& map, int submap);

// The series in its own thread, or in step.
class LiveRegistration {
 public:
  LiveRegistration(const LiveRegistrationOptions& options, NavigationListener& listener);
  ~LiveRegistration();
  LiveRegistration(const LiveRegistration&) = delete;
  LiveRegistration& operator=(const LiveRegistration&) = delete;

  // Returns at once, but in step.
  void Add(const PlacedFrame& frame, const std::shared_ptr<const MapSnapshot>& map);
  void SetStart(const Eigen::AlignedBox3d& region);
  std::shared_ptr<const CtRegistration> Newest() const;
  // No attempts any more; waits for the one under way to give up.
  void Stop();

 private:
  void Work();
  void ReadCt();
  double TryOnce();  // seconds it took
  void Tell(const NavigationState& state);

  LiveRegistrationOptions options_;
  NavigationListener& listener_;
  std::unique_ptr<RegistrationSeries> series_;  // null: the CT is not read, or is of no use
  mutable std::mutex mutex_;                    // guards what follows
  std::condition_variable changed_;
  std::vector<PlacedFrame> frames_;  // some of them: enough to know where the scope was
  size_t every_ = 1, skipped_ = 0;
  std::shared_ptr<const MapSnapshot> map_;
  std::optional<Eigen::AlignedBox3d> told_start_;
  std::shared_ptr<const CtRegistration> newest_;
  std::atomic<bool> stop_ = false;
  std::thread worker_;
};

}  // namespace lumen
