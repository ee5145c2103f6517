// What Python's objects hold.
#pragma once

#include <pybind11/pybind11.h>

#include "lumen/apps/app_config.h"
#include "lumen/io/frame_source.h"
#include "lumen/scene/map.h"
#include "lumen/scene/mesh.h"

namespace lumen {

// Keeps the map it is of.
struct KeyframeOfMap {
  std::shared_ptr<const MapSnapshot> map;
  KeyframeId id = 0;
  const MapKeyframe& Get() const { return map->keyframes.at(id); }
};

struct MapObject {
  std::shared_ptr<const MapSnapshot> map;
  AppConfig config;  // of the Slam it is from
};

using MeshObject = std::shared_ptr<TriangleMesh>;

// A dict of dicts, as `default_config()` makes them; what it does not name stays as it is. Throws InputError
// for names and values that are none.
void ApplyConfig(const pybind11::object& dict, AppConfig& config);
pybind11::dict ConfigToDict(AppConfig config);
// A bool, a number, a string or a list of them; `where` names it in messages.
TomlValue ToToml(const pybind11::handle& value, const std::string& where);

// A Camera, a calibration's path or None, and a field of view, as `open` and `run` take them.
void SetLens(const pybind11::object& camera, double fov, InputOptions& options);

void BindInputs(pybind11::module_& module);
void BindSlam(pybind11::module_& module);
void BindMeshes(pybind11::module_& module);
void BindTools(pybind11::module_& module);

}  // namespace lumen
