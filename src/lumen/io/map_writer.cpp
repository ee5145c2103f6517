#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/half.h"
#include "lumen/base/isolated.h"
#include "lumen/base/text.h"
#include "lumen/io/hdf5_handle.h"
#include "lumen/io/map_file.h"
#include "lumen/io/map_format.h"

namespace lumen {

namespace {

enum class Element : uint8_t { kDouble, kInteger, kFloat, kHalf, kByte, kCharacter };

// What is asked of the process that writes: its head, the name, and after it the data, aligned.
struct MapRequest {
  enum class Kind : uint8_t { kGroup, kArray, kFinish } kind = Kind::kFinish;
  Element element = Element::kByte;
  uint32_t name_size = 0;
  uint32_t rank = 0;
  std::array<hsize_t, 3> shape{};

  size_t DataBegin() const { return (sizeof(MapRequest) + name_size + 7) / 8 * 8; }
};

// HDF5's side of it. Every answer of HDF5 counts: what it was given first meets the disk when it is closed.
class MapServer {
 public:
  explicit MapServer(std::filesystem::path file) : file_path_(std::move(file)) {}

  void Answer(std::string_view request, RecordWriter& out) {
    errno = 0;
    if (request.empty()) return Create();
    MapRequest head;
    std::memcpy(&head, request.data(), sizeof(head));
    const std::string name(request.substr(sizeof(head), head.name_size));
    if (head.kind == MapRequest::Kind::kGroup) Group(name);
    if (head.kind == MapRequest::Kind::kArray) Write(name, head, request.data() + head.DataBegin());
    if (head.kind == MapRequest::Kind::kFinish) out.Put(Finish());
  }

