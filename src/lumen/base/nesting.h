// Parsers of nested text call themselves, and text may nest deeper than any stack.
#pragma once

#include <string>
#include <string_view>

namespace lumen {

// Throws InputError if brackets of any kind, outside of quotes, lie deeper within each other than
// limits::kNesting, or if a dotted name has more parts than that.
void RequireShallow(std::string_view text, const std::string& source);

// The same for YAML and XML, whose indentation, dashes and tags nest as well.
void RequireShallowMarkup(std::string_view text, const std::string& source);

}  // namespace lumen
