#include "lumen/base/version.h"

namespace lumen {

std::string Version() { return LUMEN_VERSION; }
std::string Commit() { return LUMEN_COMMIT; }

}  // namespace lumen
