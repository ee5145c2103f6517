// A run that is going on, as a view. Whoever runs it hands over what is new and goes on at once: encoding
// happens on a thread of this class's own, at most ten times a second, and skips what was overtaken.
#pragma once

#include <condition_variable>
#include <thread>

#include "lumen/viewer/coverage_layer.h"
#include "lumen/viewer/ct_layer.h"
#include "lumen/viewer/keyframe_detail.h"
#include "lumen/viewer/page.h"
#include "lumen/viewer/scene_view.h"

namespace lumen {

class LiveView {
 public:
  // `view` is what all frames share; `name` is for the page's title; `truth` may be empty.
  LiveView(const std::string& name, std::shared_ptr<const View> view, Trajectory truth = {});
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  ItemStore& Store() { return store_; }
  CtLayer& Ct() { return ct_; }
  std::optional<ServedFile> Find(const std::string& path);

  // Each may be called from any thread and returns at once. A picture is shown when its frame is added.
  void AddPicture(int64_t frame, const RgbImage& image);
  void AddFrame(const ViewFrame& frame, const Json& status, std::shared_ptr<const MapSnapshot> map);
  void SetCoverage(const ViewCoverage& coverage) { coverage_.Put(coverage, store_); }
  void SetPhase(const std::string& what);  // what goes on when no frames come any more

 private:
  struct News {
    size_t first_frame = 0;  // of those that are new
    Json status;
    std::shared_ptr<const MapSnapshot> map;
    std::shared_ptr<const RgbImage> picture;
    int64_t picture_frame = -1;
  };
  void Work();
  void DropFullChunks();
  void EncodeMap(const MapSnapshot& map);
  void AlignTruthTo(const MapSnapshot& map);
  void PutInfo();

  std::string name_;
  std::shared_ptr<const View> view_;
  Trajectory truth_;
  size_t aligned_keyframes_ = 0;
  KeyframeDetail detail_;  // the server's thread alone
  CoverageLayer coverage_;
  ItemStore store_;
  CtLayer ct_{store_};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ViewFrame> frames_;                                // from the last full chunk on
  size_t frames_before_ = 0;                                     // a multiple of a chunk
  std::map<int64_t, std::shared_ptr<const RgbImage>> pictures_;  // of frames still on their way
  News news_;
  bool pending_ = false;
  bool stop_ = false;
  std::map<KeyframeId, Eigen::VectorXd> shown_codes_;  // this and the next are the worker's alone
  int64_t encoded_version_ = -1;                       // of the map; -1: there is more to encode
  std::thread worker_;
};

}  // namespace lumen
