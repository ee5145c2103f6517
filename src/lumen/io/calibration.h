// Cameras as files describe them.
#pragma once

#include <filesystem>

#include "lumen/base/toml.h"
#include "lumen/geometry/camera.h"

namespace lumen {

// By content: a TOML file with a [camera] table, COLMAP's cameras.txt, or an OpenCV/ROS YAML file.
Camera LoadCalibration(const std::filesystem::path& path);

// The [camera] table of a TOML document; `source` names the file in messages.
Camera ParseCamera(const TomlTable& table, const std::string& source);
std::string FormatCamera(const Camera& camera);  // as a [camera] table
// Every key a [camera] table may hold, with its prefix.
const std::vector<std::string>& CameraKeys();

// COLMAP counts pixel centres from 0.5; ours lie at integers, so its centre is shifted by half a pixel.
// The first camera of a text; of one line's words ("ID MODEL WIDTH HEIGHT PARAMETERS"); of a model by name.
Camera ParseColmapCamera(const std::string& text, const std::string& source);
Camera ParseColmapCameraLine(const std::vector<std::string>& words, const std::string& source);
Camera MakeColmapCamera(const std::string& model, int64_t width, int64_t height,
                        const std::vector<double>& parameters, const std::string& source);

}  // namespace lumen
