// Between NumPy's arrays and ours. What goes out is not copied: the array keeps its owner, and cannot be
// written.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "lumen/base/json.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/image/image.h"
#include "lumen/scene/trajectory.h"

namespace lumen {

namespace py = pybind11;

py::capsule KeepAlive(std::shared_ptr<const void> owner);
void ForbidWriting(py::array& array);

// rows x columns of numbers that `owner` keeps; one column: a plain list of numbers.
template <typename T>
py::array LendTable(const T* data, size_t rows, size_t columns, std::shared_ptr<const void> owner) {
  std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(rows)};
  if (columns > 1) shape.push_back(static_cast<py::ssize_t>(columns));
  py::array array = py::array_t<T>(shape, data, KeepAlive(std::move(owner)));
  ForbidWriting(array);
  return array;
}

// height x width, or height x width x channels.
template <typename T>
py::array LendImage(const Image<T>& image, std::shared_ptr<const void> owner) {
  std::vector<py::ssize_t> shape = {image.Height(), image.Width()};
  if (image.Channels() > 1) shape.push_back(image.Channels());
  py::array array = py::array_t<T>(shape, image.Data(), KeepAlive(std::move(owner)));
  ForbidWriting(array);
  return array;
}
template <typename T>
py::array LendImage(Image<T>&& image) {
  auto owner = std::make_shared<const Image<T>>(std::move(image));
  return LendImage(*owner, owner);
}

py::array_t<double> ToArray(const Eigen::Matrix4d& matrix);
// (times, poses): N and N x 4 x 4, world from camera.
py::tuple ToArrays(const Trajectory& trajectory);

// Pixels that an array lends: height x width x 3 of uint8, rows without gaps. Throws InputError in words
// where it is anything else.
struct LentPicture {
  ImageView<const uint8_t> pixels;
  std::shared_ptr<const void> owner;  // of the array; lets go of it wherever that happens
};
LentPicture BorrowPicture(const py::object& array);
RgbImage CopyPicture(const py::object& array);
// height x width of bool or numbers; what is not zero is content.
Mask CopyMask(const py::object& array);
Eigen::Matrix4d CopyMatrix(const py::object& array);
// (times, poses) as ToArrays makes them, a path of a trajectory's file, or anything that has such a
// `trajectory`.
Trajectory CopyTrajectory(const py::object& object);

py::object ToPython(const Json& json);

}  // namespace lumen
