#include "lumen/igtl/conventions.h"

#include <chrono>

namespace lumen {

namespace {
constexpr double kFirstClockTime = 1e9, kLastClockTime = 4294967296.0;  // seconds are sent in four bytes
}

Rigid3 RasFromLps(const Rigid3& lps_from_camera) {
  static const Rigid3 ras_from_lps(Eigen::Quaterniond(0, 0, 0, 1), Eigen::Vector3d::Zero());
  return ras_from_lps * lps_from_camera;
}

TriangleMesh RasFromLps(TriangleMesh mesh) {
  for (auto* each : {&mesh.vertices, &mesh.normals})
    for (Eigen::Vector3f& v : *each) v = {-v.x(), -v.y(), v.z()};
  return mesh;
}

double LinkNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double LinkTime(double frame_time) {
  return frame_time >= kFirstClockTime && frame_time < kLastClockTime ? frame_time : LinkNow();
}

}  // namespace lumen
