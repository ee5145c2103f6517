// How far poses may be off, as a run's folder holds it: tables of numbers with a first line that names the
// columns. Standard deviations along and about each camera's own axes (x right, y down, z ahead), in the
// trajectory's unit and in degrees, after the path as a whole has been aligned.
//   frames_uncertainty.csv, keyframes_uncertainty.csv   time,x,y,z,turn_x,turn_y,turn_z,scale
//                            and, of frames, off: how likely it is that the frame is off (certainty.h)
//   steps_uncertainty.csv    from,to and the same: one keyframe as it is seen from another; the position
//   along
//                            the first one's axes, the turn about the second one's
#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <vector>

#include "lumen/scene/certainty.h"

namespace lumen {

struct PoseSigma {
  double time = 0;  // seconds
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Vector3d turn_degrees = Eigen::Vector3d::Zero();
  double scale = 0;             // as a share
  double off_probability = -1;  // less than 0: not told
};

struct StepSigma {
  double from = 0;  // when the one was that looks; sigma.time is when the other was
  PoseSigma sigma;
};

PoseSigma MakePoseSigma(double time, const PlaceCovariance& covariance);

void SavePoseSigmas(const std::filesystem::path& path, const std::vector<PoseSigma>& sigmas);
void SaveStepSigmas(const std::filesystem::path& path, const std::vector<StepSigma>& sigmas);
// Throw InputError for lines that make no sense.
std::vector<PoseSigma> LoadPoseSigmas(const std::filesystem::path& path);
std::vector<StepSigma> LoadStepSigmas(const std::filesystem::path& path);

}  // namespace lumen
