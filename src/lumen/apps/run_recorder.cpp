#include "lumen/apps/run_recorder.h"

namespace lumen {

namespace {

constexpr double kWriteEveryMs = 1000;

int64_t FrameOf(const MapSnapshot& map, KeyframeId id) {
  const auto found = map.keyframes.find(id);
  return found == map.keyframes.end() ? -1 : found->second.keyframe->frame->index;
}

Json FrameLine(const FrameResult& result) {
  const TrackResult& track = result.track;
  Json line = Json::MakeObject();
  line["frame"] = result.index;
  line["time"] = result.time;
  const bool started = track.status == TrackStatus::kStarted;
  line["status"] = started ? ToString(TrackStatus::kTracked) : ToString(track.status);
  if (!track.reason.empty()) line["reason"] = track.reason;
  line["keyframe"] = result.is_keyframe;
  if (!result.keyframe_reason.empty()) line["keyframe_reason"] = result.keyframe_reason;
  line["submap"] = result.submap;
  line["reference"] = track.reference;
  line["keypoints"] = track.keypoints;
  line["matches"] = track.consistent;
  line["inliers"] = track.inliers;
  line["explained"] = track.explained;
  line["overlap"] = track.overlap.point;
  line["iterations"] = track.iterations;
  line["contrast"] = result.contrast;
  if (result.blank) line["blank"] = true;
  line["depth_noise"] = result.depth_noise;
  line["spread"] = track.depth_spread;
  line["flow"] = track.overlap.flow;
  line["area"] = track.overlap.area;
  line["network_ms"] = result.network_ms;
  line["track_ms"] = result.track_ms;
  line["map_ms"] = result.map_ms;
  return line;
}

}  // namespace

void RunRecorder::Record(const FrameResult& result, const PlacedFrame& placed, const MapSnapshot& map,
                         const std::vector<LoopEvent>& loops) {
  frames_.push_back(placed);
  ++counts_.frames;
  const bool lost = !result.track.Placed();
  if (!lost) ++counts_.placed;
  if (result.track.status == TrackStatus::kWeak) ++counts_.weak;
  if (result.track.status == TrackStatus::kRelocalised) ++counts_.relocalised;
  if (lost && !was_lost_) ++counts_.lost_events;
  was_lost_ = lost;
  writer_.AppendEvent(FrameLine(result));
  RecordLoops(map, loops);
  if (since_write_.ElapsedMs() > kWriteEveryMs) {
    WriteNew(map);
    since_write_ = {};
  }
}

void RunRecorder::RecordLoops(const MapSnapshot& map, const std::vector<LoopEvent>& loops) {
  for (const LoopEvent& loop : loops) {
    const bool local = loop.edge == EdgeKind::kLocalLoop;
    Json line = Json::MakeObject();
    switch (loop.kind) {
      case LoopEventKind::kRejected:
        ++counts_.rejected_loops;
        line["event"] = "loop_rejected";
        break;
      case LoopEventKind::kRemoved:
        ++counts_.removed_loops;
        line["event"] = "loop_removed";
        break;
      case LoopEventKind::kJoined:
        ++counts_.joined;
        ++counts_.global_loops;
        line["event"] = "loop";
        break;
      case LoopEventKind::kClosed:
        ++(local ? counts_.local_loops : counts_.global_loops);
        line["event"] = "loop";
        break;
    }
    line["kind"] = local ? "local" : "global";
    line["from"] = FrameOf(map, loop.query);
    line["to"] = FrameOf(map, loop.reference);
    line["similarity"] = loop.similarity;
    line["inlier_ratio"] = loop.evidence.inlier_ratio;
    if (loop.kind == LoopEventKind::kJoined) line["joined"] = true;
    if (!loop.reason.empty()) line["reason"] = loop.reason;
    writer_.AppendEvent(line);
  }
}

void RunRecorder::WriteNew(const MapSnapshot& map) {
  const int submap = LargestSubmap(map);
  writer_.WriteTrajectories(FrameTrajectory(frames_, map, submap), KeyframeTrajectory(map, submap));
  for (const auto& [id, keyframe] : map.keyframes) {
    if (!written_.insert(id).second) continue;
    const Frame& frame = *keyframe.keyframe->frame;
    const KeyframeState& state = keyframe.state;
    writer_.WriteDepth(frame.index, ComputeDepth(keyframe.keyframe->depth, state.log_scale, state.code),
                       view_->mask);
    writer_.WriteImage(frame.index, frame.image);
  }
}

void RunRecorder::Finish(const MapSnapshot& map) {
  written_.clear();
  WriteNew(map);
  const int largest = LargestSubmap(map);
  for (const int submap : SubmapsOf(map)) {
    if (submap == largest) continue;
    writer_.WriteSubmap(submap, FrameTrajectory(frames_, map, submap), KeyframeTrajectory(map, submap));
  }
}

}  // namespace lumen
