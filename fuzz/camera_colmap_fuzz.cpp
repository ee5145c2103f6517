// The first camera of COLMAP's cameras.txt.
#include "fuzz/camera_checks.h"

namespace lumen::fuzz {
namespace {

void ReadColmap(const std::string& input) { ExpectSound(LoadCalibration(WriteScratch("camera.txt", input))); }

const Registration kTarget("camera_colmap", ReadColmap);

}  // namespace
}  // namespace lumen::fuzz
