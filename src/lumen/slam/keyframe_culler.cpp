#include "lumen/slam/keyframe_culler.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/slam/tracker.h"

namespace lumen {

namespace {

constexpr KeyframeId kAnotherVisit = 10;  // keyframes between that make a visit another one
constexpr size_t kTried = 3;              // hosts looked at closely
constexpr double kReach = 0.7;            // how far off a host may be: see PoseDistance
constexpr double kLeastAgreement = 0.3;   // share of a keyframe's matches with its host that the map explains
constexpr double kAgreementPixels = 3;
constexpr double kLeastTie = 0.5;  // share of a neighbour's pixels that the host must see
constexpr double kLooseTie = 0.2;  // where the bound on the map's size asks for it
constexpr size_t kEnoughTies = 3;  // of a neighbour, the one that goes included
constexpr size_t kNewest = 20;     // keyframes that stay whatever the bound

}  // namespace

bool KeyframeCuller::MayGo(KeyframeId id) const {
  return mapper_.Contains(id) && !mapper_.IsAnchor(id) && mapper_.ParentOf(id) >= 0 &&
         !loops_.IsOnProbation(id);
}

KeyframeId KeyframeCuller::FindHost(KeyframeId id) const {
  const MapKeyframe& keyframe = mapper_.At(id);
  std::vector<std::pair<double, KeyframeId>> near;
  for (const KeyframeId other : mapper_.KeyframesOf(keyframe.submap)) {
    if (other > id - kAnotherVisit) break;
    const double distance = PoseDistance(mapper_.At(other), keyframe.state.world_from_camera);
    if (distance < kReach) near.emplace_back(distance, other);
  }
  std::sort(near.begin(), near.end());
  const DepthImage depth = ComputeDepth(mapper_.Side(id));
  for (size_t i = 0; i < std::min(kTried, near.size()); ++i) {
    const Overlap overlap = mapper_.OverlapByMap(id, depth, near[i].second);
    const bool covers = overlap.area >= covering_.revisit_area && overlap.point >= covering_.revisit_point &&
                        overlap.flow <= covering_.revisit_flow;
    if (covers && loops_.AgreementOf(id, near[i].second, kAgreementPixels).share >= kLeastAgreement)
      return near[i].second;
  }
  return -1;
}

KeyframeId KeyframeCuller::BestNeighbour(KeyframeId id) const {
  KeyframeId best = -1;
  double most = 0;
  const DepthImage depth = ComputeDepth(mapper_.Side(id));
  for (const KeyframeId neighbour : mapper_.Neighbours(id)) {
    const double overlap = mapper_.OverlapByMap(id, depth, neighbour).Product();
    if (best >= 0 && overlap <= most) continue;
    most = overlap;
    best = neighbour;
  }
  return best;
}

// A neighbour that has ties enough without this keyframe gets no new one, or the host would come to be tied
// to everything about it, and everything would have to be weighed again whenever one of them moves.
bool KeyframeCuller::RetireTo(KeyframeId id, KeyframeId host, double least_overlap) {
  std::vector<KeyframeId> ties, well_tied;
  std::set<KeyframeId> held{host};
  const auto tie = [&](KeyframeId neighbour) {
    const DepthImage depth = ComputeDepth(mapper_.Side(neighbour));
    if (mapper_.OverlapByMap(neighbour, depth, host).point < least_overlap) return false;
    ties.push_back(neighbour);
    held.insert(neighbour);
    return true;
  };
  for (const KeyframeId neighbour : mapper_.Neighbours(id)) {
    if (neighbour == host || mapper_.Connected(neighbour, host)) {
      held.insert(neighbour);
    } else if (mapper_.Neighbours(neighbour).size() > kEnoughTies || !tie(neighbour)) {
      well_tied.push_back(neighbour);
    }
  }
  // Who is not tied to the host has to hang on somebody who is.
  for (const KeyframeId neighbour : well_tied) {
    const std::vector<KeyframeId> next = mapper_.Neighbours(neighbour);
    const bool hangs = std::any_of(next.begin(), next.end(), [&](KeyframeId n) { return held.contains(n); });
    if (!hangs && !tie(neighbour)) return false;
  }
  mapper_.Retire(id, host);
  for (const KeyframeId neighbour : ties) mapper_.Connect(neighbour, host, EdgeKind::kTemporal);
  return true;
}

std::vector<KeyframeId> KeyframeCuller::Cull(KeyframeId newest) {
  std::vector<KeyframeId> order = mapper_.Ids();  // as they came
  LUMEN_CHECK(!order.empty() && order.back() == newest);
  std::vector<KeyframeId> retired;
  const auto retire = [&](KeyframeId id, KeyframeId host, double least_overlap) {
    if (host < 0 || !RetireTo(id, host, least_overlap)) return false;
    std::erase(order, id);
    retired.push_back(id);
    return true;
  };
  if (options_.cull) {
    for (const size_t after :
         {static_cast<size_t>(options_.cull_after), 3 * static_cast<size_t>(options_.cull_after)}) {
      if (order.size() <= after) continue;
      const KeyframeId id = order[order.size() - 1 - after];
      if (MayGo(id)) retire(id, FindHost(id), kLeastTie);
    }
  }
  const auto most = static_cast<size_t>(options_.most_keyframes);
  for (size_t i = 0; most > 0 && mapper_.Size() > std::max(most, kNewest) && i + kNewest < order.size();) {
    const KeyframeId id = order[i];
    if (!MayGo(id) || !retire(id, BestNeighbour(id), kLooseTie)) ++i;
  }
  return retired;
}

}  // namespace lumen
