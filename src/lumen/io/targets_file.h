// Places of the CT that somebody has marked, with their names: points.csv, or 3D Slicer's markups.
#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

namespace lumen {

struct Target {
  std::string name;
  Eigen::Vector3d place = Eigen::Vector3d::Zero();  // mm, LPS
};

inline constexpr size_t kMostTargets = 10000;

// By the name's end:
//   .json  3D Slicer's markups (.mrk.json), LPS unless they say RAS
//   .fcsv  its older tables, RAS unless they say LPS
//   others lines "name,x,y,z" with or without a head; LPS unless the head is "name,r,a,s" or a comment says
//   RAS
// Throws InputError.
std::vector<Target> ReadTargets(const std::filesystem::path& path);

}  // namespace lumen
