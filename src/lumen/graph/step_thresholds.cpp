#include "lumen/graph/step_thresholds.h"

#include <algorithm>
#include <limits>

namespace lumen {

namespace {

double ShareOf(const Eigen::Ref<const Eigen::VectorXd>& step, double bound) {
  const double size = step.size() == 0 ? 0 : step.cwiseAbs().maxCoeff();
  if (bound > 0) return size / bound;
  return size == 0 ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace

void StepThresholds::Describe(ConfigVisitor& visitor) {
  visitor.Field("pose", pose, {.min = 0, .help = "largest tangent entry of a pose (map units, radians)"});
  visitor.Field("log_scale", log_scale, {.min = 0, .help = "log-scale"});
  visitor.Field("code", code, {.min = 0, .help = "largest entry of a depth code"});
}

double StepThresholds::Share(KeyKind kind, const Eigen::Ref<const Eigen::VectorXd>& step) const {
  switch (kind) {
    case KeyKind::kPose:
      return ShareOf(step, pose);
    case KeyKind::kLogScale:
      return ShareOf(step, log_scale);
    case KeyKind::kCode:
      return ShareOf(step, code);
    case KeyKind::kKeyframe:
      return std::max({ShareOf(step.head<6>(), pose), ShareOf(step.segment<1>(6), log_scale),
                       ShareOf(step.tail(step.size() - KeyframeValue::kPlace), code)});
  }
  return 0;
}

}  // namespace lumen
