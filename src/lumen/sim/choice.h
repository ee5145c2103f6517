// A user's word among known ones.
#pragma once

#include <string>
#include <vector>

namespace lumen {

// Index of `name` in `known`; throws InputError that names `what`, the nearest known name and all others.
size_t ParseChoice(const std::string& what, const std::string& name, const std::vector<std::string>& known);

}  // namespace lumen
