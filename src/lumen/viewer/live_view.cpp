#include "lumen/viewer/live_view.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lumen/base/step_back.h"
#include "lumen/base/text.h"
#include "lumen/image/resize.h"
#include "lumen/io/png.h"
#include "lumen/io/run_folder.h"

namespace lumen {

namespace {

constexpr auto kBetweenUpdates = std::chrono::milliseconds(100);
constexpr double kCodeChange = 0.02;  // of its norm: less cannot be seen
constexpr size_t kMostWaitingPictures = 64;
constexpr int kMostCloudsAtOnce = 6;  // so that a large map that comes all at once does not crowd out SLAM

}  // namespace

LiveView::LiveView(const std::string& name, std::shared_ptr<const View> view, Trajectory truth)
    : name_(name), view_(std::move(view)), truth_(std::move(truth)) {
  PutInfo();
  worker_ = std::thread([this] { Work(); });
}

LiveView::~LiveView() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void LiveView::PutInfo() {
  Json info = Json::MakeObject();
  info["name"] = name_;
  info["live"] = true;
  info["finished"] = false;
  info["surface"] = false;
  info["truth_surface"] = false;
  info["pictures"] = false;
  info["features"] = true;
  info["camera"] = CameraToJson(Camera(view_->camera, view_->mask.Width(), view_->mask.Height()));
  info["remarks"] = Json::MakeArray();
  info["downloads"] = Json::MakeArray();
  store_.Put(ItemKind::kInfo, 0, info.Dump());
}

void LiveView::AddPicture(int64_t frame, const RgbImage& image) {
  auto copy = std::make_shared<const RgbImage>(image);
  const std::lock_guard lock(mutex_);
  pictures_[frame] = std::move(copy);
  if (pictures_.size() > kMostWaitingPictures) pictures_.erase(pictures_.begin());
}

void LiveView::AddFrame(const ViewFrame& frame, const Json& status, std::shared_ptr<const MapSnapshot> map) {
  {
    const std::lock_guard lock(mutex_);
    if (!pending_) news_.first_frame = frames_before_ + frames_.size();
    frames_.push_back(frame);
    news_.status = status;
    news_.map = std::move(map);
    const auto picture = pictures_.find(frame.index);
    if (picture != pictures_.end()) {
      news_.picture = picture->second;
      news_.picture_frame = frame.index;
      pictures_.erase(pictures_.begin(), std::next(picture));
    }
    pending_ = true;
  }
  changed_.notify_one();
}

void LiveView::SetPhase(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    if (!pending_) news_.first_frame = frames_before_ + frames_.size();
    if (news_.status.IsNull()) news_.status = Json::MakeObject();
    news_.status["phase"] = what;
    pending_ = true;
  }
  changed_.notify_one();
}

void LiveView::Work() {
  StepBack();
  while (true) {
    News news;
    std::vector<ViewFrame> frames;
    size_t first = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return pending_ || stop_; });
      if (stop_) return;
      pending_ = false;
      news = news_;
      // Only the chunks from the first new frame on are needed.
      first = news.first_frame / kFramesPerItem * kFramesPerItem;
      LUMEN_CHECK(first >= frames_before_);
      frames.assign(
          frames_.begin() + static_cast<std::ptrdiff_t>(std::min(first - frames_before_, frames_.size())),
          frames_.end());
      DropFullChunks();
    }
    // Keyframes before the frames that are placed by them.
    if (news.map != nullptr) {
      EncodeMap(*news.map);
      AlignTruthTo(*news.map);
    }
    for (size_t at = 0; at < frames.size(); at += kFramesPerItem) {
      const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          frames.begin() + static_cast<std::ptrdiff_t>(std::min(frames.size(), at + kFramesPerItem));
      store_.Put(ItemKind::kFrames, static_cast<uint32_t>((first + at) / kFramesPerItem),
                 EncodeFrames({begin, end}), end - begin == kFramesPerItem ? Kept::kOnDisk : Kept::kInMemory);
    }
    if (news.picture != nullptr)
      store_.Put(ItemKind::kPicture, 0, EncodePicture(news.picture_frame, *news.picture));
    if (!news.status.IsNull()) store_.Put(ItemKind::kStatus, 0, news.status.Dump());
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kBetweenUpdates, [this] { return stop_; });
  }
}

