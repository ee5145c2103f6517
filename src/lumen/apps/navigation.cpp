#include "lumen/apps/navigation.h"

namespace lumen {

NavigationCt ReadNavigationCt(const ModelChoice& choice) {
  NavigationCt ct;
  ct.path = choice.path;
  ct.model = LoadRegistrationModel(choice, &ct.volume);
  ct.tree = std::make_shared<const TriangleTree>(ct.model.wall);
  return ct;
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
