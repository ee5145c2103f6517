// The [camera] table of a TOML file.
#include "fuzz/camera_checks.h"

namespace lumen::fuzz {
namespace {

void ReadToml(const std::string& input) { ExpectSound(LoadCalibration(WriteScratch("camera.toml", input))); }

const Registration kTarget("camera_toml", ReadToml);

}  // namespace
}  // namespace lumen::fuzz
