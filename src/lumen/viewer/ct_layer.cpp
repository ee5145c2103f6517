#include "lumen/viewer/ct_layer.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/image/image.h"
#include "lumen/io/png.h"
#include "lumen/scene/thin_mesh.h"
#include "lumen/viewer/scene_view.h"

namespace lumen {

using Eigen::Vector3d;

namespace {

constexpr int kMostSlicePixels = 640;  // along each side
constexpr size_t kKeptSlices = 96;
constexpr size_t kMostWallTriangles = 400000, kMostSurfaceTriangles = 150000;
constexpr size_t kLongestHint = 4096;
constexpr std::array<const char*, 3> kSliceNames = {"sagittal", "coronal", "axial"};
// The patient's axes across and down a slice; down is turned round where it is S.
constexpr std::array<std::array<int, 2>, 3> kSliceAxes = {{{1, 2}, {0, 2}, {0, 1}}};

Json VectorToJson(const Vector3d& v) { return Json::Array{v.x(), v.y(), v.z()}; }

// Of some of the values: a volume may have a billion.
float ShareBelow(const Volume& volume, double share) {
  std::vector<float> some;
  const size_t step = std::max<size_t>(1, volume.values.size() / 50000);
  for (size_t i = 0; i < volume.values.size(); i += step)
    if (std::isfinite(volume.values[i])) some.push_back(volume.values[i]);
  if (some.empty()) return 0;
  const auto at = some.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(some.size() - 1));
  std::nth_element(some.begin(), at, some.end());
  return *at;
}

}  // namespace

CtSlices::CtSlices(std::shared_ptr<const Volume> volume)
    : volume_(std::move(volume)), index_from_lps_(volume_->lps_from_index.inverse()) {
  Eigen::AlignedBox3d box;
  for (int corner = 0; corner < 8; ++corner) {
    const Vector3d index((corner & 1) != 0 ? volume_->size.x() - 1 : 0,
                         (corner & 2) != 0 ? volume_->size.y() - 1 : 0,
                         (corner & 4) != 0 ? volume_->size.z() - 1 : 0);
    box.extend((volume_->lps_from_index * index.homogeneous()).head<3>());
  }
  step_ = 1e9;
  for (int axis = 0; axis < 3; ++axis)
    step_ = std::min(step_, volume_->lps_from_index.block<3, 1>(0, axis).norm());
  step_ = std::max({step_, box.sizes().maxCoeff() / (kMostSlicePixels - 1), 1e-3});
  low_ = box.min();
  for (int axis = 0; axis < 3; ++axis)
    size_[axis] =
        std::min(kMostSlicePixels, static_cast<int>(std::floor(box.sizes()[axis] / step_ + 1e-6)) + 1);
  // Hounsfield units: from air to soft bone, so that air, tissue and bone are told apart. Others: all but the
  // ends.
  constexpr float kAir = -1000, kBone = 700, kSurelyAir = -300;
  const float least = ShareBelow(*volume_, 0.01), most = ShareBelow(*volume_, 0.995);
  black_ = least < kSurelyAir ? kAir : least;
  white_ = least < kSurelyAir ? std::max(std::min(most, kBone), kSurelyAir) : most;
  if (!(white_ > black_)) white_ = black_ + 1;
}

float CtSlices::Sample(const Vector3d& lps) const {
  const Vector3d at = (index_from_lps_ * lps.homogeneous()).head<3>();
  Eigen::Vector3i low;
  Vector3d share;
  for (int i = 0; i < 3; ++i) {
    if (!(at[i] > -0.5 && at[i] < volume_->size[i] - 0.5)) return black_;
    low[i] = std::clamp(static_cast<int>(std::floor(at[i])), 0, std::max(0, volume_->size[i] - 2));
    share[i] = std::clamp(at[i] - low[i], 0.0, 1.0);
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    Eigen::Vector3i index = low;
    for (int i = 0; i < 3; ++i) {
      const bool high = ((corner >> i) & 1) != 0;
      weight *= high ? share[i] : 1 - share[i];
      if (high) index[i] = std::min(index[i] + 1, volume_->size[i] - 1);
    }
    if (weight > 0) sum += weight * volume_->At(index.x(), index.y(), index.z());
  }
  return static_cast<float>(sum);
}

std::string CtSlices::Png(int axis, int plane) const {
  const auto [across, down] = kSliceAxes[static_cast<size_t>(axis)];
  Image<uint8_t> image(size_[across], size_[down], 1);
  for (int v = 0; v < image.Height(); ++v) {
    for (int u = 0; u < image.Width(); ++u) {
      Vector3d index;
      index[axis] = plane;
      index[across] = u;
      index[down] = down == 2 ? size_[down] - 1 - v : v;
      const float share = (Sample(low_ + step_ * index) - black_) / (white_ - black_);
      image(u, v) = static_cast<uint8_t>(std::lround(255 * std::clamp(share, 0.0F, 1.0F)));
    }
  }
  return EncodePng(image);
}

Json CtSlices::Describe() const {
  Json json = Json::MakeObject();
  json["low"] = VectorToJson(low_);
  json["step"] = step_;
  json["size"] = Json::Array{size_.x(), size_.y(), size_.z()};
  return json;
}

