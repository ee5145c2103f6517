#include <Eigen/Geometry>

#include "lumen/base/error.h"
#include "lumen/base/json.h"
#include "lumen/io/mesh_formats.h"

namespace lumen::mesh_formats {

namespace {

// Numbers of the glTF 2.0 standard.
constexpr int kGlbFloat = 5126, kGlbUint32 = 5125, kGlbUint8 = 5121;
constexpr int kVertexBuffer = 34962, kIndexBuffer = 34963;
constexpr uint32_t kMagic = 0x46546C67, kVersion = 2, kJsonChunk = 0x4E4F534A, kBinaryChunk = 0x004E4942;

void AppendChunk(std::string& out, uint32_t type, std::string content, char filler) {
  content.resize((content.size() + 3) / 4 * 4, filler);
  AppendRaw(out, static_cast<uint32_t>(content.size()));
  AppendRaw(out, type);
  out += content;
}

Json ToJson(const Eigen::Vector3f& v) {
  return Json::Array{static_cast<double>(v.x()), static_cast<double>(v.y()), static_cast<double>(v.z())};
}

// The binary chunk with the views and accessors that say what lies where in it.
class Buffer {
 public:
  // `bytes` holds `count` elements; returns the accessor's number.
  int Add(const std::string& bytes, int64_t count, const char* shape, int component, int target) {
    Json view = Json::MakeObject();
    view["buffer"] = 0;
    view["byteOffset"] = static_cast<int64_t>(bytes_.size());
    view["byteLength"] = static_cast<int64_t>(bytes.size());
    view["target"] = target;
    Json accessor = Json::MakeObject();
    accessor["bufferView"] = static_cast<int64_t>(views_.AsArray().size());
    accessor["componentType"] = component;
    accessor["count"] = count;
    accessor["type"] = shape;
    if (component == kGlbUint8) accessor["normalized"] = true;
    views_.Append(view);
    accessors_.push_back(accessor);
    bytes_ += bytes;
    bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0');
    return static_cast<int>(accessors_.size()) - 1;
  }
  Json& Accessor(int i) { return accessors_[static_cast<size_t>(i)]; }
  const Json& Views() const { return views_; }
  const Json::Array& Accessors() const { return accessors_; }
  const std::string& Bytes() const { return bytes_; }

 private:
  std::string bytes_;
  Json views_ = Json::MakeArray();
  Json::Array accessors_;
};

std::string Raw(const std::vector<Eigen::Vector3f>& vectors) {
  return {reinterpret_cast<const char*>(vectors.data()), vectors.size() * sizeof(Eigen::Vector3f)};
}

Json DescribeVertices(const TriangleMesh& mesh, Buffer& buffer) {
  const auto count = static_cast<int64_t>(mesh.vertices.size());
  Json attributes = Json::MakeObject();
  Eigen::AlignedBox3f box;
  for (const Eigen::Vector3f& vertex : mesh.vertices) box.extend(vertex);
  const int position = buffer.Add(Raw(mesh.vertices), count, "VEC3", kGlbFloat, kVertexBuffer);
  buffer.Accessor(position)["min"] = ToJson(box.min());
  buffer.Accessor(position)["max"] = ToJson(box.max());
  attributes["POSITION"] = position;
  if (!mesh.normals.empty())
    attributes["NORMAL"] = buffer.Add(Raw(mesh.normals), count, "VEC3", kGlbFloat, kVertexBuffer);
  if (!mesh.colors.empty()) {
    std::string rgba;  // four bytes each, as the standard wants elements aligned
    for (const auto& color : mesh.colors) {
      for (const uint8_t channel : color) AppendRaw(rgba, channel);
      AppendRaw(rgba, uint8_t{255});
    }
    attributes["COLOR_0"] = buffer.Add(rgba, count, "VEC4", kGlbUint8, kVertexBuffer);
  }
  return attributes;
}

Json ObjectWith(const char* key, Json value) {
  Json object = Json::MakeObject();
  object[key] = std::move(value);
  return object;
}

}  // namespace

std::string FormatGlb(const TriangleMesh& mesh, const std::string& comment) {
  Buffer buffer;
  Json primitive = Json::MakeObject();
  primitive["attributes"] = DescribeVertices(mesh, buffer);
  const std::string indices(reinterpret_cast<const char*>(mesh.triangles.data()), mesh.triangles.size() * 12);
  primitive["indices"] = buffer.Add(indices, static_cast<int64_t>(3 * mesh.triangles.size()), "SCALAR",
                                    kGlbUint32, kIndexBuffer);
  Json document = Json::MakeObject();
  document["asset"] = ObjectWith("version", "2.0");
  document["asset"]["generator"] = "lumen";
  if (!comment.empty()) document["asset"]["extras"] = ObjectWith("comment", comment);
  document["scene"] = 0;
  document["scenes"] = Json::Array{ObjectWith("nodes", Json::Array{0})};
  document["nodes"] = Json::Array{ObjectWith("mesh", 0)};
  document["meshes"] = Json::Array{ObjectWith("primitives", Json::Array{primitive})};
  document["buffers"] = Json::Array{ObjectWith("byteLength", static_cast<int64_t>(buffer.Bytes().size()))};
  document["bufferViews"] = buffer.Views();
  document["accessors"] = buffer.Accessors();
  std::string chunks;
  AppendChunk(chunks, kJsonChunk, document.Dump(), ' ');
  AppendChunk(chunks, kBinaryChunk, buffer.Bytes(), '\0');
  if (chunks.size() > UINT32_MAX - 12)
    throw InputError("a mesh of over 4 GB does not fit into GLB; PLY holds any");
  std::string out;
  AppendRaw(out, kMagic);
  AppendRaw(out, kVersion);
  AppendRaw(out, static_cast<uint32_t>(12 + chunks.size()));
  return out + chunks;
}

}  // namespace lumen::mesh_formats
