#include "lumen/apps/navigation.h"

#include <cmath>

namespace lumen {

NavigationCt ReadNavigationCt(const ModelChoice& choice) {
  NavigationCt ct;
  ct.path = choice.path;
  ct.model = LoadRegistrationModel(choice, &ct.volume);
  ct.tree = std::make_shared<const TriangleTree>(ct.model.wall);
  // Found on subjects outside the suite: errors are then what they are said to be.
  constexpr double kOfVoxel = 0.25;
  if (ct.volume != nullptr)
    ct.grain_mm = kOfVoxel * ct.volume->lps_from_index.topLeftCorner<3, 3>().norm() / std::sqrt(3.0);
  return ct;
}

double CameraSigma(const CtRegistration& registration, const Eigen::Vector3d& place) {
  return std::hypot(PlaceSigma(registration.result, place), registration.grain_mm);
}

const char* CtStatusName(CtStatus status) {
  switch (status) {
    case CtStatus::kNone:
      return "none";
    case CtStatus::kReading:
      return "reading";
    case CtStatus::kSearching:
      return "searching";
    case CtStatus::kDoubtful:
      return "doubtful";
    case CtStatus::kRegistered:
      return "registered";
    case CtStatus::kUnusable:
      return "unusable";
  }
  return "";
}

}  // namespace lumen
