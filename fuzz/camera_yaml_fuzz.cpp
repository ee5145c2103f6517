// OpenCV's and ROS's YAML, which OpenCV reads in a process of its own.
#include "fuzz/camera_checks.h"
#include "lumen/io/opencv_codec.h"

namespace lumen::fuzz {
namespace {

void ReadYaml(const std::string& input) { ExpectSound(LoadCalibration(WriteScratch("camera.yaml", input))); }

const Registration kTarget("camera_yaml", ReadYaml, [] { HaveOpenCv(); });

}  // namespace
}  // namespace lumen::fuzz
