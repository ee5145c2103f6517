#include "lumen/viewer/run_view.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/base/version.h"
#include "lumen/image/resize.h"
#include "lumen/io/input_stream.h"
#include "lumen/io/map_file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/pose_uncertainty.h"
#include "lumen/viewer/bytes.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kMostPictures = 1500;
using run_file::kSurface;

ViewStatus ToViewStatus(FrameStatus status) { return static_cast<ViewStatus>(status); }

std::string NameOf(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::optional<int64_t> FrameNumber(const std::string& path) {
  if (!StartsWith(path, "/frame/") || !EndsWith(path, ".png")) return std::nullopt;
  const auto number = ParseInteger(path.substr(7, path.size() - 11));
  return number && *number >= 0 ? std::optional<int64_t>(*number) : std::nullopt;
}

// Why frames were not simply tracked: [frame, reason] wherever that changes.
Json ReasonsOf(const RunFolder& run) {
  Json reasons = Json::MakeArray();
  std::string before;
  for (const RunFrameEvent& event : run.events) {
    if (event.reason == before) continue;
    before = event.reason;
    Json entry = Json::MakeArray();
    entry.Append(event.frame);
    entry.Append(event.reason);
    reasons.Append(entry);
  }
  return reasons;
}

// One f32 for each vertex; nothing where the surface does not tell.
std::string EncodeSigma(const TriangleMesh& mesh) {
  Bytes out;
  for (const VertexAttribute& attribute : mesh.attributes)
    if (attribute.name == kSigma)
      for (const float value : attribute.values) out.F32(value);
  return out.Take();
}

}  // namespace

RunView::RunView(const fs::path& folder, CoverageMaker coverage, CtMaker ct)
    : run_(ReadRunFolder(folder)), keyframes_(ListRunKeyframes(run_)) {
  remarks_ = run_.notes;
  if (!run_.finished) remarks_.push_back(DescribeBrokenRun(run_) + "; this is what there is");
  if (!run_.version.empty() && run_.version != Version())
    remarks_.push_back(StrCat("made by Lumen ", run_.version, ", shown by Lumen ", Version()));
  // Files and folders only: a camera cannot be read twice.
  const Json* input = run_.summary.Find(run_key::kInput);
  if (input != nullptr && input->IsString() &&
      (fs::is_regular_file(input->AsString()) || fs::is_directory(input->AsString())))
    input_ = input->AsString();
  PutScene();
  PutEdges();
  PutTruth();
  PutSigmas();
  has_pictures_ = !input_.empty() && run_.depth_camera.has_value();
  PutInfo();
  const size_t known = remarks_.size();
  PutClouds();
  if (remarks_.size() > known) PutInfo();
  if (has_pictures_) decoder_ = std::thread([this] { DecodePictures(); });
  if (ct) ct_maker_ = std::thread([this, ct = std::move(ct)] { ct(run_, ct_, stop_); });
  if (!coverage) return;
  measurer_ = std::thread([this, coverage = std::move(coverage)] {
    if (const auto seen = coverage(run_, stop_)) coverage_.Put(*seen, store_);
  });
}

RunView::~RunView() {
  stop_ = true;
  if (decoder_.joinable()) decoder_.join();
  if (measurer_.joinable()) measurer_.join();
  if (ct_maker_.joinable()) ct_maker_.join();
}

void RunView::PutScene() {
  std::vector<ViewFrame> frames;
  size_t k = 0;
  for (const RunFrameEvent& event : run_.events) {
    ViewFrame frame{event.frame, event.time, ToViewStatus(event.LastStatus()), event.keyframe};
    while (k < run_.frames.size() && run_.frames[k].time < event.time - kRoundedTime) ++k;
    if (k < run_.frames.size() && run_.frames[k].time <= event.time + kRoundedTime)
      frame.pose = run_.frames[k].world_from_camera;
    frames.push_back(frame);
  }
  if (frames.empty()) {  // a run without events still has its path
    for (const TimedPose& pose : run_.frames) {
      ViewFrame frame{static_cast<int64_t>(frames.size()), pose.time};
      frame.pose = pose.world_from_camera;
      frames.push_back(frame);
    }
  }
  PutFrames(frames, 0, store_);
  std::vector<ViewKeyframe> keyframes;
  for (const RunKeyframe& keyframe : keyframes_)
    keyframes.push_back({keyframe.frame, keyframe.frame, 0, keyframe.world_from_camera, 0});
  PutKeyframes(keyframes, store_);
}

