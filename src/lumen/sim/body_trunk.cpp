#include "lumen/base/error.h"
#include "lumen/sim/body_parts.h"

namespace lumen {

Body MakeTrunk(const Anatomy& organ, const CtScanOptions& /*options*/, int /*threads*/) {
  LUMEN_CHECK(false, "no body about ", AnatomyName(organ.Kind()));
}

}  // namespace lumen
