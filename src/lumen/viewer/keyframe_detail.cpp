#include "lumen/viewer/keyframe_detail.h"

#include "lumen/base/json.h"
#include "lumen/base/text.h"
#include "lumen/io/png.h"
#include "lumen/scene/matching.h"

namespace lumen {

namespace {

constexpr int kKeypoints = 160;
constexpr uint64_t kSeed = 1;  // the same points every time one looks

// The numbers of "/features/12.png" or "/matches/12/40.json"; empty if the path is no such thing.
std::vector<int64_t> NumbersIn(const std::string& path, const std::string& start, const std::string& end) {
  if (!StartsWith(path, start) || !EndsWith(path, end) || path.size() < start.size() + end.size()) return {};
  std::vector<int64_t> numbers;
  for (const std::string& part :
       Split(path.substr(start.size(), path.size() - start.size() - end.size()), '/')) {
    const auto number = ParseInteger(part);
    if (!number || *number < 0) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// [u, v, u', v'] in pixels of the depth maps.
Json MatchesToJson(const Frame& first, const Frame& second) {
  const auto keypoints = SampleKeypoints(first.view->eroded_mask, kKeypoints, kSeed);
  const DescriptorIndex first_index(first.features.descriptors, first.view->eroded_mask);
  const DescriptorIndex second_index(second.features.descriptors, second.view->eroded_mask);
  const MatchSet set = MatchDescriptors({first.features.descriptors, &first_index}, keypoints,
                                        {second.features.descriptors, &second_index});
  Json matches = Json::MakeArray();
  for (const Match& match : set.matches) {
    Json entry = Json::MakeArray();
    for (const double value : {static_cast<double>(match.source.x()), static_cast<double>(match.source.y()),
                               match.target.x(), match.target.y()})
      entry.Append(value);
    matches.Append(entry);
  }
  Json json = Json::MakeObject();
  json["tried"] = set.candidates;
  json["matches"] = matches;
  return json;
}

}  // namespace

std::optional<ServedFile> KeyframeDetail::Find(const std::string& path, const FindFrame& find) {
  if (const auto numbers = NumbersIn(path, "/features/", ".png"); numbers.size() == 1) {
    const auto frame = find(numbers[0]);
    if (frame == nullptr || frame->features.levels.empty()) return std::nullopt;
    const Image<float> map = FinestFeatures(frame->features);
    return ServedFile{"image/png", EncodePng(painter_.Paint(map, frame->view->mask)), ""};
  }
  if (const auto numbers = NumbersIn(path, "/matches/", ".json"); numbers.size() == 2) {
    const auto first = find(numbers[0]), second = find(numbers[1]);
    if (first == nullptr || second == nullptr) return std::nullopt;
    if (first->features.levels.empty() || second->features.levels.empty()) return std::nullopt;
    return ServedFile{"application/json", MatchesToJson(*first, *second).Dump(), ""};
  }
  return std::nullopt;
}

}  // namespace lumen
