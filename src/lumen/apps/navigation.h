// Where the scope is in the CT while a run goes on: what is known of it, and who is told.
//   frames and maps → LiveRegistration (a thread of its own) → CtRegistration, now and then
//   every frame, by the newest of these → NavigatedFrame → the recorder, the view, OpenIGTLink
// Without a CT the same goes out in the map's frame and unit.
#pragma once

#include "lumen/apps/ct_model.h"
#include "lumen/apps/registering.h"
#include "lumen/scene/volume.h"
#include "lumen/slam/front_end.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

enum class CtStatus {
  kNone,        // no CT was given
  kReading,     // its air spaces are being found
  kSearching,   // no place was found yet
  kDoubtful,    // a place that may be another
  kRegistered,  // a place to be believed
  kUnusable,    // the CT holds nothing to register to
};
const char* CtStatusName(CtStatus status);  // "none", "reading", "searching", …

// The CT as it was read, before anything is registered.
struct NavigationCt {
  std::filesystem::path path;
  RegistrationModel model;                   // walls in LPS mm
  std::shared_ptr<const Volume> volume;      // null: the CT is a mesh
  std::shared_ptr<const TriangleTree> tree;  // of the walls
  double grain_mm = 0;                       // no wall is known better; a mesh does not say
};
NavigationCt ReadNavigationCt(const ModelChoice& choice);  // throws InputError

// One answer. Never changes once it is told.
struct CtRegistration {
  int number = 0;  // counts those of a run, from 1
  // Nothing speaks against it, and the one before says the same of a smaller surface: what little was seen at
  // first may fit exactly, and elsewhere.
  bool confident = false;
  RegistrationPlace place;
  SurfaceRegistration result;
  TriangleMesh surface;  // where it lies in the CT, with "residual_mm", coloured by it
  int64_t frame = -1;    // the newest that its surface knew
  int submap = 0;        // whose frames it places
  double grain_mm = 0;   // of the CT
  double path_mm = 0;    // that the camera had gone by then
  Eigen::Vector3d camera = Eigen::Vector3d::Zero();  // the newest it knew, LPS mm
  double seconds = 0;                                // it took
  double moved_mm = 0;  // how far it moved the newest camera from where the answer before had it
  bool jump = false;    // farther than the two said they may be off
  bool last = false;    // of the finished run, with all that is known in the end
  // The keyframes it was made with, as they lay then: maps move.
  std::map<KeyframeId, Sim3> anchors = {};
};

// How far a camera there may be off by the registration alone: one standard deviation, all directions
// together, LPS mm.
double CameraSigma(const CtRegistration& registration, const Eigen::Vector3d& place);

// A frame as it was told while the run went on.
struct NavigatedFrame {
  int64_t frame = 0;
  double time = 0;  // seconds
  bool placed = false;
  TrackStatus track = TrackStatus::kLost;
  Rigid3 map_from_camera;                // if it is placed
  std::optional<Sim3> ct_from_map;       // by the map as it is now; none: not registered, or another sub-map
  std::optional<Rigid3> ct_from_camera;  // LPS mm
  double sigma_mm = 0;                   // of the camera's place, by the registration alone
  std::shared_ptr<const CtRegistration> registration;  // that it is by
};

struct NavigationState {
  CtStatus status = CtStatus::kNone;
  std::string words;  // for people: "in cavity 2 (nose, 33 ml), ±0.4 mm", "no place in the CT resembles …"
};

// Who is told. All calls come from threads of the run and must return at once; OnFrame in the order of the
// frames, one at a time.
class NavigationListener {
 public:
  virtual ~NavigationListener() = default;
  virtual void OnCt(const std::shared_ptr<const NavigationCt>& /*ct*/) {}
  virtual void OnRegistration(const std::shared_ptr<const CtRegistration>& /*registration*/) {}
  virtual void OnState(const NavigationState& /*state*/) {}
  virtual void OnPicture(const InputFrame& /*frame*/) {}  // on its way in
  // The last one comes twice if the finished run's registration (`last`) is to be believed.
  virtual void OnFrame(const NavigatedFrame& /*frame*/) {}
};

}  // namespace lumen