// From the map where there is one; a run that was broken off has told of its loops only.
void RunView::PutEdges() {
  std::vector<ViewEdge> edges;
  try {
    const MapOutline outline = LoadMapOutline(run_.path / run_file::kMap);
    for (const auto& [id, frame] : outline.frames) map_ids_[frame] = id;
    for (const MapEdge& edge : outline.edges)
      edges.push_back({outline.frames.at(edge.first), outline.frames.at(edge.second), edge.kind});
  } catch (const InputError&) {
    for (const RunLoop& loop : run_.loops)
      edges.push_back({loop.from, loop.to,
                       loop.kind == "global" ? EdgeKind::kGlobalLoop : EdgeKind::kLocalLoop, loop.removed});
  }
  store_.Put(ItemKind::kEdges, 0, EdgesToJson(edges).Dump());
}

namespace {

// At the camera's size: four times the points would show no more, and take four times as long to arrive.
KeyframePixels Thinned(const KeyframePixels& pixels, const Camera& camera) {
  const int times = pixels.depth.Width() / camera.Width();
  if (times < 2) return pixels;
  const int width = pixels.depth.Width() / times, height = pixels.depth.Height() / times;
  return {ResizeNearest(pixels.depth.View(), width, height), ResizeArea(pixels.image, width, height)};
}

}  // namespace

void RunView::PutClouds() {
  if (!run_.depth_scale || !run_.depth_camera) return;
  for (const RunKeyframe& keyframe : keyframes_) {
    if (keyframe.depth.empty()) continue;
    try {
      const KeyframePixels pixels =
          Thinned(LoadKeyframePixels(keyframe, *run_.depth_scale), *run_.depth_camera);
      const auto camera = run_.depth_camera->Resized(pixels.depth.Width(), pixels.depth.Height()).AsUnified();
      const DepthImage depth = ViewDepthOfZ(pixels.depth, *camera);
      store_.Put(ItemKind::kCloud, static_cast<uint32_t>(keyframe.frame),
                 EncodeCloud({depth.View(), pixels.image.View()}));
    } catch (const InputError& error) {
      remarks_.emplace_back(error.what());
    }
  }
}

void RunView::PutTruth() {
  if (input_.empty()) return;
  try {
    const auto source = OpenInput(input_, InputOptionsOf(run_.summary));
    if (!source->Info().truth) return;
    const auto map_from_truth = AlignTruth(*source->Info().truth, run_.frames);
    if (!map_from_truth) return;
    map_from_truth_ = *map_from_truth;
    lumen::PutTruth(*source->Info().truth, map_from_truth_, store_);
    if (fs::is_regular_file(input_ / "model.ply")) true_model_ = input_ / "model.ply";
  } catch (const InputError&) {
    input_.clear();  // what the run was made from has changed; its own files remain
  }
}

void RunView::PutSigmas() {
  const fs::path path = run_.path / run_file::kFramesUncertainty;
  if (!fs::is_regular_file(path)) return;
  try {
    Bytes out;
    for (const PoseSigma& sigma : LoadPoseSigmas(path)) {
      out.F32(sigma.time);
      out.F32(sigma.position.norm());
    }
    store_.Put(ItemKind::kSigmas, 0, out.Take());
  } catch (const InputError& error) {
    remarks_.emplace_back(error.what());
  }
}

