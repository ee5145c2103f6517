#include "lumen/slam/frame_doubt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lumen/base/text.h"
#include "lumen/factors/overlap.h"
#include "lumen/slam/map_certainty.h"

namespace lumen {

DepthDisagreement Disagreement(const MapKeyframe& earlier, const MapKeyframe& later) {
  const auto depth = [](const MapKeyframe& keyframe) {
    return ComputeDepth(keyframe.keyframe->depth, keyframe.state.log_scale, keyframe.state.code);
  };
  const Rigid3 later_from_earlier = later.state.world_from_camera.Inverse() * earlier.state.world_from_camera;
  return CompareDepths(depth(earlier), *earlier.keyframe->frame->view, depth(later),
                       *later.keyframe->frame->view, later_from_earlier);
}

namespace {

// Logarithms of shares do not run away where these vanish.
double LogShare(double share) {
  constexpr double kLeast = 0.005;
  return std::log(std::abs(share) + kLeast);
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Of what lies in order, linear between neighbours.
double QuantileOf(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

// Log-odds at once: what each cue adds.
struct LiveModel {
  double constant = -2.4;
  double spread = 1.05, offset = 0.5, lost = 3.5;
  // What is usual, until the video shows it.
  double usual_spread = -3, usual_offset = -4;
};
constexpr LiveModel kLive;
constexpr double kForgets = 0.05;  // a frame

// And at the end, of logarithms of shares.
struct LastModel {
  double constant = 5.8;
  double sigma = 0.61;        // of the depth: how far the frame itself may be off …
  double worst_sigma = 0.39;  // … and those of its sub-map that are least sure
  double worst_spread = 1.93;
  double lost = 14.5;      // of the share of frames that were not placed,
  double most_lost = 0.2;  // which beyond this tells no more: there may be nothing to be seen
};
constexpr LastModel kLast;
constexpr double kWorst = 0.9;  // quantile

}  // namespace

double LiveDoubt::Note(const DepthDisagreement& disagreement) {
  const auto note = [&](Cue cue, double value) { cues_[cue] += kForgets * (value - cues_[cue]); };
  if (disagreement.Known()) {
    note(kSpread, LogShare(disagreement.spread));
    note(kOffset, LogShare(disagreement.offset));
  }
  note(kLost, 0);
  parts_ = {kLive.spread * (cues_[kSpread] - kLive.usual_spread),
            kLive.offset * (cues_[kOffset] - kLive.usual_offset), kLive.lost * cues_[kLost]};
  return Logistic(std::accumulate(parts_.begin(), parts_.end(), kLive.constant));
}

void LiveDoubt::NoteLost() { cues_[kLost] += kForgets * (1 - cues_[kLost]); }

std::string LiveDoubt::Reason() const {
  const auto percent = [&](Cue cue) { return StrCat(std::lround(100 * std::exp(cues_[cue])), " %"); };
  switch (std::max_element(parts_.begin(), parts_.end()) - parts_.begin()) {
    case kSpread:
      return StrCat("depths from places near by disagree by ", percent(kSpread));
    case kOffset:
      return StrCat("the scale wanders by ", percent(kOffset));
    default:
      return "the camera was lost a moment ago";
  }
}

LiveDoubt::LiveDoubt() : cues_{kLive.usual_spread, kLive.usual_offset, 0} {}

namespace {

// Each keyframe's with the third before it in its sub-map, as they lie now.
std::map<KeyframeId, DepthDisagreement> FindDisagreements(const MapSnapshot& map) {
  std::map<KeyframeId, DepthDisagreement> disagreements;
  std::map<int, std::vector<KeyframeId>> before;
  for (const auto& [id, keyframe] : map.keyframes) {
    std::vector<KeyframeId>& others = before[keyframe.submap];
    if (!others.empty()) {
      const size_t back = std::min<size_t>(kComparedKeyframes, others.size());
      disagreements[id] = Disagreement(map.keyframes.at(others[others.size() - back]), keyframe);
    }
    others.push_back(id);
  }
  return disagreements;
}

}  // namespace

std::vector<double> DoubtFrames(const FrameLog& frames, const MapSnapshot& map, const MapCertainty& certainty,
                                const CertaintyOptions& options) {
  const std::map<KeyframeId, DepthDisagreement> disagreements = FindDisagreements(map);
  std::vector<double> doubts(frames.size(), -1), sigmas, spreads;
  std::vector<size_t> said;  // of which frames
  double lost = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const PlacedFrame& frame = frames[i];
    lost += frame.reference < 0 ? 1 : 0;
    const auto covariance = FrameCovariance(frame, map, certainty, options);
    if (!covariance) continue;
    said.push_back(i);
    sigmas.push_back(LogShare(std::sqrt(std::max(0.0, covariance->topLeftCorner<3, 3>().trace())) /
                              MeanDepth(map.keyframes.at(frame.reference))));
    const auto disagreement = disagreements.find(frame.reference);
    if (disagreement != disagreements.end() && disagreement->second.Known())
      spreads.push_back(LogShare(disagreement->second.spread));
  }
  if (said.empty()) return doubts;
  const double lost_share = lost / static_cast<double>(frames.size());
  const double of_all =
      kLast.constant + kLast.worst_sigma * QuantileOf(sigmas, kWorst) +
      kLast.worst_spread * (spreads.empty() ? kLive.usual_spread : QuantileOf(spreads, kWorst)) +
      kLast.lost * std::min(kLast.most_lost, lost_share);
  for (size_t i = 0; i < said.size(); ++i) doubts[said[i]] = Logistic(of_all + kLast.sigma * sigmas[i]);
  return doubts;
}

}  // namespace lumen
