#include "lumen/io/mesh_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/json.h"

namespace lumen {
namespace {

TriangleMesh Tetrahedron() {
  TriangleMesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1.5F}};
  mesh.triangles = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
  mesh.colors = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {9, 9, 9}};
  mesh.normals = mesh.vertices;
  return mesh;
}

// The same triangles by position, whatever the order of the vertices.
std::vector<Eigen::Vector3f> Corners(const TriangleMesh& mesh) {
  std::vector<Eigen::Vector3f> corners;
  for (const auto& triangle : mesh.triangles) {
    for (const int index : triangle) corners.push_back(mesh.vertices[static_cast<size_t>(index)]);
  }
  return corners;
}

std::string MeshFault(const std::string& name, const std::string& content) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / name, content);
  try {
    LoadMesh(folder.Path() / name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MeshFile, EveryFormatReadsBack) {
  const TemporaryFolder folder;
  for (const char* name : {"a.ply", "a.obj", "a.stl"}) {
    SaveMesh(folder.Path() / name, Tetrahedron(), "SPACE=LPS");
    const TriangleMesh back = LoadMesh(folder.Path() / name);
    EXPECT_EQ(back.vertices.size(), 4U) << name;
    EXPECT_EQ(Corners(back), Corners(Tetrahedron())) << name;
  }
  const TriangleMesh ply = LoadMesh(folder.Path() / "a.ply");
  EXPECT_EQ(ply.colors, Tetrahedron().colors);
  EXPECT_EQ(ply.normals, Tetrahedron().normals);
}

TEST(MeshFile, PlyKeepsWhatElseBelongsToAVertex) {
  const TemporaryFolder folder;
  TriangleMesh mesh = Tetrahedron();
  mesh.attributes = {{"confidence", {0, 0.25F, 0.5F, 1}}, {"observations", {1, 2, 3, 4}}};
  SaveMesh(folder.Path() / "a.ply", mesh);
  const TriangleMesh back = LoadMesh(folder.Path() / "a.ply");
  ASSERT_EQ(back.attributes.size(), 2U);
  EXPECT_EQ(back.attributes[1].name, "observations");
  EXPECT_EQ(back.attributes[0].values, mesh.attributes[0].values);
  EXPECT_EQ(back.colors, mesh.colors);
}

TEST(MeshFile, GlbHoldsWhatItsHeaderSays) {
  const TemporaryFolder folder;
  SaveMesh(folder.Path() / "a.glb", Tetrahedron(), "SPACE=LPS");
  const std::string bytes = ReadFile(folder.Path() / "a.glb");
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 4), "glTF");
  EXPECT_EQ(word(4), 2U);
  ASSERT_EQ(word(8), bytes.size());
  const size_t json_size = word(12);
  EXPECT_EQ(bytes.substr(16, 4), "JSON");
  const Json json = Json::Parse(bytes.substr(20, json_size));
  const size_t body = 20 + json_size + 8;
  EXPECT_EQ(word(body - 8) + body, bytes.size());
  const Json& attributes = json.At("meshes").AsArray()[0].At("primitives").AsArray()[0].At("attributes");
  EXPECT_EQ(attributes.AsObject().size(), 3U);
  const auto& views = json.At("bufferViews").AsArray();
  const Json& indices = views.back();
  EXPECT_EQ(indices.At("byteLength").AsInteger(), 4 * 12);
  EXPECT_EQ(word(body + static_cast<size_t>(indices.At("byteOffset").AsInteger()) + 4), 2U);
  const Json& position = json.At("accessors").AsArray()[0];
  EXPECT_EQ(position.At("count").AsInteger(), 4);
  EXPECT_EQ(position.At("max").AsArray()[2].AsDouble(), 1.5);
  EXPECT_THROW(LoadMesh(folder.Path() / "a.glb"), InputError);
}

TEST(MeshFile, AsciiPlyWithQuadsAndExtrasIsRead) {
  const TemporaryFolder folder;
  WriteFileAtomically(
      folder.Path() / "a.ply",
      "ply\nformat ascii 1.0\ncomment hand made\nelement vertex 4\nproperty double x\nproperty double y\n"
      "property double z\nproperty float quality\nelement face 1\nproperty list uchar uint vertex_indices\n"
      "end_header\n0 0 0 1\n1 0 0 1\n1 1 0 1\n0 1 0 1\n4 0 1 2 3\n");
  const TriangleMesh mesh = LoadMesh(folder.Path() / "a.ply");
  EXPECT_EQ(mesh.vertices.size(), 4U);
  EXPECT_EQ(mesh.triangles.size(), 2U);
}

TEST(MeshFile, AsciiStlIsRead) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "a.stl",
                      "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 "
                      "0\nendloop\nendfacet\nendsolid\n");
  EXPECT_EQ(LoadMesh(folder.Path() / "a.stl").triangles.size(), 1U);
}

TEST(MeshFile, AByteOrderMarkIsNoVertex) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.Path() / "a.obj", "\xEF\xBB\xBFv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  EXPECT_EQ(LoadMesh(folder.Path() / "a.obj").vertices.size(), 3U);
}

TEST(MeshFile, FaultsAreNamed) {
  EXPECT_NE(MeshFault("a.ply", "nonsense\n").find("is not a PLY file"), std::string::npos);
  EXPECT_NE(
      MeshFault(
          "a.ply",
          "ply\nformat binary_little_endian 1.0\nelement vertex 9000000000\nproperty float x\nend_header\nxx")
          .find("cut short"),
      std::string::npos);
  EXPECT_NE(MeshFault("a.obj", "v 0 0 0\nf 1 2 3\n").find("names vertex 1 of 1"), std::string::npos);
  EXPECT_NE(MeshFault("a.obj", "v 0 0 x\n").find("line 1: \"x\" is not a number"), std::string::npos);
  EXPECT_NE(MeshFault("a.obj", "v 0 0 nan\n").find("not finite"), std::string::npos);
  EXPECT_NE(MeshFault("a.obj", "v 0 0 0\nf 1 1 4294967297\n").find("not a vertex number"), std::string::npos);
  const std::string head = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n";
  const std::string faces =
      "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar float vertex_indices\nend_header\n0 0 0\n";
  EXPECT_EQ(MeshFault("a.ply", faces + "3 0 0 0\n"), "");
  for (const char* face : {"3 0 0.5 0\n", "3 0 nan 0\n", "3 0 1e300 0\n", "2.5 0 0 0\n", "nan 0 0 0\n"})
    EXPECT_NE(MeshFault("a.ply", faces + face).find("whole number"), std::string::npos) << face;
  EXPECT_NE(MeshFault("a.ply", head + "end_header\n0\n").find("have no y"), std::string::npos);
  EXPECT_NE(MeshFault("a.ply", "ply\nformat binary_middle_endian 1.0\nend_header\n").find("unknown format"),
            std::string::npos);
  const std::string facet = "solid x\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 nan 0\nendsolid\n";
  EXPECT_NE(MeshFault("a.stl", facet).find("not finite"), std::string::npos);
  EXPECT_NE(MeshFault("a.ply", head + "property list uchar float more\nend_header\n0 1 2\n").find("a list"),
            std::string::npos);
  EXPECT_NE(MeshFault("a.ply", head + "element vertex 1\nproperty float x\nend_header\n0\n0\n")
                .find("two elements"),
            std::string::npos);
  EXPECT_NE(MeshFault("a.stl", "short").find("cut short"), std::string::npos);
  EXPECT_NE(MeshFault("a.xyz", "").find("not a mesh format"), std::string::npos);
}

}  // namespace
}  // namespace lumen
