#include <Eigen/Geometry>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_formats.h"

namespace lumen::mesh_formats {

namespace {

float ParseFloat(const std::string& word, const std::string& name, int line) {
  const auto number = ParseDouble(word);
  if (!number) throw InputError(name, StrCat("line ", line, ": \"", word, "\" is not a number"));
  return static_cast<float>(*number);
}

// OBJ counts from 1, or back from the end when negative; "7/2/3" names vertex, texture, normal.
int32_t ParseObjIndex(const std::string& word, size_t vertex_count, const std::string& name, int line) {
  const auto index = ParseInteger(Split(word, '/')[0]);
  constexpr long long kMost = std::numeric_limits<int32_t>::max();
  if (!index || *index == 0 || *index > kMost || *index < -kMost)
    throw InputError(name, StrCat("line ", line, ": \"", word, "\" is not a vertex number"));
  return static_cast<int32_t>(*index > 0 ? *index - 1 : static_cast<long long>(vertex_count) + *index);
}

// STL repeats a corner for every triangle: equal positions become one vertex.
class CornerMerger {
 public:
  explicit CornerMerger(TriangleMesh& mesh) : mesh_(mesh) {}
  // Corners must be finite: what is no number is neither equal to anything nor before or behind it.
  void AddTriangle(const Eigen::Vector3f (&corners)[3], const std::string& name) {
    for (const Eigen::Vector3f& corner : corners)
      if (!corner.allFinite()) throw InputError(name, "holds a vertex that is not finite");
    mesh_.triangles.push_back({Find(corners[0]), Find(corners[1]), Find(corners[2])});
  }

 private:
  int32_t Find(const Eigen::Vector3f& x) {
    const auto [found, added] =
        index_.try_emplace({x.x(), x.y(), x.z()}, static_cast<int32_t>(mesh_.vertices.size()));
    if (added) mesh_.vertices.push_back(x);
    return found->second;
  }
  TriangleMesh& mesh_;
  std::map<std::tuple<float, float, float>, int32_t> index_;
};

constexpr size_t kStlHeader = 84;
constexpr size_t kStlTriangle = 50;

TriangleMesh ParseStlText(const std::string& text, const std::string& name) {
  TriangleMesh mesh;
  CornerMerger merger(mesh);
  Eigen::Vector3f corners[3];
  int corner = 0;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const std::vector<std::string> words = SplitWords(line);
    if (words.empty() || words[0] != "vertex") continue;
    if (words.size() != 4) throw InputError(name, StrCat("line ", number, ": a vertex needs three numbers"));
    for (int k = 0; k < 3; ++k) corners[corner][k] = ParseFloat(words[k + 1], name, number);
    if (++corner < 3) continue;
    merger.AddTriangle(corners, name);
    corner = 0;
  }
  if (corner != 0) throw InputError(name, "the file is cut short");
  return mesh;
}

}  // namespace

TriangleMesh ParseObj(const std::string& bytes, const std::string& name) {
  TriangleMesh mesh;
  int number = 0;
  for (const std::string& line : Split(WithoutByteOrderMark(bytes), '\n')) {
    ++number;
    const std::vector<std::string> words = SplitWords(line);
    if (words.empty()) continue;
    if (words[0] == "v") {
      if (words.size() < 4) throw InputError(name, StrCat("line ", number, ": a vertex needs three numbers"));
      Eigen::Vector3f vertex;
      for (int k = 0; k < 3; ++k) vertex[k] = ParseFloat(words[k + 1], name, number);
      mesh.vertices.push_back(vertex);
    } else if (words[0] == "f") {
      if (words.size() < 4) throw InputError(name, StrCat("line ", number, ": a face needs three vertices"));
      std::vector<int32_t> polygon;
      for (size_t k = 1; k < words.size(); ++k)
        polygon.push_back(ParseObjIndex(words[k], mesh.vertices.size(), name, number));
      for (size_t k = 2; k < polygon.size(); ++k)
        mesh.triangles.push_back({polygon[0], polygon[k - 1], polygon[k]});
    }
  }
  if (mesh.vertices.empty()) throw InputError(name, "holds no vertices");
  return mesh;
}

std::string FormatObj(const TriangleMesh& mesh, const std::string& comment) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // a want of memory would only cut the text short
  if (!comment.empty()) out << "# " << comment << '\n';
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    out << "v " << mesh.vertices[i].x() << ' ' << mesh.vertices[i].y() << ' ' << mesh.vertices[i].z();
    if (!mesh.colors.empty()) {
      for (const uint8_t channel : mesh.colors[i]) out << ' ' << static_cast<float>(channel) / 255.0F;
    }
    out << '\n';
  }
  for (const auto& t : mesh.triangles) out << "f " << t[0] + 1 << ' ' << t[1] + 1 << ' ' << t[2] + 1 << '\n';
  return out.str();
}

TriangleMesh ParseStl(const std::string& bytes, const std::string& name) {
  uint32_t count = 0;
  if (bytes.size() >= kStlHeader) std::memcpy(&count, bytes.data() + 80, 4);
  // Binary files may begin with "solid" too; their size gives them away.
  if (bytes.size() != kStlHeader + kStlTriangle * count || bytes.size() < kStlHeader) {
    if (StartsWith(bytes, "solid")) return ParseStlText(bytes, name);
    throw InputError(name, bytes.empty() ? "is empty" : "the file is cut short or not STL");
  }
  TriangleMesh mesh;
  CornerMerger merger(mesh);
  for (uint32_t i = 0; i < count; ++i) {
    Eigen::Vector3f corners[3];
    std::memcpy(static_cast<void*>(corners), bytes.data() + kStlHeader + kStlTriangle * i + 12, 36);
    merger.AddTriangle(corners, name);
  }
  return mesh;
}

std::string FormatStl(const TriangleMesh& mesh, const std::string& comment) {
  // The header must not begin with "solid", or readers take it for text.
  std::string out = ("lumen " + comment).substr(0, 80);
  out.resize(80, ' ');
  const auto count = static_cast<uint32_t>(mesh.triangles.size());
  out.append(reinterpret_cast<const char*>(&count), 4);
  for (const auto& t : mesh.triangles) {
    const Eigen::Vector3f corners[3] = {mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]};
    const Eigen::Vector3f normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalized();
    out.append(reinterpret_cast<const char*>(normal.data()), 12);
    for (const Eigen::Vector3f& corner : corners)
      out.append(reinterpret_cast<const char*>(corner.data()), 12);
    out.append(2, '\0');
  }
  return out;
}

}  // namespace lumen::mesh_formats
