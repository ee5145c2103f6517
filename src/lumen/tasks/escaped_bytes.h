// Names of files are bytes, JSON is UTF-8: what is none is written as %FF, and % itself as %25, so that it
// comes back as it was. Other text stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace lumen {

std::string EscapeBytes(std::string_view bytes);
std::string UnescapeBytes(std::string_view text);

}  // namespace lumen
