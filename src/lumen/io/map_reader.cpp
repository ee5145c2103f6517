#include "lumen/io/map_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/hdf5_reader.h"
#include "lumen/io/map_format.h"

namespace lumen {

namespace {

constexpr size_t kMaxKeyframes = 100000;

class MapReader {
 public:
  explicit MapReader(const std::filesystem::path& path) : path_(path), file_(path) {}

  template <typename T>
  std::vector<T> Read(const std::string& name) const {
    return Require(file_.Find<T>(name), name).values;
  }
  std::vector<double> Doubles(const std::string& name, size_t count) const {
    std::vector<double> values = Read<double>(name);
    if (values.size() != count) Refuse(StrCat("\"", name, "\" has ", values.size(), " numbers, not ", count));
    for (const double value : values) {
      if (!std::isfinite(value)) Refuse(StrCat("\"", name, "\" is not finite"));
    }
    return values;
  }
  size_t Count(const std::string& name) const { return Read<double>(name).size(); }
  bool Has(const std::string& name) const { return file_.Has(name); }
  std::vector<int64_t> Integers(const std::string& name) const { return Read<int64_t>(name); }
  std::string Text(const std::string& name) const {
    const std::vector<char> text = Read<char>(name);
    return {text.begin(), text.end()};
  }
  template <typename T>
  Image<T> Picture(const std::string& name) const {
    return AsPicture(Require(file_.Find<T>(name), name), name);
  }
  Image<float> Floats(const std::string& name, int width, int height) const {
    Image<float> image = AsPicture(Require(file_.FindFloats(name), name), name);
    if (image.Width() != width || image.Height() != height) Refuse(StrCat("\"", name, "\" has another size"));
    for (size_t i = 0; i < image.Size(); ++i) {
      if (!std::isfinite(image.Data()[i])) Refuse(StrCat("\"", name, "\" is not finite"));
    }
    return image;
  }
  [[noreturn]] void Refuse(const std::string& what) const { throw InputError(path_, what); }

 private:
  template <typename T>
  Hdf5Reader::Array<T> Require(std::optional<Hdf5Reader::Array<T>> found, const std::string& name) const {
    if (!found) Refuse(StrCat("not a map: it has no \"", name, "\""));
    return std::move(*found);
  }
  template <typename T>
  Image<T> AsPicture(const Hdf5Reader::Array<T>& array, const std::string& name) const {
    const Hdf5Shape& shape = array.shape;
    if (shape.size() != 3 || array.values.empty()) Refuse(StrCat("\"", name, "\" is no picture"));
    Image<T> image(static_cast<int>(shape[1]), static_cast<int>(shape[0]), static_cast<int>(shape[2]));
    std::copy(array.values.begin(), array.values.end(), image.Data());
    return image;
  }

