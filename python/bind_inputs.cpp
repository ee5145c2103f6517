// Cameras, and frames of any input.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>

#include "arrays.h"
#include "lumen/apps/model_path.h"
#include "lumen/apps/run_setup.h"
#include "lumen/base/error.h"
#include "lumen/io/calibration.h"
#include "lumen/network/weights.h"
#include "objects.h"

namespace lumen {

namespace {

// Keys of a [camera] table.
Camera CameraFromKeys(const py::kwargs& keys) {
  TomlTable table;
  for (const auto& [key, value] : keys) {
    const std::string name = "camera." + std::string(py::str(key));
    const auto& known = CameraKeys();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError(StrCat("a camera has no \"", std::string(py::str(key)), "\""));
    table[name] = ToToml(value, name);
  }
  return ParseCamera(table, "camera");
}

py::object ProjectPoint(const Camera& camera, const std::array<double, 3>& point) {
  const auto pixel = camera.Project({point[0], point[1], point[2]});
  return pixel ? py::object(py::make_tuple(pixel->x(), pixel->y())) : py::none();
}
py::object UnprojectPixel(const Camera& camera, double x, double y) {
  const auto ray = camera.Unproject({x, y});
  return ray ? py::object(py::make_tuple(ray->x(), ray->y(), ray->z())) : py::none();
}

std::unique_ptr<InputStream> Open(const std::filesystem::path& path, const py::object& camera, double fov,
                                  const std::string& mask, bool mask_text, double fps, int64_t start,
                                  int64_t end, int64_t stride, const std::string& sequence,
                                  const std::string& model) {
  InputOptions options;
  SetLens(camera, fov, options);
  options.mask = mask;
  options.mask_text = mask_text;
  options.fps = fps;
  options.start = start;
  options.end = end;
  options.stride = stride;
  options.sequence = sequence;
  const py::gil_scoped_release unlocked;
  RectifierOptions view;
  if (!model.empty()) {
    const Model loaded = LoadModel(model);
    view.width = loaded.depth.input_width;
    view.height = loaded.depth.input_height;
  }
  return std::make_unique<InputStream>(OpenInput(path, options), path, view);
}

std::shared_ptr<InputFrame> NextFrame(InputStream& stream) {
  std::optional<InputFrame> frame;
  {
    const py::gil_scoped_release unlocked;
    frame = stream.Next();
  }
  if (!frame) throw py::stop_iteration();
  return std::make_shared<InputFrame>(std::move(*frame));
}

void BindCamera(py::module_& module) {
  py::class_<Camera>(module, "Camera")
      .def(py::init(&CameraFromKeys))
      .def_static(
          "load", [](const std::filesystem::path& path) { return LoadCalibration(path); }, py::arg("path"),
          py::call_guard<py::gil_scoped_release>())
      .def_static("from_fov", &GuessCamera, py::arg("degrees"), py::arg("width"), py::arg("height"))
      .def_property_readonly("model", &Camera::ModelName)
      .def_property_readonly("width", &Camera::Width)
      .def_property_readonly("height", &Camera::Height)
      .def("project", &ProjectPoint, py::arg("point"))
      .def("unproject", &UnprojectPixel, py::arg("x"), py::arg("y"))
      .def("__eq__", [](const Camera& a, const Camera& b) { return a == b; })
      .def("__repr__", [](const Camera& camera) { return FormatCamera(camera); });
}

}  // namespace

void SetLens(const py::object& camera, double fov, InputOptions& options) {
  if (py::isinstance<Camera>(camera))
    options.camera = py::cast<Camera>(camera);
  else if (!camera.is_none())
    options.calibration = std::string(py::str(camera));
  options.fov_degrees = fov;
}

void BindInputs(py::module_& module) {
  BindCamera(module);
  py::class_<InputFrame, std::shared_ptr<InputFrame>>(module, "Frame")
      .def_property_readonly("index", [](const InputFrame& frame) { return frame.index; })
      .def_property_readonly("time", [](const InputFrame& frame) { return frame.time; })
      .def_property_readonly(
          "image", [](const std::shared_ptr<InputFrame>& frame) { return LendImage(frame->image, frame); });
  py::class_<InputStream>(module, "Input")
      .def_property_readonly("name", [](const InputStream& stream) { return stream.Info().name; })
      .def_property_readonly("fps", [](const InputStream& stream) { return stream.Info().fps; })
      .def_property_readonly("width", [](const InputStream& stream) { return stream.Info().width; })
      .def_property_readonly("height", [](const InputStream& stream) { return stream.Info().height; })
      .def_property_readonly("live", [](const InputStream& stream) { return stream.Info().live; })
      .def_property_readonly("units", [](const InputStream& stream) { return stream.Info().units; })
      .def_property_readonly("camera", &InputStream::GetCamera)
      .def_property_readonly("source_camera", [](const InputStream& stream) { return stream.Info().camera; })
      .def_property_readonly("mask",
                             [](const InputStream& stream) { return LendImage(Mask(stream.GetMask())); })
      .def_property_readonly("truth",
                             [](const InputStream& stream) -> py::object {
                               const auto& truth = stream.Info().truth;
                               return truth ? py::object(ToArrays(*truth)) : py::none();
                             })
      .def("stop", &InputStream::Stop)
      .def("__len__",
           [](const InputStream& stream) {
             if (stream.Info().frame_count < 0)
               throw py::type_error("how many frames there are is not known");
             return stream.Info().frame_count;
           })
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &NextFrame);
  module.def("open", &Open, py::arg("path"), py::kw_only(), py::arg("camera") = py::none(),
             py::arg("fov") = 0.0, py::arg("mask") = "", py::arg("mask_text") = false, py::arg("fps") = 0.0,
             py::arg("start") = 0, py::arg("end") = -1, py::arg("stride") = 1, py::arg("sequence") = "",
             py::arg("model") = "");
}

}  // namespace lumen
