#include "lumen/io/mesh_file.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/file.h"

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

std::string FaultOf(const std::string& name, const std::string& content) {
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

TEST(MeshFile, FaultsAreNamed) {
  EXPECT_NE(FaultOf("a.ply", "nonsense\n").find("is not a PLY file"), std::string::npos);
  EXPECT_NE(
      FaultOf(
          "a.ply",
          "ply\nformat binary_little_endian 1.0\nelement vertex 9000000000\nproperty float x\nend_header\nxx")
          .find("cut short"),
      std::string::npos);
  EXPECT_NE(FaultOf("a.obj", "v 0 0 0\nf 1 2 3\n").find("names vertex 1 of 1"), std::string::npos);
  EXPECT_NE(FaultOf("a.obj", "v 0 0 x\n").find("line 1: \"x\" is not a number"), std::string::npos);
  EXPECT_NE(FaultOf("a.obj", "v 0 0 nan\n").find("not finite"), std::string::npos);
  EXPECT_NE(FaultOf("a.stl", "short").find("cut short"), std::string::npos);
  EXPECT_NE(FaultOf("a.xyz", "").find("not a mesh format"), std::string::npos);
}

}  // namespace
}  // namespace lumen