  std::filesystem::path path_;
  Hdf5Reader file_;
};

MapKeyframe ReadKeyframe(const MapReader& reader, const std::string& group,
                         const std::shared_ptr<const View>& view, int levels) {
  const int width = view->mask.Width();
  const int height = view->mask.Height();
  auto frame = std::make_shared<Frame>();
  const std::vector<int64_t> number = reader.Integers(group + "/number");
  if (number.size() != 2) reader.Refuse(StrCat(group, " has no number"));
  frame->index = number[0];
  frame->view = view;
  frame->image = reader.Picture<uint8_t>(group + "/image");
  if (frame->image.Channels() != 3) reader.Refuse(StrCat(group, " has no picture in colours"));
  MapKeyframe entry;
  Image<float> bases;
  if (reader.Has(group + "/host")) {
    const std::vector<int64_t> host = reader.Integers(group + "/host");
    if (host.size() != 1 || host[0] < 0) reader.Refuse(StrCat(group, " has no host"));
    entry.host = host[0];
  } else {
    // As PackFeatures leaves it, without making the levels first.
    frame->features = {{{reader.Floats(group + "/features", width, height), false}},
                       reader.Floats(group + "/descriptors", width, height),
                       levels};
    bases = reader.Floats(group + "/bases", width, height);
  }
  const int num_bases = bases.Empty() ? 0 : bases.Channels();
  Image<float> average = reader.Floats(group + "/average_depth", width, height);
  if (average.Channels() != 1) reader.Refuse(StrCat(group, " has a depth of several channels"));
  const std::vector<double> s = reader.Doubles(group + "/state", 9 + static_cast<size_t>(num_bases));
  frame->time = s[0];
  const Eigen::Quaterniond rotation(s[7], s[4], s[5], s[6]);
  if (!(std::abs(rotation.norm() - 1) < 1e-3)) reader.Refuse(StrCat(group, " has no rotation"));
  entry.state.world_from_camera = Rigid3(rotation, {s[1], s[2], s[3]});
  entry.state.log_scale = s[8];
  entry.state.code = Eigen::Map<const Eigen::VectorXd>(s.data() + 9, num_bases);
  entry.submap = static_cast<int>(number[1]);
  auto keyframe = std::make_shared<Keyframe>();
  keyframe->depth = MakeDepthBasis(std::move(average), std::move(bases), view->mask);
  if (!(keyframe->depth.mean_square > 0)) reader.Refuse(StrCat(group, " has no depth"));
  keyframe->frame = std::move(frame);
  entry.keyframe = std::move(keyframe);
  return entry;
}

MapReader OpenMap(const std::filesystem::path& path) {
  MapReader reader(path);
  const std::vector<int64_t> format = reader.Integers("format");
  if (format.size() != 1 || format[0] < kOldestMapFormat || format[0] > kMapFormat)
    reader.Refuse("a map of another version");
  return reader;
}

std::vector<int64_t> ReadIds(const MapReader& reader) {
  std::vector<int64_t> ids = reader.Integers("keyframes");
  if (ids.empty() || ids.size() > kMaxKeyframes) reader.Refuse("a map without keyframes");
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size())
    reader.Refuse("a keyframe is there twice");
  return ids;
}

std::shared_ptr<const View> ReadView(const MapReader& reader) {
  const bool old = reader.Count("camera") == 4;  // a pinhole
  const std::vector<double> camera = reader.Doubles("camera", old ? 4 : 5);
  auto view = std::make_shared<View>();
  view->camera = {camera[0], camera[1], camera[2], camera[3], old ? 0 : camera[4]};
  if (!(view->camera.fx > 0 && view->camera.fy > 0 && view->camera.alpha >= 0 && view->camera.alpha < 1))
    reader.Refuse("its camera makes no sense");
  view->mask = reader.Picture<uint8_t>("mask");
  view->eroded_mask = reader.Picture<uint8_t>("eroded_mask");
  if (!SameSize(view->mask, view->eroded_mask)) reader.Refuse("its masks differ in size");
  if (view->mask.Channels() != 1 || view->eroded_mask.Channels() != 1)
    reader.Refuse("its masks have several channels");
  return view;
}

std::vector<MapEdge> ReadEdges(const MapReader& reader, const std::vector<int64_t>& ids) {
  const std::set<int64_t> known(ids.begin(), ids.end());
  const std::vector<int64_t> numbers = reader.Integers("edges");
  if (numbers.size() % 3 != 0) reader.Refuse("its edges are broken");
  std::vector<MapEdge> edges;
  for (size_t i = 0; i < numbers.size(); i += 3) {
    const bool whole = known.contains(numbers[i]) && known.contains(numbers[i + 1]);
    if (!whole || numbers[i] == numbers[i + 1] || numbers[i + 2] < 0 || numbers[i + 2] > 2)
      reader.Refuse("an edge between keyframes that are not there");
    edges.push_back({numbers[i], numbers[i + 1], static_cast<EdgeKind>(numbers[i + 2])});
  }
  return edges;
}

// A keyframe lies with one that is there and active.
void CheckHosts(const MapSnapshot& map, const MapReader& reader) {
  for (const auto& [id, entry] : map.keyframes) {
    if (entry.IsActive()) continue;
    const auto host = map.keyframes.find(entry.host);
    if (host == map.keyframes.end() || !host->second.IsActive())
      reader.Refuse(StrCat(KeyframeGroup(id), " has no host"));
  }
  for (const MapEdge& edge : map.edges) {
    if (!map.keyframes.at(edge.first).IsActive() || !map.keyframes.at(edge.second).IsActive())
      reader.Refuse("an edge of a retired keyframe");
  }
}

}  // namespace

StoredMap LoadMap(const std::filesystem::path& path, int pyramid_levels) {
  const MapReader reader = OpenMap(path);
  StoredMap stored;
  stored.model_hash = reader.Text("model_hash");
  const std::vector<int64_t> ids = ReadIds(reader);
  const std::shared_ptr<const View> view = ReadView(reader);
  for (const int64_t id : ids) {
    const std::string group = KeyframeGroup(id);
    stored.map.keyframes.emplace(id, ReadKeyframe(reader, group, view, pyramid_levels));
    const std::vector<int64_t> words = reader.Integers(group + "/words");
    const std::vector<double> weights = reader.Doubles(group + "/word_weights", words.size());
    auto& bag = stored.words[id];
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] < 0 || words[i] > std::numeric_limits<int>::max())
        reader.Refuse(StrCat(group, " has a word that is none"));
      bag.emplace_back(static_cast<int>(words[i]), static_cast<float>(weights[i]));
    }
  }
  stored.map.edges = ReadEdges(reader, ids);
  CheckHosts(stored.map, reader);
  stored.map.version = 1;
  return stored;
}

MapOutline LoadMapOutline(const std::filesystem::path& path) {
  const MapReader reader = OpenMap(path);
  const std::vector<int64_t> ids = ReadIds(reader);
  MapOutline outline;
  for (const int64_t id : ids) {
    const std::vector<int64_t> number = reader.Integers(KeyframeGroup(id) + "/number");
    if (number.size() != 2) reader.Refuse(StrCat(KeyframeGroup(id), " has no number"));
    outline.frames[id] = number[0];
  }
  outline.edges = ReadEdges(reader, ids);
  return outline;
}

MapKeyframe LoadMapKeyframe(const std::filesystem::path& path, KeyframeId id, int pyramid_levels) {
  const MapReader reader = OpenMap(path);
  return ReadKeyframe(reader, KeyframeGroup(id), ReadView(reader), pyramid_levels);
}

}  // namespace lumen