 private:
  void Create() {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // our own messages are enough
    file_.emplace(H5Fcreate(file_path_.c_str(), H5F_ACC_TRUNC, Properties(H5P_FILE_CREATE).Id(), H5P_DEFAULT),
                  H5Fclose);
    half_.emplace(MakeHalfType());
    Require(file_->Valid() && half_->Valid());
  }
  void Group(const std::string& name) {
    Hdf5Handle group(
        H5Gcreate2(file_->Id(), name.c_str(), H5P_DEFAULT, Properties(H5P_GROUP_CREATE).Id(), H5P_DEFAULT),
        H5Gclose);
    Require(group.Valid() && group.Close());
  }
  void Write(const std::string& name, const MapRequest& head, const void* data) {
    const Hdf5Handle space(H5Screate_simple(static_cast<int>(head.rank), head.shape.data(), nullptr),
                           H5Sclose);
    const Hdf5Handle properties = Properties(H5P_DATASET_CREATE);
    const Types types = TypesOf(head.element);
    Hdf5Handle set(H5Dcreate2(file_->Id(), name.c_str(), types.on_disk, space.Id(), H5P_DEFAULT,
                              properties.Id(), H5P_DEFAULT),
                   H5Dclose);
    Require(set.Valid());
    hsize_t count = 1;
    for (uint32_t i = 0; i < head.rank; ++i) count *= head.shape[i];
    Require(count == 0 || H5Dwrite(set.Id(), types.in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    Require(set.Close());
  }
  // Returns how much of the file is used.
  uint64_t Finish() {
    hsize_t size = 0;
    Require(H5Fflush(file_->Id(), H5F_SCOPE_GLOBAL) >= 0 && H5Fget_filesize(file_->Id(), &size) >= 0);
    Require(file_->Close());
    return size;
  }

  struct Types {
    hid_t in_memory, on_disk;
  };
  Types TypesOf(Element element) const {
    switch (element) {
      case Element::kDouble:
        return {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE};
      case Element::kInteger:
        return {H5T_NATIVE_INT64, H5T_STD_I64LE};
      case Element::kFloat:
        return {H5T_NATIVE_FLOAT, H5T_IEEE_F32LE};
      case Element::kHalf:
        return {half_->Id(), half_->Id()};
      case Element::kCharacter:
        return {H5T_NATIVE_CHAR, H5T_STD_I8LE};
      case Element::kByte:
        break;
    }
    return {H5T_NATIVE_UINT8, H5T_STD_U8LE};
  }
  // Without the times of creation, which would make two equal maps differ.
  static Hdf5Handle Properties(hid_t kind) {
    Hdf5Handle properties(H5Pcreate(kind), H5Pclose);
    H5Pset_obj_track_times(properties.Id(), 0);
    return properties;
  }
  static void Require(bool good) {
    if (good) return;
    if (errno == ENOMEM) throw std::bad_alloc();
    throw std::runtime_error(errno != 0 ? StrCat("cannot write: ", std::strerror(errno)) : "cannot write");
  }

  std::filesystem::path file_path_;
  std::optional<Hdf5Handle> file_, half_;
};

// HDF5 does not survive a disk that takes no more, nor a want of memory: it writes in a process of its own,
// and the room on the disk is reserved first.
class MapWriter {
 public:
  // `path` is what messages speak of.
  MapWriter(const std::filesystem::path& path, const std::filesystem::path& temporary, size_t most_bytes)
      : copy_(
            path.string(),
            [server = std::make_shared<MapServer>(temporary)](std::string_view request, RecordWriter& out) {
              server->Answer(request, out);
            },
            Isolated::Task::kWrites) {
    copy_.Ask("", [](RecordReader&) {});
    ReserveFile(temporary, most_bytes, path);
  }

  void Group(const std::string& name) { Send({.kind = MapRequest::Kind::kGroup}, name, nullptr, 0); }
  void Doubles(const std::string& name, const std::vector<double>& values) {
    Write(name, Element::kDouble, values);
  }
  void Integers(const std::string& name, const std::vector<int64_t>& values) {
    Write(name, Element::kInteger, values);
  }
  void Floats(const std::string& name, const Image<float>& image) {
    Write(name, Element::kFloat, image, image.Data());
  }
  void Halves(const std::string& name, const Image<float>& image) {
    std::vector<uint16_t> halves(image.Size());
    std::transform(image.Data(), image.Data() + image.Size(), halves.begin(), ToHalf);
    Write(name, Element::kHalf, image, halves.data());
  }
  void Bytes(const std::string& name, const Image<uint8_t>& image) {
    Write(name, Element::kByte, image, image.Data());
  }
  void Text(const std::string& name, const std::string& text) { Write(name, Element::kCharacter, text); }
  // Returns how much of the room was used.
  uint64_t Finish() { return Send({}, "", nullptr, 0); }

 private:
  template <typename Values>
  void Write(const std::string& name, Element element, const Values& values) {
    Send({MapRequest::Kind::kArray, element, 0, 1, {values.size()}}, name, values.data(),
         values.size() * sizeof(values[0]));
  }
  template <typename T, typename Stored>
  void Write(const std::string& name, Element element, const Image<T>& image, const Stored* data) {
    const auto size = [](int extent) { return static_cast<hsize_t>(extent); };
    Send({MapRequest::Kind::kArray,
          element,
          0,
          3,
          {size(image.Height()), size(image.Width()), size(image.Channels())}},
         name, data, image.Size() * sizeof(Stored));
  }
  uint64_t Send(MapRequest head, const std::string& name, const void* data, size_t bytes) {
    head.name_size = static_cast<uint32_t>(name.size());
    std::string request(reinterpret_cast<const char*>(&head), sizeof(head));
    request += name;
    request.resize(head.DataBegin());
    request.append(static_cast<const char*>(data), bytes);
    uint64_t answer = 0;
    copy_.Ask(request, [&](RecordReader& in) {
      if (head.kind == MapRequest::Kind::kFinish) answer = in.Get<uint64_t>();
    });
    return answer;
  }

  Isolated copy_;
};

void WriteKeyframe(const MapKeyframe& entry, const std::string& group, MapWriter& writer) {
  const Frame& frame = *entry.keyframe->frame;
  const KeyframeState& state = entry.state;
  writer.Group(group);
  writer.Integers(group + "/number", {frame.index, entry.submap});
  const Eigen::Quaterniond& q = state.world_from_camera.Rotation();
  const Eigen::Vector3d& t = state.world_from_camera.Translation();
  std::vector<double> numbers{frame.time, t.x(), t.y(), t.z(), q.x(), q.y(), q.z(), q.w(), state.log_scale};
  numbers.insert(numbers.end(), state.code.begin(), state.code.end());
  writer.Doubles(group + "/state", numbers);
  writer.Bytes(group + "/image", frame.image);
  writer.Floats(group + "/average_depth", entry.keyframe->depth.average);
  if (!entry.IsActive()) {
    writer.Integers(group + "/host", {entry.host});
    return;
  }
  writer.Halves(group + "/features", FinestFeatures(frame.features));
  writer.Halves(group + "/descriptors", frame.features.descriptors);
  writer.Halves(group + "/bases", entry.keyframe->depth.bases);
}

// More than a keyframe takes on disk.
size_t MostBytes(const MapKeyframe& entry, size_t words) {
  constexpr size_t kHeaders = 8192;
  const FeaturePyramid& features = entry.keyframe->frame->features;
  const DepthBasis& depth = entry.keyframe->depth;
  size_t bytes = entry.keyframe->frame->image.Size() + 4 * depth.average.Size() + 2 * depth.bases.Size() +
                 2 * features.descriptors.Size() + 16 * words + kHeaders;
  if (!features.levels.empty()) bytes += 2 * features.levels[0].values.Size();
  return bytes;
}

size_t WriteMap(const StoredMap& stored, MapWriter& writer) {
  writer.Integers("format", {kMapFormat});
  writer.Text("model_hash", stored.model_hash);
  std::vector<int64_t> ids, edges;
  for (const auto& [id, entry] : stored.map.keyframes) ids.push_back(id);
  for (const MapEdge& edge : stored.map.edges)
    edges.insert(edges.end(), {edge.first, edge.second, static_cast<int64_t>(edge.kind)});
  writer.Integers("keyframes", ids);
  writer.Integers("edges", edges);
  bool first = true;
  for (const auto& [id, entry] : stored.map.keyframes) {
    const View& view = *entry.keyframe->frame->view;
    if (std::exchange(first, false)) {
      const UnifiedCamera& camera = view.camera;
      writer.Doubles("camera", {camera.fx, camera.fy, camera.cx, camera.cy, camera.alpha});
      writer.Bytes("mask", view.mask);
      writer.Bytes("eroded_mask", view.eroded_mask);
    }
    const std::string group = KeyframeGroup(id);
    WriteKeyframe(entry, group, writer);
    std::vector<int64_t> words;
    std::vector<double> weights;
    if (const auto found = stored.words.find(id); found != stored.words.end()) {
      for (const auto& [word, weight] : found->second) {
        words.push_back(word);
        weights.push_back(weight);
      }
    }
    writer.Integers(group + "/words", words);
    writer.Doubles(group + "/word_weights", weights);
  }
  return writer.Finish();
}

}  // namespace

void SaveMap(const std::filesystem::path& path, const StoredMap& stored) {
  constexpr size_t kOverhead = size_t{1} << 20;
  size_t most_bytes = kOverhead + 32 * stored.map.edges.size();
  for (const auto& [id, entry] : stored.map.keyframes) {
    const auto words = stored.words.find(id);
    most_bytes += MostBytes(entry, words == stored.words.end() ? 0 : words->second.size());
  }
  WriteFileAtomically(path, [&](const std::filesystem::path& temporary) {
    size_t used = 0;
    {
      MapWriter writer(path, temporary, most_bytes);
      used = WriteMap(stored, writer);
    }
    std::error_code error;
    std::filesystem::resize_file(temporary, used, error);
    if (error) throw OutputError(path, StrCat("cannot write: ", error.message()));
  });
}

}  // namespace lumen
