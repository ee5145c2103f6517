#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_formats.h"

namespace lumen::mesh_formats {

namespace {

static_assert(std::endian::native == std::endian::little,
              "PLY and STL bodies are written as they lie in memory");

enum class PlyType { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kFloat32, kFloat64 };

struct PlyProperty {
  std::string name;
  PlyType type = PlyType::kFloat32;
  bool is_list = false;
  PlyType count_type = PlyType::kUint8;
};

struct PlyElement {
  std::string name;
  int64_t count = 0;
  std::vector<PlyProperty> properties;
};

enum class PlyEncoding { kAscii, kLittle, kBig };

PlyType ParseType(const std::string& word, const std::string& name) {
  static const std::pair<const char*, PlyType> kTypes[] = {
      {"char", PlyType::kInt8},      {"int8", PlyType::kInt8},       {"uchar", PlyType::kUint8},
      {"uint8", PlyType::kUint8},    {"short", PlyType::kInt16},     {"int16", PlyType::kInt16},
      {"ushort", PlyType::kUint16},  {"uint16", PlyType::kUint16},   {"int", PlyType::kInt32},
      {"int32", PlyType::kInt32},    {"uint", PlyType::kUint32},     {"uint32", PlyType::kUint32},
      {"float", PlyType::kFloat32},  {"float32", PlyType::kFloat32}, {"double", PlyType::kFloat64},
      {"float64", PlyType::kFloat64}};
  for (const auto& [text, type] : kTypes) {
    if (word == text) return type;
  }
  throw InputError(name, StrCat("PLY type \"", word, "\" is unknown"));
}

// Reads one number after the other from the body, whatever its encoding.
class PlyBody {
 public:
  PlyBody(const std::string& bytes, size_t begin, PlyEncoding encoding, const std::string& name)
      : bytes_(bytes), position_(begin), encoding_(encoding), name_(name) {}

  double Read(PlyType type) {
    if (encoding_ == PlyEncoding::kAscii) return ReadWord();
    switch (type) {
      case PlyType::kInt8:
        return ReadBinary<int8_t>();
      case PlyType::kUint8:
        return ReadBinary<uint8_t>();
      case PlyType::kInt16:
        return ReadBinary<int16_t>();
      case PlyType::kUint16:
        return ReadBinary<uint16_t>();
      case PlyType::kInt32:
        return ReadBinary<int32_t>();
      case PlyType::kUint32:
        return ReadBinary<uint32_t>();
      case PlyType::kFloat32:
        return ReadBinary<float>();
      case PlyType::kFloat64:
        return ReadBinary<double>();
    }
    return 0;
  }

  // A count or a vertex number, which must be whole.
  int32_t ReadWhole(PlyType type) {
    const double value = Read(type);
    if (!(value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) ||
        value != std::floor(value))
      throw InputError(name_, StrCat("holds ", FormatDouble(value), " where a whole number must stand"));
    return static_cast<int32_t>(value);
  }

  size_t BytesLeft() const { return bytes_.size() - position_; }

 private:
  template <typename T>
  double ReadBinary() {
    if (bytes_.size() - position_ < sizeof(T)) throw InputError(name_, "the file is cut short");
    char raw[sizeof(T)];
    std::memcpy(raw, bytes_.data() + position_, sizeof(T));
    if (encoding_ == PlyEncoding::kBig) std::reverse(raw, raw + sizeof(T));
    position_ += sizeof(T);
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return static_cast<double>(value);
  }

  double ReadWord() {
    const size_t begin = bytes_.find_first_not_of(" \t\r\n", position_);
    if (begin == std::string::npos) throw InputError(name_, "the file is cut short");
    position_ = std::min(bytes_.find_first_of(" \t\r\n", begin), bytes_.size());
    const auto number = ParseDouble(std::string_view(bytes_).substr(begin, position_ - begin));
    if (!number) throw InputError(name_, "holds something that is not a number");
    return *number;
  }

