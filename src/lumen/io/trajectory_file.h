// Trajectories in the field's text formats. Poses are camera-to-world inside Lumen.
//   TUM     "time tx ty tz qx qy qz qw"            camera-to-world
//   KITTI   twelve numbers, a 3×4 matrix per line   camera-to-world, no times
//   COLMAP  images.txt                              world-to-camera, names instead of times
#pragma once

#include <filesystem>

#include "lumen/geometry/camera.h"
#include "lumen/scene/trajectory.h"

namespace lumen {

// Which of the three is seen from the content. Frames without times get k / fps.
// NaN, quaternions that are not unit, and time going backwards throw InputError with the line.
Trajectory LoadTrajectory(const std::filesystem::path& path, double fps = 30);
// The same of a text that is at hand; `path` is for messages.
Trajectory ParseTrajectory(const std::string& text, const std::filesystem::path& path, double fps = 30);
bool HoldsPoses(const std::string& text);  // any line that is neither empty nor a comment

// TUM.
void SaveTrajectory(const std::filesystem::path& path, const Trajectory& trajectory,
                    const std::string& comment = "");
void SaveTrajectoryKitti(const std::filesystem::path& path, const Trajectory& trajectory);
// A COLMAP text model without points: cameras.txt, images.txt, points3D.txt. Image k is called %06d.png.
void SaveTrajectoryColmap(const std::filesystem::path& folder, const Trajectory& trajectory,
                          const Camera& camera);
// A transform: four lines of four numbers.
void SaveMatrix(const std::filesystem::path& path, const Eigen::Matrix4d& matrix);
std::string FormatTumLine(const TimedPose& pose);

}  // namespace lumen
