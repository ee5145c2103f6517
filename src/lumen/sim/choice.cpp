#include "lumen/sim/choice.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

size_t ParseChoice(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), name);
  if (found != known.end()) return static_cast<size_t>(found - known.begin());
  std::string message = StrCat("unknown ", what, " \"", name, "\"");
  if (const auto nearest = NearestName(name, known)) message += StrCat("; did you mean \"", *nearest, "\"?");
  message += " (known:";
  for (const std::string& word : known) message += " " + word;
  throw InputError(message + ")");
}

}  // namespace lumen
