#include "arrays.h"

#include <cstring>

#include "lumen/base/error.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace {

std::string ShapeOf(const py::array& array) {
  std::string text = std::string(py::str(array.dtype())) + " of ";
  for (py::ssize_t i = 0; i < array.ndim(); ++i) text += StrCat(i == 0 ? "" : " x ", array.shape(i));
  return array.ndim() == 0 ? text + "no shape" : text;
}

[[noreturn]] void RefuseArray(const char* wanted, const py::array& array) {
  throw InputError(StrCat("wanted ", wanted, ", not ", ShapeOf(array)));
}

py::array AsArray(const py::object& object, const char* wanted) {
  if (!py::isinstance<py::array>(object))
    throw InputError(StrCat("wanted ", wanted, ", not ", std::string(py::str(py::type::of(object)))));
  return py::reinterpret_borrow<py::array>(object);
}

Rigid3 PoseOf(const double* rows) {
  Eigen::Matrix3d rotation;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x) rotation(y, x) = rows[4 * y + x];
  const Eigen::Vector3d place(rows[3], rows[7], rows[11]);
  if (!((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() <= 1e-3) ||
      !(rotation.determinant() > 0) || !IsPlace(place))
    throw InputError("a pose must be a rotation and a place: 4 x 4, world from camera");
  return {rotation, place};
}

}  // namespace

py::capsule KeepAlive(std::shared_ptr<const void> owner) {
  return {new std::shared_ptr<const void>(std::move(owner)),
          [](void* kept) { delete static_cast<std::shared_ptr<const void>*>(kept); }};
}

void ForbidWriting(py::array& array) { array.attr("flags").attr("writeable") = false; }

py::array_t<double> ToArray(const Eigen::Matrix4d& matrix) {
  py::array_t<double> array({4, 4});
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) array.mutable_at(y, x) = matrix(y, x);
  return array;
}

py::tuple ToArrays(const Trajectory& trajectory) {
  const auto count = static_cast<py::ssize_t>(trajectory.size());
  py::array_t<double> times(count), poses({count, py::ssize_t{4}, py::ssize_t{4}});
  for (py::ssize_t i = 0; i < count; ++i) {
    const TimedPose& pose = trajectory[static_cast<size_t>(i)];
    times.mutable_at(i) = pose.time;
    const Eigen::Matrix4d matrix = pose.world_from_camera.Matrix();
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x) poses.mutable_at(i, y, x) = matrix(y, x);
  }
  return py::make_tuple(times, poses);
}

LentPicture BorrowPicture(const py::object& object) {
  constexpr const char* kWanted = "a picture: an array of uint8, height x width x 3 (red, green, blue)";
  const py::array array = AsArray(object, kWanted);
  if (!array.dtype().is(py::dtype::of<uint8_t>()) || array.ndim() != 3 || array.shape(2) != 3)
    RefuseArray(kWanted, array);
  if (array.shape(0) <= 0 || array.shape(1) <= 0 || array.shape(0) > 65535 || array.shape(1) > 65535)
    RefuseArray(kWanted, array);
  // One that is not laid out row by row is copied by NumPy.
  auto* kept = new py::array(py::array::ensure(array, py::array::c_style));
  std::shared_ptr<const void> owner(kept, [](const py::array* lent) {
    const py::gil_scoped_acquire lock;
    delete lent;
  });
  return {{static_cast<const uint8_t*>(kept->data()), static_cast<int>(kept->shape(1)),
           static_cast<int>(kept->shape(0)), 3},
          std::move(owner)};
}

RgbImage CopyPicture(const py::object& object) {
  const LentPicture lent = BorrowPicture(object);
  RgbImage image(lent.pixels.Width(), lent.pixels.Height(), 3);
  std::memcpy(image.Data(), lent.pixels.Data(), image.Size());
  return image;
}

Mask CopyMask(const py::object& object) {
  constexpr const char* kWanted =
      "a mask: an array of height x width, true where the picture shows something";
  const py::array array = AsArray(object, kWanted);
  if (array.ndim() != 2 || array.shape(0) <= 0 || array.shape(1) <= 0) RefuseArray(kWanted, array);
  const auto content =
      py::array_t<bool, py::array::c_style | py::array::forcecast>(array.attr("astype")("bool"));
  Mask mask(static_cast<int>(array.shape(1)), static_cast<int>(array.shape(0)));
  for (size_t i = 0; i < mask.Size(); ++i) mask.Data()[i] = content.data()[i] ? 255 : 0;
  return mask;
}

Eigen::Matrix4d CopyMatrix(const py::object& object) {
  const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(object);
  if (!array || array.ndim() != 2 || array.shape(0) != 4 || array.shape(1) != 4) {
    PyErr_Clear();
    throw InputError("wanted a matrix of 4 x 4 numbers");
  }
  return Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(array.data());
}

Trajectory CopyTrajectory(const py::object& object) {
  if (py::isinstance<py::str>(object) || py::hasattr(object, "__fspath__"))
    return LoadTrajectory(std::string(py::str(object)));
  if (py::hasattr(object, "trajectory")) return CopyTrajectory(object.attr("trajectory"));
  if (!py::isinstance<py::tuple>(object) || py::len(object) != 2)
    throw InputError("wanted a trajectory: (times, poses), a file's path, or what has a trajectory");
  const auto pair = py::reinterpret_borrow<py::tuple>(object);
  using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
  const auto times = Numbers::ensure(pair[0]);
  const auto poses = Numbers::ensure(pair[1]);
  if (!times || !poses || times.ndim() != 1 || poses.ndim() != 3 || poses.shape(0) != times.shape(0) ||
      poses.shape(1) != 4 || poses.shape(2) != 4) {
    PyErr_Clear();
    throw InputError("wanted a trajectory: N times and N x 4 x 4 poses");
  }
  Trajectory trajectory;
  for (py::ssize_t i = 0; i < times.shape(0); ++i) {
    if (i > 0 && !(times.at(i) >= times.at(i - 1))) throw InputError("a trajectory's times must not go back");
    trajectory.push_back({times.at(i), PoseOf(poses.data() + 16 * i)});
  }
  return trajectory;
}

py::object ToPython(const Json& json) { return py::module_::import("json").attr("loads")(json.Dump()); }

}  // namespace lumen
