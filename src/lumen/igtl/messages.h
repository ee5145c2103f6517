// OpenIGTLink's messages as bytes that are ready to be sent. Places are told in RAS, as the protocol wants
// them: x to the patient's right, y to the front, z to the head. Times are seconds since 1970.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lumen/igtl/conventions.h"
#include "lumen/image/image.h"

namespace lumen {

inline constexpr size_t kMostNameBytes = 20;  // of a device's name; what is longer is cut

struct LinkState {
  bool good = false;    // poses in the patient are being sent
  std::string name;     // one word; at most kMostNameBytes
  std::string words;    // for people
  std::string machine;  // the same for programs, a line of JSON
};

std::string PackTransform(const std::string& device, const Rigid3& pose, double time);
// Tracking data with one element, which has the device's name.
std::string PackTracking(const std::string& device, const Rigid3& pose, double time);
std::string PackTrackingAnswer(const std::string& device, double time);
std::string PackStatus(const std::string& device, const LinkState& state, double time);
std::string PackText(const std::string& device, const std::string& text, double time);
// RGB, one slice, a unit to the pixel.
std::string PackPicture(const std::string& device, const RgbImage& picture, double time);
// Points (one at least), triangles, and each attribute of the vertices as a scalar.
std::string PackSurface(const std::string& device, const TriangleMesh& mesh, double time);
std::string PackCapability(const std::string& device, const std::vector<std::string>& types, double time);

// What guards a message's body.
uint64_t MessageCrc(std::string_view body);

}  // namespace lumen