void RunView::PutInfo() {
  Json info = Json::MakeObject();
  info["name"] = NameOf(run_.path);
  info["live"] = false;
  info["finished"] = run_.finished;
  info["surface"] = fs::is_regular_file(run_.path / kSurface);
  info["truth_surface"] = !true_model_.empty();
  info["pictures"] = has_pictures_.load();
  info["features"] = !map_ids_.empty();
  if (run_.depth_camera) info["camera"] = CameraToJson(*run_.depth_camera);
  info["remarks"] = Json::MakeArray();
  for (const std::string& remark : remarks_) info["remarks"].Append(remark);
  Json downloads = Json::MakeArray();
  for (const char* name : {kSurface, run_file::kFrames, run_file::kKeyframes})
    if (fs::is_regular_file(run_.path / name)) downloads.Append(name);
  info["downloads"] = downloads;
  store_.Put(ItemKind::kInfo, 0, info.Dump());
  Json status = run_.summary.IsObject() ? run_.summary : Json::MakeObject();
  status["reasons"] = ReasonsOf(run_);
  store_.Put(ItemKind::kStatus, 0, status.Dump());
}

void RunView::DecodePictures() {
  try {
    const RectifierOptions view{.width = 2 * run_.depth_camera->Width(),
                                .height = 2 * run_.depth_camera->Height()};
    InputStream stream(OpenInput(input_, InputOptionsOf(run_.summary)), input_, view);
    const int64_t stride =
        std::max<int64_t>(1, (stream.Info().frame_count + kMostPictures - 1) / kMostPictures);
    while (auto frame = stop_ ? std::nullopt : stream.Next()) {
      if (frame->index % stride != 0) continue;
      std::string png = EncodePng(frame->image);
      const std::lock_guard lock(mutex_);
      pictures_[frame->index] = std::move(png);
      if (static_cast<int64_t>(pictures_.size()) > 2 * kMostPictures) return;
    }
  } catch (const std::exception&) {
    // It cannot be read any more, or not as the run did; keyframes have pictures of their own.
    has_pictures_ = false;
    PutInfo();
  }
}

std::optional<ServedFile> RunView::FindPicture(int64_t frame) {
  {
    const std::lock_guard lock(mutex_);
    auto after = pictures_.upper_bound(frame);
    if (after != pictures_.begin()) {
      --after;
      if (frame - after->first <= 8) return ServedFile{"image/png", after->second, ""};
    }
  }
  const RunKeyframe* nearest = nullptr;
  for (const RunKeyframe& keyframe : keyframes_)
    if (!keyframe.image.empty() && (nearest == nullptr || keyframe.frame <= frame)) nearest = &keyframe;
  if (nearest == nullptr) return std::nullopt;
  return ServedFile{"image/png", ReadFile(nearest->image), ""};
}

std::shared_ptr<const Frame> RunView::LoadFrame(int64_t frame) const {
  const auto found = map_ids_.find(frame);
  if (found == map_ids_.end()) return nullptr;
  return LoadMapKeyframe(run_.path / run_file::kMap, found->second).keyframe->frame;
}

std::optional<ServedFile> RunView::Find(const std::string& path) {
  if (const auto frame = FrameNumber(path)) return FindPicture(*frame);
  for (const char* name : {kSurface, run_file::kFrames, run_file::kKeyframes}) {
    if (path == StrCat("/download/", name) && fs::is_regular_file(run_.path / name))
      return ServedFile{"application/octet-stream", ReadFile(run_.path / name), name};
  }
  if (auto wall = coverage_.Find(path)) return wall;
  if (auto ct = ct_.Find(path)) return ct;
  const bool sigma = path == "/sigma.bin";
  const bool surface = (path == "/surface.bin" || sigma) && fs::is_regular_file(run_.path / kSurface);
  const bool truth = path == "/truth.bin" && !true_model_.empty();
  if (!surface && !truth) {
    auto detail = detail_.Find(path, [this](int64_t frame) { return LoadFrame(frame); });
    return detail ? detail : FindPageFile(path);
  }
  const std::lock_guard lock(mutex_);
  std::string& bytes = meshes_[path];
  if (bytes.empty()) {
    TriangleMesh mesh = LoadMesh(surface ? run_.path / kSurface : true_model_);
    if (truth)
      for (Eigen::Vector3f& vertex : mesh.vertices)
        vertex = (map_from_truth_ * vertex.cast<double>()).cast<float>();
    bytes = sigma ? EncodeSigma(mesh) : EncodeMesh(mesh);
  }
  return ServedFile{"application/octet-stream", bytes, ""};
}

}  // namespace lumen
