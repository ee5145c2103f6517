// A finished run (or what there is of one) as a view: its folder read once, its frames' pictures decoded in
// the background where its input is still there.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "lumen/geometry/sim3.h"
#include "lumen/io/run_keyframes.h"
#include "lumen/viewer/coverage_layer.h"
#include "lumen/viewer/ct_layer.h"
#include "lumen/viewer/keyframe_detail.h"
#include "lumen/viewer/page.h"
#include "lumen/viewer/scene_view.h"

namespace lumen {

// Measures what a run has seen; none where that cannot be told, or once `stop` is set.
using CoverageMaker =
    std::function<std::optional<ViewCoverage>(const RunFolder&, const std::atomic<bool>& stop)>;

// Lays a run into its CT, where that is known; gives up once `stop` is set.
using CtMaker = std::function<void(const RunFolder&, CtLayer&, const std::atomic<bool>& stop)>;

class RunView {
 public:
  // Throws InputError for a folder that is no run. `coverage` and `ct` are called from threads of their own.
  explicit RunView(const std::filesystem::path& folder, CoverageMaker coverage = {}, CtMaker ct = {});
  ~RunView();
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  ItemStore& Store() { return store_; }
  const std::vector<std::string>& Remarks() const { return remarks_; }
  // The page, /frame/N.png, /surface.bin, /sigma.bin, /truth.bin, /coverage.bin, /download/NAME, and what
  // KeyframeDetail and CtLayer have.
  std::optional<ServedFile> Find(const std::string& path);

 private:
  void PutScene();
  void PutEdges();
  void PutClouds();
  void PutTruth();
  void PutSigmas();
  void PutInfo();
  void DecodePictures();
  std::optional<ServedFile> FindPicture(int64_t frame);
  std::shared_ptr<const Frame> LoadFrame(int64_t frame) const;  // from the map; null: not in it

  RunFolder run_;
  std::vector<RunKeyframe> keyframes_;
  std::vector<std::string> remarks_;
  std::filesystem::path input_;       // empty: gone
  std::filesystem::path true_model_;  // the truth's surface; empty: none
  Sim3 map_from_truth_;
  std::map<int64_t, KeyframeId> map_ids_;  // by frame number; empty without a map
  KeyframeDetail detail_;
  CoverageLayer coverage_;
  ItemStore store_;
  CtLayer ct_{store_};
  std::mutex mutex_;  // guards the pictures and the meshes
  std::map<int64_t, std::string> pictures_;
  std::map<std::string, std::string> meshes_;
  std::atomic<bool> has_pictures_ = false;  // of all frames, not of keyframes alone
  std::atomic<bool> stop_ = false;
  std::thread decoder_, measurer_, ct_maker_;
};

}  // namespace lumen