  const std::string& bytes_;
  size_t position_;
  PlyEncoding encoding_;
  const std::string& name_;
};

struct PlyHeader {
  PlyEncoding encoding = PlyEncoding::kAscii;
  std::vector<PlyElement> elements;
  size_t body_begin = 0;
};

void ParsePropertyLine(const std::vector<std::string>& words, const std::string& name, PlyHeader& header) {
  if (header.elements.empty() || words.size() < 3) throw InputError(name, "the PLY header is damaged");
  PlyProperty property;
  property.is_list = words[1] == "list";
  if (property.is_list && words.size() < 5) throw InputError(name, "the PLY header is damaged");
  if (property.is_list) property.count_type = ParseType(words[2], name);
  property.type = ParseType(words[property.is_list ? 3 : 1], name);
  property.name = words.back();
  if (property.is_list && header.elements.back().name == "vertex")
    throw InputError(name, StrCat("its vertices have a list (\"", property.name, "\"), which is not read"));
  header.elements.back().properties.push_back(property);
}

PlyHeader ParseHeader(const std::string& bytes, const std::string& name) {
  PlyHeader header;
  size_t position = 0;
  bool first = true;
  while (true) {
    const size_t end = bytes.find('\n', position);
    if (end == std::string::npos) throw InputError(name, "the PLY header does not end");
    const std::vector<std::string> words = SplitWords(bytes.substr(position, end - position));
    position = end + 1;
    if (first && (words.empty() || words[0] != "ply")) throw InputError(name, "is not a PLY file");
    first = false;
    if (words.empty() || words[0] == "comment" || words[0] == "ply" || words[0] == "obj_info") continue;
    if (words[0] == "end_header") break;
    if (words[0] == "format" && words.size() >= 2) {
      header.encoding = words[1] == "ascii"                  ? PlyEncoding::kAscii
                        : words[1] == "binary_little_endian" ? PlyEncoding::kLittle
                                                             : PlyEncoding::kBig;
      if (header.encoding == PlyEncoding::kBig && words[1] != "binary_big_endian")
        throw InputError(name, StrCat("is a PLY of the unknown format \"", words[1], '"'));
    } else if (words[0] == "element" && words.size() >= 3) {
      const auto count = ParseInteger(words[2]);
      if (!count || *count < 0) throw InputError(name, "the PLY header is damaged");
      const bool twice = std::any_of(header.elements.begin(), header.elements.end(),
                                     [&](const PlyElement& e) { return e.name == words[1]; });
      if (twice) throw InputError(name, StrCat("has two elements \"", words[1], '"'));
      header.elements.push_back({words[1], *count, {}});
    } else if (words[0] == "property") {
      ParsePropertyLine(words, name, header);
    }
  }
  header.body_begin = position;
  return header;
}

// Where a vertex property goes; false if it is none of these.
struct VertexRow {
  Eigen::Vector3f position = Eigen::Vector3f::Zero();
  Eigen::Vector3f normal = Eigen::Vector3f::Zero();
  std::array<uint8_t, 3> color{};
  bool Set(const std::string& property, double value) {
    static constexpr const char* kNames[] = {"x", "y", "z", "nx", "ny", "nz", "red", "green", "blue"};
    for (int i = 0; i < 9; ++i) {
      if (property != kNames[i]) continue;
      if (i < 3)
        position[i] = static_cast<float>(value);
      else if (i < 6)
        normal[i - 3] = static_cast<float>(value);
      else
        color[i - 6] = value > 0 ? static_cast<uint8_t>(std::min(value, 255.0)) : uint8_t{0};
      return true;
    }
    return false;
  }
};

bool HasProperty(const PlyElement& element, const std::string& name) {
  return std::any_of(element.properties.begin(), element.properties.end(),
                     [&](const PlyProperty& p) { return p.name == name; });
}

void ReadVertices(const PlyElement& element, PlyBody& body, const std::string& name, TriangleMesh& mesh) {
  for (const char* axis : {"x", "y", "z"})
    if (!HasProperty(element, axis)) throw InputError(name, StrCat("its vertices have no ", axis));
  const bool normals = HasProperty(element, "nx");
  const bool colors = HasProperty(element, "red");
  for (int64_t i = 0; i < element.count; ++i) {
    VertexRow row;
    size_t extra = 0;
    for (const PlyProperty& property : element.properties) {
      const double value = body.Read(property.type);
      if (row.Set(property.name, value)) continue;
      if (i == 0) mesh.attributes.push_back({property.name, {}});
      mesh.attributes[extra++].values.push_back(static_cast<float>(value));
    }
    mesh.vertices.push_back(row.position);
    if (normals) mesh.normals.push_back(row.normal);
    if (colors) mesh.colors.push_back(row.color);
  }
}

void ReadOther(const PlyElement& element, PlyBody& body, TriangleMesh& mesh) {
  for (int64_t i = 0; i < element.count; ++i) {
    for (const PlyProperty& property : element.properties) {
      if (!property.is_list) {
        body.Read(property.type);
        continue;
      }
      std::vector<int32_t> polygon;
      const bool indices = element.name == "face" && StartsWith(property.name, "vertex_ind");
      for (int32_t left = body.ReadWhole(property.count_type); left > 0; --left) {
        if (indices)
          polygon.push_back(body.ReadWhole(property.type));
        else
          body.Read(property.type);
      }
      for (size_t k = 2; k < polygon.size(); ++k)
        mesh.triangles.push_back({polygon[0], polygon[k - 1], polygon[k]});
    }
  }
}

}  // namespace

TriangleMesh ParsePly(const std::string& bytes, const std::string& name) {
  const PlyHeader header = ParseHeader(bytes, name);
  PlyBody body(bytes, header.body_begin, header.encoding, name);
  TriangleMesh mesh;
  for (const PlyElement& element : header.elements) {
    // Every row takes at least a byte: a count beyond that is a lie and must not be allocated.
    if (static_cast<size_t>(element.count) > body.BytesLeft())
      throw InputError(name, "the file is cut short");
    if (element.name == "vertex")
      ReadVertices(element, body, name, mesh);
    else
      ReadOther(element, body, mesh);
  }
  return mesh;
}

std::string FormatPly(const TriangleMesh& mesh, const std::string& comment) {
  std::string out = "ply\nformat binary_little_endian 1.0\n";
  if (!comment.empty()) out += "comment " + comment + "\n";
  out += StrCat("element vertex ", mesh.vertices.size(),
                "\nproperty float x\nproperty float y\nproperty float z\n");
  if (!mesh.normals.empty()) out += "property float nx\nproperty float ny\nproperty float nz\n";
  if (!mesh.colors.empty()) out += "property uchar red\nproperty uchar green\nproperty uchar blue\n";
  for (const VertexAttribute& attribute : mesh.attributes) out += "property float " + attribute.name + "\n";
  out += StrCat("element face ", mesh.triangles.size(),
                "\nproperty list uchar int vertex_indices\nend_header\n");
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    for (int k = 0; k < 3; ++k) AppendRaw(out, mesh.vertices[i][k]);
    for (int k = 0; k < 3 && !mesh.normals.empty(); ++k) AppendRaw(out, mesh.normals[i][k]);
    for (int k = 0; k < 3 && !mesh.colors.empty(); ++k) AppendRaw(out, mesh.colors[i][k]);
    for (const VertexAttribute& attribute : mesh.attributes) AppendRaw(out, attribute.values[i]);
  }
  for (const auto& triangle : mesh.triangles) {
    AppendRaw(out, uint8_t{3});
    AppendRaw(out, triangle);
  }
  return out;
}

}  // namespace lumen::mesh_formats
