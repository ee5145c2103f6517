#include "lumen/apps/run_events.h"

namespace lumen {

namespace {

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
  line["mismatch"] = track.mismatch;
  line["rest_mismatch"] = track.rest_mismatch;
  line["moving"] = track.moving;
  line["feature_error"] = track.feature_error;
  line["depth"] = track.depth;
  if (result.disagreement.Known()) {
    line["depth_offset"] = result.disagreement.offset;
    line["depth_spread"] = result.disagreement.spread;
  }
  if (result.off_probability >= 0) line["off_probability"] = result.off_probability;
  line["overlap"] = track.overlap.point;
  line["flow"] = track.overlap.flow;
  line["contrast"] = result.contrast;
  if (result.blank) line["blank"] = true;
  line["depth_noise"] = result.depth_noise;
  line["iterations"] = track.iterations;
  line["network_ms"] = result.network_ms;
  line["track_ms"] = result.track_ms;
  line["map_ms"] = result.map_ms;
  if (result.delay_ms >= 0) line["delay_ms"] = result.delay_ms;
  return line;
}

const char* LoopEventName(LoopEventKind kind) {
  switch (kind) {
    case LoopEventKind::kRejected:
      return "loop_rejected";
    case LoopEventKind::kRemoved:
      return "loop_removed";
    case LoopEventKind::kJoined:
    case LoopEventKind::kClosed:
      break;
  }
  return "loop";
}

Json LoopLine(const LoopEvent& loop, const MapSnapshot& map) {
  Json line = Json::MakeObject();
  line["event"] = LoopEventName(loop.kind);
  line["kind"] = loop.edge == EdgeKind::kLocalLoop ? "local" : "global";
  line["from"] = FrameOf(map, loop.query);
  line["to"] = FrameOf(map, loop.reference);
  line["similarity"] = loop.similarity;
  line["inlier_ratio"] = loop.evidence.inlier_ratio;
  if (loop.kind == LoopEventKind::kJoined) line["joined"] = true;
  if (!loop.reason.empty()) line["reason"] = loop.reason;
  return line;
}

Json MappedLine(int64_t frame, double ms) {
  Json line = Json::MakeObject();
  line["event"] = "mapped";
  line["frame"] = frame;
  line["map_ms"] = ms;
  return line;
}

}  // namespace

void RunEvents::AddFrame(const FrameResult& result, double now) {
  const bool mapped_later = result.is_keyframe && result.map_ms == 0;
  lines_.push_back({FrameLine(result), mapped_later ? result.index : -1, now});
}

void RunEvents::AddLoop(const LoopEvent& loop, const MapSnapshot& map) {
  lines_.push_back({LoopLine(loop, map)});
}

void RunEvents::AddMapped(int64_t frame, double ms) {
  if (late_.erase(frame) > 0) {
    lines_.push_back({MappedLine(frame, ms)});
  } else {
    mapped_[frame] = ms;
  }
}

std::string RunEvents::Take(double now) {
  std::string text;
  for (; !lines_.empty(); lines_.pop_front()) {
    Line& line = lines_.front();
    if (line.awaits >= 0) {
      if (const auto mapped = mapped_.extract(line.awaits)) {
        line.json["map_ms"] = mapped.mapped();
      } else if (now - line.since < kPatienceSeconds) {
        break;
      } else {
        late_.insert(line.awaits);
      }
    }
    text += line.json.Dump() + "\n";
  }
  return text;
}

}  // namespace lumen
