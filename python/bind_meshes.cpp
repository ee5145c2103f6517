// Triangle meshes, lent to NumPy.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "lumen/base/error.h"
#include "lumen/io/mesh_file.h"
#include "objects.h"

namespace lumen {

namespace {

template <typename T>
using Rows = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <typename T>
Rows<T> RequireRows(const py::object& object, const char* what) {
  const auto rows = Rows<T>::ensure(object);
  if (!rows || rows.ndim() != 2 || rows.shape(1) != 3) {
    PyErr_Clear();
    throw InputError(StrCat(what, " must be an array of N x 3"));
  }
  return rows;
}

MeshObject MakeMesh(const py::object& vertices, const py::object& triangles, const py::object& colors) {
  auto mesh = std::make_shared<TriangleMesh>();
  const auto points = RequireRows<float>(vertices, "vertices");
  for (py::ssize_t i = 0; i < points.shape(0); ++i) {
    mesh->vertices.emplace_back(points.at(i, 0), points.at(i, 1), points.at(i, 2));
    if (!mesh->vertices.back().allFinite()) throw InputError("a vertex is not finite");
  }
  const auto corners = RequireRows<int64_t>(triangles, "triangles");
  for (py::ssize_t i = 0; i < corners.shape(0); ++i) {
    std::array<int32_t, 3> triangle{};
    for (int c = 0; c < 3; ++c) {
      const int64_t corner = corners.at(i, c);
      if (corner < 0 || corner >= points.shape(0))
        throw InputError("a triangle names a vertex that is not there");
      triangle[static_cast<size_t>(c)] = static_cast<int32_t>(corner);
    }
    mesh->triangles.push_back(triangle);
  }
  if (colors.is_none()) return mesh;
  const auto painted = RequireRows<uint8_t>(colors, "colors");
  if (painted.shape(0) != points.shape(0)) throw InputError("colors must be one a vertex");
  for (py::ssize_t i = 0; i < painted.shape(0); ++i)
    mesh->colors.push_back({painted.at(i, 0), painted.at(i, 1), painted.at(i, 2)});
  return mesh;
}

template <typename T, typename Row>
py::array LendRows(const std::vector<Row>& rows, const MeshObject& owner) {
  static_assert(sizeof(Row) == 3 * sizeof(T));
  return LendTable(reinterpret_cast<const T*>(rows.data()), rows.size(), 3, owner);
}

}  // namespace

void BindMeshes(py::module_& module) {
  py::class_<TriangleMesh, std::shared_ptr<TriangleMesh>>(module, "Mesh")
      .def(py::init(&MakeMesh), py::arg("vertices"), py::arg("triangles"), py::arg("colors") = py::none())
      .def_static(
          "load",
          [](const std::filesystem::path& path) { return std::make_shared<TriangleMesh>(LoadMesh(path)); },
          py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def(
          "save",
          [](const TriangleMesh& mesh, const std::filesystem::path& path) {
            if (!IsMeshFile(path, true))
              throw InputError(path, "a mesh's file ends in .ply, .obj, .stl or .glb");
            SaveMesh(path, mesh);
          },
          py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("vertices", [](const MeshObject& m) { return LendRows<float>(m->vertices, m); })
      .def_property_readonly("triangles",
                             [](const MeshObject& m) { return LendRows<int32_t>(m->triangles, m); })
      .def_property_readonly("normals", [](const MeshObject& m) { return LendRows<float>(m->normals, m); })
      .def_property_readonly("colors", [](const MeshObject& m) { return LendRows<uint8_t>(m->colors, m); })
      .def_property_readonly("attributes",
                             [](const MeshObject& m) {
                               py::dict attributes;
                               for (const VertexAttribute& one : m->attributes)
                                 attributes[py::str(one.name)] =
                                     LendTable(one.values.data(), one.values.size(), 1, m);
                               return attributes;
                             })
      .def("__repr__", [](const TriangleMesh& mesh) {
        return StrCat("<mesh of ", mesh.vertices.size(), " vertices, ", mesh.triangles.size(), " triangles>");
      });
}

}  // namespace lumen