// They are about to be in the store, and are not needed here again.
void LiveView::DropFullChunks() {
  const size_t full = frames_.size() / kFramesPerItem * kFramesPerItem;
  frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(full));
  frames_before_ += full;
}

void LiveView::EncodeMap(const MapSnapshot& map) {
  if (map.version == encoded_version_) return;
  std::vector<ViewKeyframe> keyframes;
  int clouds = 0;
  bool left = false;
  for (const auto& [id, entry] : map.keyframes) {
    keyframes.push_back({id, entry.keyframe->frame->index, entry.submap, entry.state.world_from_camera,
                         entry.state.log_scale});
    const Eigen::VectorXd& code = entry.state.code;
    const auto shown = shown_codes_.find(id);
    const bool changed = shown == shown_codes_.end() || shown->second.size() != code.size() ||
                         (shown->second - code).norm() > kCodeChange * (0.1 + code.norm());
    if (!changed) continue;
    if (clouds++ >= kMostCloudsAtOnce) {
      left = true;
      continue;
    }
    shown_codes_[id] = code;
    const DepthImage depth = ComputeDepth(entry.keyframe->depth, 0, code);
    DepthImage masked = depth;
    for (size_t i = 0; i < masked.Size(); ++i)
      if (view_->mask.Data()[i] == 0) masked.Data()[i] = 0;
    const RgbImage small = ResizeArea(entry.keyframe->frame->image.View(), depth.Width(), depth.Height());
    store_.Put(ItemKind::kCloud, static_cast<uint32_t>(id), EncodeCloud({masked.View(), small.View()}),
               Kept::kOnDisk);
  }
  PutKeyframes(keyframes, store_);
  std::vector<ViewEdge> edges;
  for (const MapEdge& edge : map.edges) edges.push_back({edge.first, edge.second, edge.kind});
  store_.Put(ItemKind::kEdges, 0, EdgesToJson(edges).Dump());
  encoded_version_ = left ? -1 : map.version;
  if (left) {  // the rest next time, even if nothing else comes
    const std::lock_guard lock(mutex_);
    if (!pending_) news_.first_frame = frames_before_ + frames_.size();
    pending_ = true;
  }
}

void LiveView::AlignTruthTo(const MapSnapshot& map) {
  if (truth_.empty() || map.keyframes.size() <= aligned_keyframes_) return;
  aligned_keyframes_ = map.keyframes.size();
  Trajectory path;
  for (const auto& [id, entry] : map.keyframes)
    if (entry.submap == map.keyframes.begin()->second.submap)
      path.push_back({entry.keyframe->frame->time, entry.state.world_from_camera});
  std::sort(path.begin(), path.end(), [](const TimedPose& a, const TimedPose& b) { return a.time < b.time; });
  if (const auto map_from_truth = AlignTruth(truth_, path)) PutTruth(truth_, *map_from_truth, store_);
}

std::optional<ServedFile> LiveView::Find(const std::string& path) {
  if (auto wall = coverage_.Find(path)) return wall;
  if (auto ct = ct_.Find(path)) return ct;
  std::shared_ptr<const MapSnapshot> map;
  {
    const std::lock_guard lock(mutex_);
    map = news_.map;
  }
  const auto keyframe = [&](int64_t number) {
    std::shared_ptr<const Frame> found;
    if (map == nullptr) return found;
    for (const auto& [id, entry] : map->keyframes)
      if (entry.keyframe->frame->index == number) found = entry.keyframe->frame;
    return found;
  };
  if (auto detail = detail_.Find(path, keyframe)) return detail;
  if (!StartsWith(path, "/frame/") || !EndsWith(path, ".png")) return FindPageFile(path);
  const auto number = ParseInteger(path.substr(7, path.size() - 11));
  if (!number || map == nullptr) return std::nullopt;
  const Frame* nearest = nullptr;
  for (const auto& [id, entry] : map->keyframes)
    if (entry.keyframe->frame->index <= *number) nearest = entry.keyframe->frame.get();
  if (nearest == nullptr) return std::nullopt;
  return ServedFile{"image/png", EncodePng(nearest->image), ""};
}

}  // namespace lumen