std::optional<Vector3d> ParseStartHint(const std::string& message) {
  constexpr double kFarthest = 1e5;  // mm
  if (message.size() > kLongestHint) return std::nullopt;
  try {
    const Json json = Json::Parse(message, "a hint");
    const Json* start = json.Find("start");
    if (start == nullptr || !start->IsArray() || start->AsArray().size() != 3) return std::nullopt;
    Vector3d place;
    for (size_t i = 0; i < 3; ++i) {
      const Json& number = start->AsArray()[i];
      if (!number.IsNumber() || !(std::abs(number.AsDouble()) <= kFarthest)) return std::nullopt;
      place[static_cast<Eigen::Index>(i)] = number.AsDouble();
    }
    return place;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void CtLayer::PutCt() { store_.Put(ItemKind::kCt, 0, ct_.Dump()); }
void CtLayer::PutNavigation() { store_.Put(ItemKind::kNavigation, 0, navigation_.Dump()); }

void CtLayer::SetTargets(const std::vector<Target>& targets) {
  Json list = Json::MakeArray();
  for (const Target& target : targets) {
    Json entry = Json::MakeObject();
    entry["name"] = target.name;
    entry["place"] = VectorToJson(target.place);
    list.Append(entry);
  }
  const std::lock_guard lock(mutex_);
  ct_["targets"] = list;
  PutCt();
}

void CtLayer::SetCt(const ViewCt& ct) {
  std::string wall = ct.wall.triangles.empty()
                         ? std::string()
                         : EncodeMesh(ThinMesh(ct.wall, {.triangles = kMostWallTriangles}));
  auto slices =
      ct.volume == nullptr || ct.volume->values.empty() ? nullptr : std::make_shared<CtSlices>(ct.volume);
  const std::lock_guard lock(mutex_);
  wall_ = std::move(wall);
  slices_ = std::move(slices);
  kept_.clear();
  ct_["name"] = ct.name;
  ct_["wall"] = wall_.empty() ? 0 : ++wall_version_;
  ct_["slices"] = slices_ == nullptr ? Json() : slices_->Describe();
  PutCt();
}

void CtLayer::SetState(const std::string& status, const std::string& words) {
  const std::lock_guard lock(mutex_);
  navigation_["status"] = status;
  navigation_["words"] = words;
  PutNavigation();
}

void CtLayer::SetSurface(const TriangleMesh& surface) {
  std::string bytes = surface.triangles.empty()
                          ? std::string()
                          : EncodeMesh(ThinMesh(surface, {.triangles = kMostSurfaceTriangles}));
  const std::lock_guard lock(mutex_);
  if (bytes.empty() && surface_.empty()) return;
  surface_ = std::move(bytes);
  navigation_["surface"] = surface_.empty() ? 0 : ++surface_version_;
  PutNavigation();
}

void CtLayer::SetPlace(const std::optional<ViewPlace>& place) {
  const std::lock_guard lock(mutex_);
  if (place == place_) return;
  place_ = place;
  Json json;
  if (place) {
    const Eigen::Quaterniond& q = place->ct_from_map.Rotation();
    json["scale"] = place->ct_from_map.Scale();
    json["q"] = Json::Array{q.x(), q.y(), q.z(), q.w()};
    json["t"] = VectorToJson(place->ct_from_map.Translation());
    json["submap"] = place->submap;
    json["number"] = place->number;
  }
  navigation_["ct_from_map"] = json;
  PutNavigation();
}

// A slice takes milliseconds; the server's thread makes it, and what was made is kept for the next page.
std::optional<ServedFile> CtLayer::FindSlice(const std::string& path) {
  std::shared_ptr<const CtSlices> slices;
  {
    const std::lock_guard lock(mutex_);
    slices = slices_;
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->first != path) continue;
      kept_.splice(kept_.begin(), kept_, kept);
      return ServedFile{"image/png", kept_.front().second, ""};
    }
  }
  const std::vector<std::string> parts = Split(path, '/');  // "", "ct", "slice", axis, "12.png"
  if (slices == nullptr || parts.size() != 5 || !EndsWith(parts[4], ".png")) return std::nullopt;
  const auto name = std::find(kSliceNames.begin(), kSliceNames.end(), parts[3]);
  const auto plane = ParseInteger(parts[4].substr(0, parts[4].size() - 4));
  if (name == kSliceNames.end() || !plane) return std::nullopt;
  const int axis = static_cast<int>(name - kSliceNames.begin());
  if (*plane < 0 || *plane >= slices->Count(axis)) return std::nullopt;
  std::string png = slices->Png(axis, static_cast<int>(*plane));
  const std::lock_guard lock(mutex_);
  if (slices == slices_) {
    kept_.emplace_front(path, png);
    if (kept_.size() > kKeptSlices) kept_.pop_back();
  }
  return ServedFile{"image/png", std::move(png), ""};
}

std::optional<ServedFile> CtLayer::Find(const std::string& path) {
  if (StartsWith(path, "/ct/slice/")) return FindSlice(path);
  const std::lock_guard lock(mutex_);
  const std::string* bytes = path == "/ct/wall.bin"      ? &wall_
                             : path == "/ct/surface.bin" ? &surface_
                                                         : nullptr;
  if (bytes == nullptr || bytes->empty()) return std::nullopt;
  return ServedFile{"application/octet-stream", *bytes, ""};
}

}  // namespace lumen
