// The patient's CT and where in it the run is, as a layer of a view: facts as items; the wall, slices and the
// placed surface at addresses. Whoever reads and registers hands it over.
//   kCt          JSON: "version", "name", "wall", "slices" (size, step and corner of each), "targets"
//   kNavigation  JSON: "status", "words", and once a place is to be believed "ct_from_map", "surface",
//   "submap" /ct/wall.bin, /ct/surface.bin                 as EncodeMesh has them, mm, LPS
//   /ct/slice/axial/12.png (coronal, sagittal)    grey, seen from the feet, the front, the left
#pragma once

#include <array>
#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "lumen/base/json.h"
#include "lumen/geometry/sim3.h"
#include "lumen/io/targets_file.h"
#include "lumen/scene/mesh.h"
#include "lumen/scene/volume.h"
#include "lumen/viewer/item_store.h"
#include "lumen/viewer/server.h"

namespace lumen {

// A volume cut along the patient's axes: plane k of an axis lies at low + k · step.
class CtSlices {
 public:
  explicit CtSlices(std::shared_ptr<const Volume> volume);

  // 0: sagittal (L), 1: coronal (P), 2: axial (S).
  int Count(int axis) const { return size_[axis]; }
  std::string Png(int axis, int plane) const;  // the plane must be one of Count
  Json Describe() const;

 private:
  float Sample(const Eigen::Vector3d& lps) const;

  std::shared_ptr<const Volume> volume_;
  Eigen::Matrix4d index_from_lps_;
  Eigen::Vector3d low_;
  Eigen::Vector3i size_;
  double step_ = 1;              // mm, along all three
  float black_ = 0, white_ = 1;  // of the window
};

struct ViewCt {
  std::string name;
  TriangleMesh wall;                               // mm, LPS
  std::shared_ptr<const Volume> volume = nullptr;  // null: no slices
};

struct ViewPlace {
  Sim3 ct_from_map;
  int submap = -1;  // whose frames it places; -1: all
  int number = 0;   // of the registration
  friend bool operator==(const ViewPlace& a, const ViewPlace& b) {
    return a.submap == b.submap && a.number == b.number && a.ct_from_map.Matrix() == b.ct_from_map.Matrix();
  }
};

// What a page says when somebody points at a place: {"start": [l, p, s]}. None for anything else.
std::optional<Eigen::Vector3d> ParseStartHint(const std::string& message);

// Thread-safe.
class CtLayer {
 public:
  explicit CtLayer(ItemStore& store) : store_(store) {}

  void SetTargets(const std::vector<Target>& targets);
  void SetCt(const ViewCt& ct);
  void SetState(const std::string& status, const std::string& words);
  // The registered surface, with its colours; empty: none any more.
  void SetSurface(const TriangleMesh& surface);
  // None: it is not known where the run is.
  void SetPlace(const std::optional<ViewPlace>& place);

  std::optional<ServedFile> Find(const std::string& path);

 private:
  void PutCt();          // with the mutex held
  void PutNavigation();  // likewise
  std::optional<ServedFile> FindSlice(const std::string& path);

  ItemStore& store_;
  mutable std::mutex mutex_;
  Json ct_ = Json::MakeObject(), navigation_ = Json::MakeObject();
  std::string wall_, surface_;
  int64_t wall_version_ = 0, surface_version_ = 0;
  std::optional<ViewPlace> place_;
  std::shared_ptr<const CtSlices> slices_;
  std::list<std::pair<std::string, std::string>> kept_;  // slices by their address, the newest first
};

}  // namespace lumen
